# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how surfaces meet at the end of explicit steps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..integrators.mesh_contact_step import MAX_PASSES, RELATIVE_TOLERANCE, MeshContactStep
from ..kernels.contact_islands import find_islands
from ..kernels.pair_features import WHOLE_AHEAD
from ..kernels.pair_weights_adjoint import weights_back
from ..kernels.relaxation_adjoint import ByConstraints, by_constraints, relax_again, relax_back
from .closest_points import painted_shares
from .contact_meeting import Indices, Relaxation, SurfaceMeeting, Values
from .quantities import Quantities


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
        self._found, self._count = found, self._surface.displacement_map.shape[1]

    def back(self, meeting: SurfaceMeeting, by_end: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(3, N) gradients by where the step would have ended without, and by where it began; and
        the (N,) one by mobility.

        Args:
            by_end: (3, N) gradient by where it ended.
        """
        own, count = meeting.relaxation, self._count
        by_predicted = np.zeros((max(count, int(own.nodes.max()) + 1), 3))
        by_predicted[:count] = by_end.T
        by_start, by_mobility = np.zeros_like(by_predicted), np.zeros(len(by_predicted))
        # Contacts are made linear where the step begins; what they move goes on from there.
        by_start[own.nodes] = by_predicted[own.nodes]
        found = self._relaxation_back(own, by_predicted[own.nodes])
        by_at, by_ends = self._linear_back(own, found)
        by_predicted[own.nodes] = found.moves + by_ends
        by_start[own.nodes] += by_at - found.moves
        by_start[:count] += self._weights_back(own, found)
        by_mobility[own.nodes] = found.mobility
        parts = by_predicted, by_start, by_mobility
        predicted, start, mobility = (torch.as_tensor(part[:count].T).to(by_end) for part in parts)
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
        """(L, 3) gradients by where nodes are, and by where they would go, from those by contacts.

        How far these have gone since the step began is zero whatever that is.
        """
        constraints, count = own.constraints, own.objects.shape[1]
        by_at, by_ends = np.zeros((2, len(own.nodes), 3))
        places = constraints.nodes
        c = np.where(places >= 0, constraints.coefficients, 0.0)
        by_compliance = found.compliances[:, None]
        np.add.at(found.mobility, places, c * c * by_compliance)
        by_c = found.coefficients + 2.0 * c * own.mobility[places] * by_compliance
        rubbing = np.ones(count)
        if count:
            rubbing = self._pairs_back(own, found, by_c[:count], (by_at, by_ends))
        if own.feet is not None:
            lifted = found.distances[count:, None] * own.feet.weights
            np.add.at(by_at[:, 2], own.feet.nodes, lifted)
        self._laws_back(own, found, rubbing)
        return by_at, by_ends

    def _pairs_back(
        self, own: Relaxation, found: ByConstraints, by_c: Values, out: tuple[Values, Values]
    ) -> Values:
        """Through closest points, from the gradients by pairs to those by nodes, which grow; (P,)
        what paint leaves of friction."""
        carriers, count = own.corners, len(by_c)
        rows = np.arange(count)[:, None, None]
        by_shares = (carriers.weights * by_c[rows, carriers.slots]).sum(2)
        weights, nodes = carriers.weights[..., None], carriers.nodes
        ahead = torch.as_tensor(own.held == WHOLE_AHEAD)[:, None, None]
        with torch.enable_grad():
            at, ends = (
                torch.as_tensor((weights * part[nodes]).sum(2)).requires_grad_()
                for part in (own.at, own.at + own.moves)
            )
            difference, shares = own.pairs.at(torch.where(ahead, ends, at))
            normals = difference / torch.linalg.vector_norm(difference, dim=1)[:, None]
            # Where vertices are, along the normals of there or of where they would go.
            gaps = ((shares[:, :, None] * at).sum(1) * normals).sum(1)
            outputs = [shares, gaps.sign()[:, None] * normals, gaps.abs()]
            wanted = [by_shares, found.normals[:count], found.distances[:count]]
            if own.factors is not None:
                outputs.append(painted_shares(shares, torch.as_tensor(own.factors)))
                wanted.append(self._by_rubbing(own, found))
            gradients = [torch.as_tensor(part) for part in wanted]
            found_parts = torch.autograd.grad(outputs, (at, ends), gradients)
        for part, by_corners in zip(out, found_parts, strict=True):
            np.add.at(part, nodes, weights * by_corners.numpy()[:, :, None])
        return np.ones(count) if own.factors is None else outputs[-1].detach().numpy()

    def _by_rubbing(self, own: Relaxation, found: ByConstraints) -> Values:
        """(P,) gradients by what paint leaves of the coefficients of pairs."""
        objects, count = tuple(own.objects), own.objects.shape[1]
        by_both: Values = found.static[:count] * self._laws.static[objects]
        return by_both + found.kinetic[:count] * self._laws.kinetic[objects]

    def _weights_back(self, own: Relaxation, found: ByConstraints) -> Values:
        """(N, 3) gradients by the positions of vertices, from those by what pairs count."""
        surface, count, objects = self._surface, own.objects.shape[1], tuple(own.objects)
        sizes = self._laws.distances[objects] ** self._power
        wanted = found.scales[:count] * self._laws.stiffness[objects] * sizes
        by_points, pairs = np.zeros_like(own.points), (own.candidates, own.stencils)
        of_all = *pairs, surface.topology, self._laws, own.points
        weights_back(*of_all, own.held, wanted, by_points)
        pulled: Values = surface.displacement_map.T @ by_points[: surface.body_count]
        return pulled

    def _laws_back(self, own: Relaxation, found: ByConstraints, rubbing: Values) -> None:
        """To the numbers of contact and of the ground, where paint leaves (P,) of friction."""
        constraints, count, objects = own.constraints, own.objects.shape[1], tuple(own.objects)
        scaled = found.scales * constraints.scales
        pairs, feet = slice(count), slice(count, None)
        stiffness = self._given["contact stiffness"].numpy()[objects]
        self._add("contact stiffness", objects, scaled[pairs] / stiffness)
        by_dhat = found.dhats + self._power * scaled / constraints.dhats
        self._add("contact distance", objects, by_dhat[pairs])
        self._add("contact static", objects, rubbing * found.static[pairs])
        self._add("contact kinetic", objects, rubbing * found.kinetic[pairs])
        if own.feet is None:
            return
        weights = self._given["weights"].numpy()[own.rows]
        self._add("height", None, -found.distances[feet].sum())
        self._add("weights", (own.rows,), scaled[feet] / weights)
        self._add("static", (own.rows,), found.static[feet])
        self._add("kinetic", (own.rows,), found.kinetic[feet])

    def _add(self, name: str, at: tuple[Indices, ...] | None, values: Values) -> None:
        found = self._found.get(name)
        if found is None:
            return
        if at is None:
            found += float(values)
        else:
            where = tuple(torch.as_tensor(part) for part in at)
            found.index_put_(where, torch.as_tensor(values).to(found), accumulate=True)
