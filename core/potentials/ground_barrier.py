# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground as a smooth energy."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..cached_at import CachedAt
from ..kernels.barrier import barrier, barrier_derivatives
from .ground_points import GroundPoints, GroundVertices
from .potential import Potential


class GroundBarrier(Potential):
    """Σ w d̂ β(d/d̂) over the points of surfaces, d their height above the ground.

    Args:
        points: S that touch the ground, or the (S,) indices of vertices that do.
        weights: (S,) barrier stiffness in Pa times area around a point in m², so in newtons.
        height: of the ground, in metres.
        distances: (S,) d̂ in metres, at which the barrier begins to act.
    """

    is_stiff = True

    def __init__(
        self, points: GroundPoints | Tensor, weights: Tensor, height: float, distances: Tensor
    ) -> None:
        self.points = GroundVertices(points) if isinstance(points, Tensor) else points
        self.weights, self.height, self.distances = weights, height, distances
        # Energy, forces, Hessian, friction and paths all ask for them.
        self._ratio, self._derivatives = (
            CachedAt(self._find_ratio),
            CachedAt(self._find_derivatives),
        )

    @property
    def vertices(self) -> Tensor:
        """Those that move and carry the points."""
        return self.points.vertices

    def energy(self, positions: Tensor) -> Tensor:
        ratio = self.ratio(positions)
        if not ratio.is_cuda and not bool((ratio < 1.0).any()):
            return positions.new_zeros(())
        return (self.weights * self.distances * barrier(ratio)).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(-self.normal_force(positions), out[2])

    def normal_force(self, positions: Tensor) -> Tensor:
        """(S,) with which the ground pushes each point up, in newtons."""
        return -self.weights * self._derivatives.on_host(positions)[0]

    def second_derivative(self, positions: Tensor) -> Tensor:
        """(S,) second derivative by the height, in N/m."""
        return self.weights / self.distances * self._derivatives.on_host(positions)[1]

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks = self.weights.new_zeros(len(self.points), 9)
        blocks[:, 8] = self.second_derivative(positions)
        self.points.add_blocks(blocks, matrix)

    def ratio(self, positions: Tensor) -> Tensor:
        """(S,) heights above the ground over the distances at which it begins to act."""
        return self._ratio.on_host(positions)

    def _find_ratio(self, positions: Tensor) -> Tensor:
        return (self.points.gather(positions[2]) - self.height) / self.distances

    def _find_derivatives(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(S,) first and second ones of the barrier by the ratio."""
        ratio = self.ratio(positions)
        if not ratio.is_cuda and not bool((ratio < 1.0).any()):
            return torch.zeros_like(ratio), torch.zeros_like(ratio)
        return barrier_derivatives(ratio.clamp(max=1.0))
