# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the contact that ends an explicit step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InstabilityError
from ..integrators.contact_nodes import ground_points
from ..integrators.contact_record import Contacts
from ..integrators.mesh_contact_step import MAX_PASSES, RELATIVE_TOLERANCE, MeshContactStep
from ..kernels.contact_constraints import Constraints, gather
from ..kernels.contact_constraints_adjoint import compliances_back, pairs_back
from ..kernels.contact_islands import find_islands
from ..kernels.continuous_collision import CandidateStencils
from ..kernels.relaxation_adjoint import ByConstraints, by_constraints, relax_again, relax_back
from ..system import System
from .quantities import Quantities

Values = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Relaxation:
    """K contacts as they were before they were relaxed.

    Args:
        moves, mobility: (N, 3) and (N,) as ``Contacts`` has them.
        constraints: of P pairs, then of G points on the ground.
        pairs: (P,) among candidates, of which ``stencils`` are.
        points, ends: (V, 3) where the points of the surface are, and would go.
        feet: (G,) points on the ground.
    """

    moves: Values
    mobility: Values
    constraints: Constraints
    pairs: Indices
    stencils: CandidateStencils
    points: Values
    ends: Values
    feet: Indices


@dataclass(frozen=True)
class SurfaceMeeting:
    """
    Args:
        positions, velocities: (3, N) before surfaces corrected them.
        relaxation: of what touched.
    """

    positions: Tensor
    velocities: Tensor
    relaxation: Relaxation


class SurfaceRecord:
    """Takes down how surfaces meet in steps that nothing stopped.

    Args:
        system: with contact.
    """

    def __init__(self, system: System) -> None:
        self._names, self._ground = system.names, ground_points(system)
        self._relaxation: Relaxation | None = None

    def taken(self, positions: Tensor, velocities: Tensor) -> SurfaceMeeting | None:
        """Of the step that has ended, from (3, N) positions and velocities before surfaces met;
        None where nothing touched."""
        own, self._relaxation = self._relaxation, None
        return None if own is None else SurfaceMeeting(positions, velocities, own)

    def relaxes(self, contacts: Contacts, flat_tets: int) -> None:
        if flat_tets:
            raise InstabilityError(
                f"{self._names}: there are no gradients through tets that are pressed flat in "
                "explicit steps; choose ImplicitEuler or BDF2, or a stiffer material."
            )
        if contacts.contact_count:
            self._relaxation = self._kept(contacts)

    def _kept(self, contacts: Contacts) -> Relaxation:
        count, feet = contacts.contact_count, self._on_ground(contacts)
        assert len(contacts.pairs) + len(feet) == count
        return Relaxation(
            contacts.moves.copy(),
            contacts.mobility.copy(),
            Constraints(*(part[:count].copy() for part in contacts.constraints)),
            contacts.pairs,
            contacts.stencils,
            contacts.points,
            contacts.ends,
            feet,
        )

    def _on_ground(self, contacts: Contacts) -> Indices:
        """As ``ground_constraints.find_ground`` finds them."""
        if self._ground is None:
            return np.empty(0, dtype=np.int64)
        points, laws = self._ground
        now, moves = np.empty((2, len(points.nodes), 3))
        gather(points, contacts.at, now)
        gather(points, contacts.moves, moves)
        height = now[:, 2] - laws.height
        return np.flatnonzero(np.minimum(height, height + moves[:, 2]) < laws.distances)


class ContactAdjoint:
    """Of ``MeshContactStep``: of its passes as they were, of the closest points of pairs, and of
    what pairs count.

    Args:
        contact: of surfaces.
        given: quantities.
        found: the gradients by those that require grad, which grow.
    """

    def __init__(
        self, contact: MeshContactStep, given: Quantities, found: dict[str, Tensor]
    ) -> None:
        self._surface, self._laws = contact.surface, contact.laws
        self._power = 1 if self._laws.area_weighted else 4
        self._given = {name: own.detach() for name, own in given.items()}
        self._found = found
        of_bodies = self._surface.displacement_map
        self._count, self._spread = of_bodies.shape[1], of_bodies.T.tocsr()
        self._points = contact.points_of

    def back(self, meeting: SurfaceMeeting, by_end: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(3, N) gradients by where the step would have ended without, and by where it began; and
        the (N,) one by mobility.

        Args:
            by_end: (3, N) gradient by where it ended.
        """
        own, count = meeting.relaxation, self._count
        wanted = np.zeros_like(own.moves)
        wanted[:count] = by_end.T
        found = self._relaxation_back(own, wanted)
        compliances_back(own.constraints, own.mobility, found)
        by_start, by_predicted = self._linear_back(own, found)
        # Contacts are made linear where the step begins; what they move goes on from there.
        by_predicted += found.moves[:count]
        by_start += wanted[:count] - found.moves[:count]
        parts = by_predicted, by_start, found.mobility[:count]
        predicted, start, mobility = (torch.as_tensor(part.T).to(by_end) for part in parts)
        return predicted, start, mobility

    def _relaxation_back(self, own: Relaxation, wanted: Values) -> ByConstraints:
        """Through the passes, to the gradients by what contacts are made of."""
        constraints, moves = own.constraints, own.moves
        corners = np.empty((0, 4), dtype=np.int32)
        islands = find_islands(constraints.nodes, corners, own.mobility)
        count = len(constraints.forces)
        trace = np.empty((count * (1 + MAX_PASSES), 4))
        passes = np.empty(len(islands.contact_offsets) - 1, dtype=np.int64)
        limits = MAX_PASSES, RELATIVE_TOLERANCE
        relax_again(islands, constraints, own.mobility, moves, *limits, trace, passes)
        found = by_constraints(constraints, wanted)
        of_all = islands, constraints, own.mobility, moves
        relax_back(*of_all, MAX_PASSES, trace, passes, found)
        return found

    def _linear_back(self, own: Relaxation, found: ByConstraints) -> tuple[Values, Values]:
        """(N, 3) gradients by where vertices are, and by where they would go, from those by
        contacts.

        How far these have gone since the step began is zero whatever that is.
        """
        count, constraints, bodies = len(own.pairs), own.constraints, self._surface.body_count
        objects, painted = np.empty((2, count), dtype=np.int64), np.empty(count)
        by_points, by_ends = np.zeros((2, *own.points.shape))
        of_pairs = own.pairs, own.stencils, self._surface.topology, self._laws
        of_nodes = own.points, own.ends, self._points, constraints, found
        pairs_back(*of_pairs, *of_nodes, objects, painted, by_points, by_ends)
        by_start, by_predicted = (self._spread @ part[:bodies] for part in (by_points, by_ends))
        nodes, lifted = constraints.nodes[count:], found.distances[count:, None]
        is_node = nodes >= 0
        heights = (lifted * constraints.coefficients[count:])[is_node]
        np.add.at(by_start[:, 2], nodes[is_node], heights)
        self._laws_back(own, found, tuple(objects), painted)
        return by_start, by_predicted

    def _laws_back(
        self, own: Relaxation, found: ByConstraints, objects: tuple[Indices, ...], painted: Values
    ) -> None:
        """To the numbers of contact between (P,) and (P,) objects, of whose friction paint leaves
        (P,), and of the ground."""
        constraints, count = own.constraints, len(own.pairs)
        scaled = found.scales * constraints.scales
        pairs, feet = slice(count), slice(count, None)
        stiffness = self._given["contact stiffness"].numpy()[objects]
        self._add("contact stiffness", objects, scaled[pairs] / stiffness)
        by_dhat = found.dhats + self._power * scaled / constraints.dhats
        # Parts of one object that are near at rest have the distance that this makes of it.
        is_shorter = constraints.dhats[pairs] < self._given["contact distance"].numpy()[objects]
        self._add("contact distance", objects, np.where(is_shorter, 0.0, by_dhat[pairs]))
        self._add("contact static", objects, painted * found.static[pairs])
        self._add("contact kinetic", objects, painted * found.kinetic[pairs])
        if not len(own.feet):
            return
        weights = self._given["weights"].numpy()[own.feet]
        self._add("height", None, -found.distances[feet].sum())
        self._add("weights", (own.feet,), scaled[feet] / weights)
        self._add("static", (own.feet,), found.static[feet])
        self._add("kinetic", (own.feet,), found.kinetic[feet])

    def _add(self, name: str, at: tuple[Indices, ...] | None, values: Values) -> None:
        found = self._found.get(name)
        if found is None:
            return
        if at is None:
            found += float(values)
        else:
            where = tuple(torch.as_tensor(part) for part in at)
            found.index_put_(where, torch.as_tensor(values).to(found), accumulate=True)
