# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction with the ground as a smooth energy of one time step."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..scene.friction import Coefficients, f0, f1, f1_slope
from .ground_barrier import GroundBarrier
from .potential import Potential, TimeStep

# Below this share of its body's diagonal a second, a vertex sticks.
SLIP_RATE = 1e-4


class GroundFriction(Potential):
    """Σ μ N ε f₀(|u|/ε), u the horizontal way of a point since the start of the step.

    The law is that of ``core/scene/friction.py``: a point that moves less than ε sticks by a force
    that grows with the way, one that moves more slides against μ N, or less where its kinetic
    coefficient is lower. The normal force N is the one that the ground pushed with when
    ``update_lagged`` was called last.

    Args:
        barrier: whose force is the normal force.
        coefficients: (S,) tensors, of its points.
        sizes: (S,) diagonals of the bodies of the points, in metres.
        is_bounded: whether a projected Hessian holds the bound of ``curvature``, for searches that
            do not bend to where points stick.
    """

    is_stiff = True

    def __init__(
        self,
        barrier: GroundBarrier,
        coefficients: Coefficients,
        sizes: Tensor,
        is_bounded: bool = True,
    ) -> None:
        self._barrier, self._coefficients = barrier, coefficients
        self._drop: Tensor = coefficients.drop
        self._sizes, self.is_bounded = sizes, is_bounded
        self.points = barrier.points
        #: (S,) μ N that breaks a point loose, in newtons.
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
        limit = self._coefficients.static * self._barrier.normal_force(positions)
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
        ratio = torch.hypot(*self.way(positions)) / slip
        return torch.dot(self.limit * slip, f0(ratio, self._drop))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(self.force(self.way(positions)), out[:2])

    def limit_at(self, way: Tensor) -> Tensor:
        """(S,) newtons against which points go on that have gone (2, S) ``way``: what breaks those
        loose that stick, and holds the others back."""
        ratio = (torch.hypot(*way) / self.slip).clamp(min=1.0)
        return self.limit * f1(ratio, self._drop)

    def force(self, way: Tensor) -> Tensor:
        """(2, S) gradient by the way, in newtons."""
        stiffness, _ = self._stiffness(way)
        return stiffness * way

    def curvature(self, way: Tensor, bounded: bool = False) -> Tensor:
        """(2, 2, S) second derivative by the way, in N/m; positive semi-definite: none along the
        way where the force falls.

        Args:
            bounded: whether it is to hold against sliding on as it holds across: a bound, with
                which no straight step leaps over the place where a point would stick.
        """
        across, along = self._stiffness(way)
        unit = way / self._length(way)
        change = torch.zeros_like(across) if bounded else along.clamp(min=0.0) - across
        curvature = unit[:, None] * unit[None] * change
        curvature[0, 0] += across
        curvature[1, 1] += across
        return curvature

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        curvature = self.curvature(self.way(positions), projected and self.is_bounded)
        blocks = curvature.new_zeros(len(self.points), 3, 3)
        blocks[:, :2, :2] = curvature.permute(2, 0, 1)
        self.points.add_blocks(blocks.view(-1, 9), matrix)

    def _stiffness(self, way: Tensor) -> tuple[Tensor, Tensor]:
        """(S,) the force over the way, across it, and its derivative along it, in N/m."""
        length = self._length(way)
        ratio = length / self.slip
        force = self.limit * f1(ratio, self._drop)
        return force / length, self.limit * f1_slope(ratio, self._drop) / self.slip

    def _length(self, way: Tensor) -> Tensor:
        """(S,) never quite zero, for the sake of directions."""
        return torch.maximum(torch.hypot(*way), 1e-9 * self.slip)
