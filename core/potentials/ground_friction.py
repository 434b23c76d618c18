# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction with the ground as a smooth energy of one time step."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..cached_at import CachedAt
from ..scene.friction import MIN_SLIDE_RATIO, Coefficients, f0, f1, slide_stiffness
from .ground_barrier import GroundBarrier
from .potential import Potential, TimeStep

# Below this share of its body's diagonal a second, a vertex sticks.
STICK_SPEED_DIAGONALS_PER_S = 1e-4


class GroundFriction(Potential):
    """Σ μ N ε f₀(|u|/ε), u the horizontal displacement of a point since the start of the
    step.

    The law is that of ``core/scene/friction.py``: a point that moves less than ε sticks by a force
    that grows with it, one that moves more slides against μ N, or less where its kinetic
    coefficient is lower. The normal force N is the one that the ground pushed with when
    ``update_lagged`` was called last.

    Args:
        barrier: whose force is the normal force.
        coefficients: (S,) tensors, of its points.
        sizes: (S,) diagonals of the bodies of the points, in metres.
        is_bounded: whether a projected Hessian has the bound of ``second_derivative``, for searches
            along straight paths.
    """

    is_stiff = True
    has_friction = True

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
        #: (S,) ε in metres.
        self.stick_threshold = torch.ones_like(barrier.weights)
        # Energy, forces, Hessian and paths all ask for them.
        self._displacement = CachedAt(self._find_displacement)
        self._last_stiffness: tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]] | None = None

    def begin_time_step(self, step: TimeStep) -> None:
        self.begin_step(step.start, STICK_SPEED_DIAGONALS_PER_S * step.stick_time * self._sizes)

    def begin_step(self, positions: Tensor, stick_threshold: Tensor) -> None:
        """Measures displacements and takes normal forces from (3, N) ``positions``.

        Below (S,) ``stick_threshold`` metres a point sticks.
        """
        self._start, self.stick_threshold = self.points.gather(positions[:2]), stick_threshold
        self._displacement.forget()
        self.update_lagged(positions)

    def update_lagged(
        self, positions: Tensor, fraction: float = 1.0, settled: bool = True
    ) -> tuple[float, float]:
        limit = self._coefficients.static * self._barrier.normal_force(positions)
        change = limit - self.limit
        self.limit = self.limit + fraction * change
        return float(change.abs().sum()), float(limit.sum())

    @property
    def start_points(self) -> Tensor:
        """(2, S) where the points were at the start of the step, in metres."""
        assert self._start is not None
        return self._start

    def displacement(self, positions: Tensor) -> Tensor:
        """(2, S) horizontal displacement since the start of the step, in metres."""
        return self._displacement.on_host(positions)

    def _find_displacement(self, positions: Tensor) -> Tensor:
        return self.points.gather(positions[:2]) - self.start_points

    def stick_drift(self, before: Tensor, after: Tensor) -> float:
        """How far points that stuck at (3, N) ``before`` have moved since, at most, over ε.

        Once ε is enough to break loose: what looks like rest to a tolerance may not be it.
        """
        sticks = (self.limit > 0.0) & (
            torch.hypot(*self.displacement(before)) < self.stick_threshold
        )
        moved = torch.hypot(*self.points.gather((after - before)[:2]))
        return float((sticks * moved / self.stick_threshold).max())

    def energy(self, positions: Tensor) -> Tensor:
        threshold = self.stick_threshold
        if not threshold.is_cuda and not bool(self.limit.any()):
            return positions.new_zeros(())
        ratio = torch.hypot(*self.displacement(positions)) / threshold
        return torch.dot(self.limit * threshold, f0(ratio, self._drop))

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.points.add(self.force(self.displacement(positions)), out[:2])

    def limit_at(self, displacement: Tensor) -> Tensor:
        """(S,) newtons against which points slide on at (2, S) ``displacement``: what breaks those
        loose that stick, and holds the others back."""
        ratio = (torch.hypot(*displacement) / self.stick_threshold).clamp(min=1.0)
        return self.limit * f1(ratio, self._drop)

    def force(self, displacement: Tensor) -> Tensor:
        """(2, S) gradient by the displacement, in newtons."""
        stiffness, _ = self._stiffness(displacement)
        return stiffness * displacement

    def second_derivative(self, displacement: Tensor, bounded: bool = False) -> Tensor:
        """(2, 2, S) second derivative by the displacement, in N/m; positive semi-definite: none
        along it where the force falls.

        Args:
            bounded: whether it is along the displacement what it is across: a bound, with which no
                straight step leaps over the place where a point would stick.
        """
        across, along = self._stiffness(displacement)
        unit = displacement / self._length(displacement)
        change = torch.zeros_like(across) if bounded else along.clamp(min=0.0) - across
        curvature = unit[:, None] * unit[None] * change
        curvature[0, 0] += across
        curvature[1, 1] += across
        return curvature

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        curvature = self.second_derivative(
            self.displacement(positions), projected and self.is_bounded
        )
        blocks = curvature.new_zeros(len(self.points), 3, 3)
        blocks[:, :2, :2] = curvature.permute(2, 0, 1)
        self.points.add_blocks(blocks.view(-1, 9), matrix)

    def _stiffness(self, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """(S,) the force over the displacement, across it, and its derivative along it, in N/m."""
        asked = displacement, self.limit, self.stick_threshold
        last = self._last_stiffness
        if last is None or any(now is not then for now, then in zip(asked, last[0], strict=True)):
            length = self._length(displacement)
            found = slide_stiffness(length, self.stick_threshold, self.limit, self._drop)
            last = self._last_stiffness = asked, found
        return last[1]

    def _length(self, displacement: Tensor) -> Tensor:
        """(S,) never quite zero, for the sake of directions."""
        return torch.maximum(torch.hypot(*displacement), MIN_SLIDE_RATIO * self.stick_threshold)
