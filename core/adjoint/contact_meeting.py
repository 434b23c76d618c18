# SPDX-License-Identifier: GPL-3.0-or-later
"""What is kept of how surfaces meet at the end of explicit steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InstabilityError
from ..integrators.contact_nodes import ground_points, surface_points
from ..integrators.contact_record import Contacts
from ..integrators.mesh_contact_step import MeshContactStep
from ..kernels.contact_constraints import Constraints, Interpolation, gather
from ..kernels.detection import CandidateStencils
from ..kernels.pair_features import pair_features
from ..system import System
from .closest_points import PairPoints

Values = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Carriers:
    """The nodes that points of contacts are sums of, (…, E) each: of which a contact has the
    ``slots``-th, and what these count, nothing where they are not part of it."""

    nodes: Indices
    weights: Values
    slots: Indices

    @classmethod
    def of(cls, points: Interpolation, rows: Indices, nodes: Indices, own: Indices) -> Carriers:
        """Of points in contacts.

        Args:
            rows: (K, …) of the points.
            nodes: (L,) of all contacts, in order.
            own: (K, S) places among those of the nodes of each, −1 where there are fewer.
        """
        carriers = points.nodes[rows]
        places = np.minimum(np.searchsorted(nodes, carriers), max(0, len(nodes) - 1))
        known = (carriers >= 0) & (nodes[places] == carriers)
        among = own.reshape(len(own), *[1] * (places.ndim - 1), own.shape[1])
        found = (among == places[..., None]) & known[..., None]
        weights = np.where(found.any(-1), points.weights[rows], 0.0)
        return cls(np.where(known, places, 0), weights, found.argmax(-1))


@dataclass(frozen=True)
class Relaxation:
    """K contacts as they were before they were relaxed, of L nodes.

    Args:
        nodes: (L,) among all.
        start, at, moves: (L, 3) as ``Contacts`` has them.
        mobility: (L,) in metres a newton over the step.
        constraints: by places among the nodes.
        pairs: what P of them are between, and ``candidates`` and ``stencils`` these are of.
        points: (V, 3) where the points of the surface are.
        held: (P,) whether pairs count in whole, as ``pair_features`` has it.
        objects: (2, P) of the pairs.
        factors: (P, 4) on friction at their points; None where nothing is painted.
        corners: the carriers of their (P, 4) points.
        rows: (G,) points of the others, on the ground.
        feet: their carriers.
    """

    nodes: Indices
    start: Values
    at: Values
    moves: Values
    mobility: Values
    constraints: Constraints
    pairs: PairPoints
    candidates: Indices
    stencils: CandidateStencils
    points: Values
    held: Indices
    objects: Indices
    factors: Values | None
    corners: Carriers
    rows: Indices
    feet: Carriers | None


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
        contact: of its surfaces.
    """

    def __init__(self, system: System, contact: MeshContactStep) -> None:
        self._names, self._laws = system.names, contact.laws
        self._surface = surface = contact.surface
        self._points = surface_points(surface, system.vertex_count)
        self._ground = ground_points(system)
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
        constraints = [part[: contacts.contact_count].copy() for part in contacts.constraints]
        of_all = constraints[0]
        nodes = np.unique(of_all[of_all >= 0]).astype(np.int64)
        own = np.where(of_all >= 0, np.searchsorted(nodes, of_all), -1)
        constraints[0] = own.astype(np.int32)
        count = len(contacts.pairs)
        vertices, features = np.empty((count, 4), np.int64), np.empty(count, np.int64)
        held = np.empty(count, np.int64)
        own_pairs = contacts.pairs, contacts.stencils
        of_all = *own_pairs, self._surface.topology, self._laws, contacts.points, contacts.ends
        pair_features(*of_all, vertices, features, held)
        rows, painted = self._on_ground(contacts), self._surface.friction_factors
        assert count + len(rows) == len(own)
        feet = None
        if self._ground is not None:
            feet = Carriers.of(self._ground[0], rows, nodes, own[count:])
        return Relaxation(
            nodes,
            contacts.start[nodes],
            contacts.at[nodes],
            contacts.moves[nodes],
            contacts.mobility[nodes],
            Constraints(*constraints),
            PairPoints(torch.as_tensor(features)),
            *(*own_pairs, contacts.points, held),
            self._surface.object_of[vertices[:, [0, 3]].T],
            painted[vertices] if len(painted) else None,
            Carriers.of(self._points, vertices, nodes, own[:count]),
            rows,
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
