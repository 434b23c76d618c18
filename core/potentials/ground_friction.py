# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction with the ground as a smooth energy of one time step."""

from __future__ import annotations

import torch
from torch import Tensor

from ..linear_solvers.block_matrix import BlockMatrix
from .ground_barrier import GroundBarrier
from .potential import Potential, TimeStep

# Below this share of its body's diagonal a second, a vertex sticks.
SLIP_RATE = 1e-4


class GroundFriction(Potential):
    """Σ μ N f₀(|u|), u the horizontal way of a point since the start of the step.

    f₀(s) = s²/ε − s³/3ε² + ε/3 below ε, s beyond: a point that moves less than ε sticks by a force
    that grows with the way, one that moves more slides against μ N. The normal force N is the one
    that the ground pushed with when ``lag`` was called last.

    Source: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020,
    section 5.

    Args:
        barrier: whose force is the normal force.
        coefficient: μ.
        sizes: (S,) diagonals of the bodies of the points, in metres.
        is_bounded: whether a projected Hessian holds the bound of ``curvature``, for searches that
            do not bend to where points stick.
    """

    is_stiff = True

    def __init__(
        self,
        barrier: GroundBarrier,
        coefficient: float,
        sizes: Tensor,
        is_bounded: bool = True,
    ) -> None:
        self._barrier, self._coefficient = barrier, coefficient
        self._sizes, self.is_bounded = sizes, is_bounded
        self.points = barrier.points
        self.limit = torch.zeros_like(barrier.weights)
        self._start: Tensor | None = None
        #: (S,) in metres.
        self.slip = torch.ones_like(barrier.weights)

    def begin_time_step(self, step: TimeStep) -> None:
        self.begin_step(step.start, SLIP_RATE * step.of_friction * self._sizes)

    def begin_step(self, positions: Tensor, slip: Tensor) -> None:
        """Measures ways and takes normal forces from (3, N) ``positions``.

        Below (S,) ``slip`` metres a point sticks.
        """
        self._start, self.slip = self.points.gather(positions[:2]), slip
        self.update_lagged(positions)

    def update_lagged(
        self, positions: Tensor, share: float = 1.0, settled: bool = True
    ) -> tuple[float, float]:
        limit = self._coefficient * self._barrier.normal_force(positions)
        change = limit - self.limit
        self.limit = self.limit + share * change
        return float(change.abs().sum()), float(limit.sum())

    @property
    def begun(self) -> Tensor:
        """(2, S) where the points were at the start of the step, in metres."""
        assert self._start is not None
        return self._start

    def way(self, positions: Tensor) -> Tensor:
        """(2, S) horizontal displacement since the start of the step, in metres."""
        return self.points.gather(positions[:2]) - self.begun

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """How far points that stuck at (3, N) ``before`` have moved since, at most, in slips.

        One slip is enough to break loose: what looks like rest to a tolerance may not be it.
        """
        held = (self.limit > 0.0) & (torch.hypot(*self.way(before)) < self.slip)
        moved = torch.hypot(*self.points.gather((after - before)[:2]))
        return float((held * moved / self.slip).max())

    def energy(self, positions: Tensor) -> Tensor:
        slip = self.slip
        if not slip.is_cuda and not bool(self.limit.any()):
            return positions.new_zeros(())
        length = torch.hypot(*self.way(positions))
        share = (length / slip).clamp(max=1.0)
        sticking = slip * (share * share * (1.0 - share / 3.0) + 1.0 / 3.0)
        return torch.dot(self.limit, torch.where(length < slip, sticking, length))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(self.force(self.way(positions)), out[:2])

    def force(self, way: Tensor) -> Tensor:
        """(2, S) gradient by the way, in newtons."""
        stiffness, _ = self._stiffness(way)
        return stiffness * way

    def curvature(self, way: Tensor, bounded: bool = False) -> Tensor:
        """(2, 2, S) second derivative by the way, in N/m; positive semi-definite.

        Args:
            bounded: whether it is to hold against sliding on as it holds across: a bound, with
                which no straight step leaps over the place where a point would stick.
        """
        stiffness, change = self._stiffness(way)
        curvature = way[:, None] * way[None] * (0.0 if bounded else change)
        curvature[0, 0] += stiffness
        curvature[1, 1] += stiffness
        return curvature

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        curvature = self.curvature(self.way(positions), projected and self.is_bounded)
        blocks = curvature.new_zeros(len(self.points), 3, 3)
        blocks[:, :2, :2] = curvature.permute(2, 0, 1)
        self.points.add_blocks(blocks.view(-1, 9), matrix)

    def _stiffness(self, way: Tensor) -> tuple[Tensor, Tensor]:
        """k = μ N f₁(s)/s and its derivative by s over s."""
        length = torch.hypot(*way)
        safe = torch.maximum(length, self.slip)
        slides = length >= self.slip
        sticking = self.limit * (2.0 - length / self.slip) / self.slip
        stiffness = torch.where(slides, self.limit / safe, sticking)
        small = torch.maximum(length, 1e-6 * self.slip)
        change = torch.where(
            slides, -self.limit / safe**3, -self.limit / (self.slip * self.slip * small)
        )
        return stiffness, change
