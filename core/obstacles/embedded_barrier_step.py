# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground's smooth barrier at the end of an explicit step, for points that vertices share."""

from __future__ import annotations

import torch
from torch import Tensor

from ..compiled import is_compiled
from ..kernels import embedded_obstacle_barrier as loops
from ..kernels.obstacle_points import EmbeddedGround, PointForces, PointGroups
from ..potentials import GroundBarrier
from ..potentials.ground_points import EmbeddedPoints
from ..scene.friction import Coefficients
from .barrier_step import barrier_proximal, smallest_ratio
from .obstacle_step import stopped_share
from .point_arrays import PointArrays


class EmbeddedBarrierStep:
    """Minimises ½ Σ m (z − z̃)² / hσ + b(z), z the heights of vertices, b of the points they carry.

    On CUDA, where points are looked at all at once, each vertex takes the highest of the lifts that
    its points ask for, and the mean of what friction asks.

    Args:
        barrier: whose energy holds the points up; those of one tet follow each other.
        inverse_mass: (N,) in 1/kg, zero where pinned.
        friction: (S,) tensors, of the points.
    """

    def __init__(
        self, barrier: GroundBarrier, inverse_mass: Tensor, friction: Coefficients
    ) -> None:
        assert isinstance(barrier.points, EmbeddedPoints)
        self._barrier, self._points = barrier, barrier.points
        self._inverse_mass, self._friction, self._rubs = inverse_mass, friction, friction.act
        self._compliance = torch.zeros_like(inverse_mass)
        #: The points on a CPU, and their forces so far.
        self.arrays = None if inverse_mass.is_cuda else PointArrays(self._points)

    def begin(self) -> None:
        """Forgets the steps before: what is resumed from a frame goes on as what was not."""
        if self.arrays is not None:
            self.arrays.forget()

    def apply(
        self,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        impulse_times: Tensor,
        trace: loops.SweepTrace | None = None,
    ) -> None:
        """See ``ObstacleStep.apply``; compiled loops fill in a trace."""
        if self.arrays is None or not is_compiled():
            self._apply_passes(positions, velocities, step, impulse_times)
            return
        own, friction = self.arrays, self._friction
        times, inverse_mass = impulse_times.numpy(), self._inverse_mass.numpy()
        ground, groups, forces = self._ground(own)
        loops.apply_ground_barrier(
            loops.Motion(positions.numpy(), velocities.numpy(), step, times, inverse_mass),
            *(ground, groups),
            loops.GroundCoefficients(friction.static.numpy(), friction.kinetic.numpy(), self._rubs),
            forces,
            self._compliance.numpy(),
            own.near,
            trace,
        )

    def _ground(self, own: PointArrays) -> tuple[EmbeddedGround, PointGroups, PointForces]:
        barrier = self._barrier
        weights, distances = barrier.weights.numpy(), barrier.distances.numpy()
        level = barrier.height, smallest_ratio(barrier.distances.dtype)
        return (
            EmbeddedGround(own.corners, own.shares, weights, distances, *level),
            PointGroups(own.groups, own.outside),
            PointForces(own.forces, own.friction_forces, own.was_near),
        )

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        barrier, points, corners = self._barrier, self._points, self._points.corners
        compliance = step * impulse_times * self._inverse_mass
        shares = points.shares.clamp(min=0.0) * compliance[corners]
        own = (shares * points.shares).sum(0)
        moves = own > 0.0
        safe = torch.where(moves, own, 1.0)
        start = barrier.ratio(positions)
        ratio = barrier_proximal(start, own * barrier.weights / barrier.distances)
        touches = moves & (start < 1.0)
        force = touches * (ratio - start) * barrier.distances / safe
        lifts = torch.zeros_like(positions[2])
        lifts.scatter_reduce_(0, corners.flatten(), (shares * force).flatten(), "amax")
        positions[2] += lifts
        velocities[2] += lifts / step
        tangential = points.gather(velocities[:2])
        speed = torch.linalg.vector_norm(tangential, dim=0)
        stopped = stopped_share(speed, force * own / step, self._friction)
        asked = torch.zeros_like(velocities[:2])
        points.add(stopped * tangential / safe, asked)
        count = torch.zeros_like(lifts)
        carries = (touches * (points.shares != 0.0)).to(count.dtype)
        count.scatter_add_(0, corners.flatten(), carries.flatten())
        change = asked * compliance / count.clamp(min=1.0)
        velocities[:2] -= change
        # Vertices moved on by their old velocity; take back what friction stopped.
        positions[:2] -= step * change
