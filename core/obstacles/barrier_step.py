# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground's smooth barrier at the end of an explicit step.

Solved for the end of the step, it never limits the step, however stiff it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops
from ..kernels import obstacle_points as embedded_loops
from ..kernels import obstacles as loops
from ..kernels.barrier import barrier_derivatives
from ..kernels.obstacle_points import EmbeddedGround, PointForces, PointGroups
from ..kernels.obstacles import choose_threads
from ..potentials import GroundBarrier
from ..potentials.ground import EmbeddedPoints
from ..scene.friction import Coefficients
from .obstacle_step import ObstacleStep, PointArrays, friction_stop_ratio, up


class BarrierStep(ObstacleStep):
    """Minimises ½ m (z − z̃)² / hσ + b(z), σ the time that forces change velocities over: the
    barrier acts implicitly, all else explicitly.

    Args:
        barrier: the barrier, which holds the vertices up.
        inverse_mass: (S,) of its vertices, in 1/kg.
        friction: (S,) tensors, of its vertices.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        super().__init__(barrier.vertices, friction)
        self._height, self._distances = barrier.height, barrier.distances
        self._stiffness = barrier.weights * inverse_mass / barrier.distances

    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        height = points[2]
        start = (height - self._height) / self._distances
        ratio = barrier_proximal(start, step * impulse_times * self._stiffness)
        lifted = torch.where(start < 1.0, self._height + ratio * self._distances, height)
        placed = torch.stack([points[0], points[1], lifted])
        return placed, up(points), (lifted - height) / step

    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        loops.apply_barrier(
            positions,
            velocities,
            self._vertices.numpy(),
            self._stiffness.numpy(),
            self._height,
            self._distances.numpy(),
            self._friction.static.numpy(),
            self._friction.kinetic.numpy(),
            step,
            impulse_times,
            smallest_ratio(self._stiffness.dtype),
        )


def barrier_proximal(start: Tensor, stiffness: Tensor) -> Tensor:
    """The root u in (0, 1) of u − start + stiffness β'(u) = 0, for start < 1.

    Without its logarithm the equation is quadratic, and its root lies below the true one; the
    function is concave, so Newton's method climbs from there without a safeguard.
    """
    if runs_loops(start):
        roots = torch.empty_like(start)
        choose_threads(len(start))
        loops.proximal_of_each(
            start.numpy(), stiffness.numpy(), smallest_ratio(start.dtype), roots.numpy()
        )
        return roots
    start = start.clamp(max=1.0)
    half = 2.0 * stiffness - start
    root = (half * half + 4.0 * stiffness * (1.0 - stiffness)).clamp(min=0.0).sqrt()
    ratio = torch.where(
        half > 0.0,
        2.0 * stiffness / (half + root),
        (root - half) / (2.0 * (1.0 - stiffness)).clamp(min=0.5),
    )
    ratio = ratio.clamp(min=smallest_ratio(ratio.dtype), max=1.0)
    for _ in range(loops.MAX_ITERATIONS):
        first_derivative, second_derivative = barrier_derivatives(ratio)
        change = (ratio - start + stiffness * first_derivative) / (
            1.0 + stiffness * second_derivative
        )
        ratio = (ratio - change).clamp(max=1.0)
    return ratio


@cache
def smallest_ratio(dtype: torch.dtype) -> float:
    """The least ratio that Newton's method starts from: its square still has an inverse."""
    return float(torch.finfo(dtype).tiny ** 0.25)


class EmbeddedBarrierStep:
    """Minimises ½ Σ m (z − z̃)² / hσ + b(z), z the heights of vertices, b of the points they carry.

    On CUDA, where all points are treated at once, each vertex takes the highest lift that its
    points need, and the mean change by friction.

    Args:
        barrier: the barrier, which holds the points up; those of one tet follow each other.
        inverse_mass: (N,) in 1/kg, zero where pinned.
        friction: (S,) tensors, of the points.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        assert isinstance(barrier.points, EmbeddedPoints)
        self._barrier, self._points = barrier, barrier.points
        self._inverse_mass, self._friction, self._has_friction = (
            inverse_mass,
            friction,
            friction.act,
        )
        self._compliance = torch.zeros_like(inverse_mass)
        #: The points on a CPU, and their forces so far.
        self.arrays = None if inverse_mass.is_cuda else PointArrays(self._points)

    def begin(self) -> None:
        """Forget earlier steps, so that a resumed run continues as an uninterrupted one."""
        if self.arrays is not None:
            self.arrays.forget()

    def apply(
        self,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        impulse_times: Tensor,
        trace: embedded_loops.SweepTrace | None = None,
    ) -> None:
        """See ``ObstacleStep.apply``; compiled embedded_loops fill in a trace."""
        if self.arrays is None or not runs_loops(positions):
            self._apply_passes(positions, velocities, step, impulse_times)
            return
        arrays, friction = self.arrays, self._friction
        times, inverse_mass = impulse_times.numpy(), self._inverse_mass.numpy()
        ground, groups, forces = self._ground(arrays)
        embedded_loops.apply_ground_barrier(
            embedded_loops.Motion(positions.numpy(), velocities.numpy(), step, times, inverse_mass),
            *(ground, groups),
            embedded_loops.GroundCoefficients(
                friction.static.numpy(), friction.kinetic.numpy(), self._has_friction
            ),
            forces,
            self._compliance.numpy(),
            arrays.near,
            trace,
        )

    def _ground(self, arrays: PointArrays) -> tuple[EmbeddedGround, PointGroups, PointForces]:
        barrier = self._barrier
        weights, distances = barrier.weights.numpy(), barrier.distances.numpy()
        level = barrier.height, smallest_ratio(barrier.distances.dtype)
        return (
            EmbeddedGround(arrays.corners, arrays.shares, weights, distances, *level),
            PointGroups(arrays.groups, arrays.outside),
            PointForces(arrays.forces, arrays.friction_forces, arrays.was_near),
        )

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        barrier, points, corners = self._barrier, self._points, self._points.corners
        compliance = step * impulse_times * self._inverse_mass
        shares = points.shares.clamp(min=0.0) * compliance[corners]
        point_compliance = (shares * points.shares).sum(0)
        moves = point_compliance > 0.0
        safe = torch.where(moves, point_compliance, 1.0)
        start = barrier.ratio(positions)
        ratio = barrier_proximal(start, point_compliance * barrier.weights / barrier.distances)
        touches = moves & (start < 1.0)
        force = touches * (ratio - start) * barrier.distances / safe
        lifts = torch.zeros_like(positions[2])
        lifts.scatter_reduce_(0, corners.flatten(), (shares * force).flatten(), "amax")
        positions[2] += lifts
        velocities[2] += lifts / step
        tangential = points.gather(velocities[:2])
        speed = torch.linalg.vector_norm(tangential, dim=0)
        stopped = friction_stop_ratio(speed, force * point_compliance / step, self._friction)
        friction_changes = torch.zeros_like(velocities[:2])
        points.add(stopped * tangential / safe, friction_changes)
        count = torch.zeros_like(lifts)
        carries = (touches * (points.shares != 0.0)).to(count.dtype)
        count.scatter_add_(0, corners.flatten(), carries.flatten())
        change = friction_changes * compliance / count.clamp(min=1.0)
        velocities[:2] -= change
        # Vertices moved on by their old velocity; undo the displacement that friction stopped.
        positions[:2] -= step * change
