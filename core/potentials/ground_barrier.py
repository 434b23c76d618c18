# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground as a smooth energy."""

from __future__ import annotations

from torch import Tensor

from ..barrier import barrier, barrier_derivatives, barrier_slope
from ..linear_solvers.block_matrix import BlockMatrix
from .potential import Potential


class GroundBarrier(Potential):
    """Σ w d̂ β(d/d̂) over the surface vertices, d their height above the ground.

    Args:
        vertices: (S,) indices of the vertices that touch the ground.
        weights: (S,) barrier stiffness in Pa times vertex area in m², so in newtons.
        height: of the ground, in metres.
        distances: (S,) d̂ in metres, at which the barrier begins to act.
    """

    def __init__(self, vertices: Tensor, weights: Tensor, height: float, distances: Tensor) -> None:
        self.vertices, self.weights = vertices, weights
        self.height, self.distances = height, distances

    def energy(self, positions: Tensor) -> Tensor:
        return (self.weights * self.distances * barrier(self.ratio(positions))).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[2].index_add_(0, self.vertices, -self.normal_force(positions))

    def normal_force(self, positions: Tensor) -> Tensor:
        """(S,) with which the ground pushes each vertex up, in newtons."""
        return -self.weights * barrier_slope(self.ratio(positions))

    def curvature(self, positions: Tensor) -> Tensor:
        """(S,) second derivative by the height, in N/m."""
        _, curvature = barrier_derivatives(self.ratio(positions).clamp(max=1.0))
        return self.weights / self.distances * curvature

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks = self.weights.new_zeros(len(self.vertices), 9)
        blocks[:, 8] = self.curvature(positions)
        matrix.add_diagonal_blocks(self.vertices, blocks)

    def ratio(self, positions: Tensor) -> Tensor:
        """(S,) heights above the ground over the distances at which it begins to act."""
        return (positions[2, self.vertices] - self.height) / self.distances
