# SPDX-License-Identifier: GPL-3.0-or-later
"""A ground-projected path for points that vertices share."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ..kernels.ground_friction import SmoothFriction, solve_tangential_displacements
from ..kernels.lifts import lift
from ..kernels.obstacle_points import SEARCH_RADIUS_RATIO, EmbeddedGround
from ..obstacles.barrier_step import smallest_ratio
from ..obstacles.point_arrays import PointArrays
from ..potentials import GroundBarrier, GroundFriction
from ..potentials.ground_points import EmbeddedPoints

# Iterations end where no height changes by more than this share of the activation distance, and no
# displacement by more than that share of the stick threshold, or after so many sweeps: where they
# are less exact, so are the steps of a search.
HEIGHT_TOLERANCE_RATIO, DISPLACEMENT_TOLERANCE_RATIO, MAX_SWEEPS = 1e-4, 1e-2, 500
# A step that changes no height above the ground and no displacement by more than this share may be
# straight.
STRAIGHT_RATIO = 0.3
# A search begins with no step that lifts a point by more than this share of the size of its tet.
MAX_LIFT_RATIO = 0.25


class EmbeddedGroundProjectedPath:
    """What ``GroundProjectedPath`` does for vertices, for points that follow several of them.

    With k the stiffness of each vertex in the model without ground, the heights on the curve are
    those with

        k (z − z₀) + q(t) + ∇b(z) = 0,    q(t) = −(k + ∇²b(z₀)) t Δz − ∇b(z₀),

    found for all points at once, and tangential displacements point by point.

    Args:
        barrier, friction: of the ground; no friction where that is None.
        free: (N,) which vertices move.
    """

    def __init__(
        self, barrier: GroundBarrier, friction: GroundFriction | None, free: Tensor
    ) -> None:
        assert isinstance(barrier.points, EmbeddedPoints)
        self._barrier, self._friction, self._free = barrier, friction, free
        self._points = barrier.points
        self._arrays = PointArrays(self._points)
        self._weights, self._distances = (
            values.cpu().numpy() for values in (barrier.weights, barrier.distances)
        )

    def start(
        self, positions: Tensor, direction: Tensor, stiffness: Tensor, bounded: bool = False
    ) -> None:
        """Begins a curve at (3, N) ``positions``.

        Args:
            direction: (3, N) Newton step in metres.
            stiffness: (2, U) horizontal and vertical stiffness of the vertices that carry points,
                without the ground, in N/m.
            bounded: whether the Hessian had the bound of friction's.
        """
        barrier, points = self._barrier, self._points
        self._positions = positions
        self._last: tuple[float, Tensor] = (math.nan, positions)
        self._compliance = torch.zeros_like(positions[:2])
        self._compliance[:, points.vertices] = 1.0 / stiffness
        forces = torch.zeros_like(positions)
        along = points.gather(direction)
        points.add(barrier.second_derivative(positions) * along[2], forces[2])
        self._normal_forces = barrier.normal_force(positions)
        if self._friction is not None:
            displacement = self._friction.displacement(positions)
            self._limits = self._friction.limit_at(displacement)
            points.add(
                (self._friction.second_derivative(displacement, bounded) * along[None, :2]).sum(1),
                forces[:2],
            )
            self._friction_forces = self._friction.force(displacement)
        # The step without the forces of the ground, which are linear in the model.
        self._free_step = direction + self._compliance[[0, 0, 1]] * forces

    def is_curved(self, positions: Tensor, direction: Tensor) -> bool:
        """Whether forces of the ground change too much along a step for the model.

        A path is found to a tolerance, so that a step shorter than that has to be straight.
        """
        along = self._points.gather(direction)
        ratio = self._barrier.ratio(positions)
        fall = along[2] / self._barrier.distances
        pushed = torch.minimum(ratio, ratio + fall) < 1.0
        if bool((pushed & (fall.abs() > STRAIGHT_RATIO * ratio)).any()):
            return True
        if self._friction is None:
            return False
        friction = self._friction
        displacement = torch.maximum(
            torch.hypot(*friction.displacement(positions)), friction.stick_threshold
        )
        rubs = friction.limit > 0.0
        return bool((rubs & (torch.hypot(*along[:2]) > STRAIGHT_RATIO * displacement)).any())

    def max_fraction(self) -> float:
        """The share of the Newton step, at most 1, that lifts no point by more than a quarter of
        the size of its tet: more would crush that, and be refused after all."""
        points = self._points
        height = points.gather(self._positions[2]) - self._barrier.height
        fall = -points.gather(self._free_step[2])
        low = torch.nonzero(fall > height).flatten()
        if len(low) == 0:
            return 1.0
        corners = self._positions[:, points.corners[:, low]]
        size = torch.linalg.vector_norm(corners.amax(1) - corners.amin(1), dim=0)
        # What is a vertex has no tet of its own.
        reach = torch.where(size > 0.0, height[low] + MAX_LIFT_RATIO * size, math.inf)
        return min(1.0, float((reach / fall[low]).min()))

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        if fraction == self._last[0]:
            return self._last[1]
        positions = self._positions + fraction * self._free_step
        positions[2] = self._lifted(positions[2], self._compliance[1], self._normal_forces)
        if self._friction is not None:
            positions[:2] = self._with_friction(self._friction, positions[:2])
        self._last = fraction, positions
        return positions

    def project_onto_ground(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """(3, N) the initial guess: see ``GroundProjectedPath.project_onto_ground``.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, points = self._barrier, self._points
        in_contact = (barrier.ratio(predicted) < 1.0) & (barrier.ratio(start) < 1.0)
        stays = torch.zeros_like(self._free)
        stays[points.corners[:, in_contact].flatten()] = True
        stays &= self._free
        guess = torch.where(stays, start, predicted)
        if self._friction is None:
            guess[:2] = predicted[:2]
        compliance = torch.where(self._free & ~stays, 1.0 / stiffness.clamp(min=1e-300), 0.0)
        guess[2] = self._lifted(guess[2], compliance, torch.zeros_like(barrier.weights))
        return guess

    def _with_friction(self, friction: GroundFriction, positions: Tensor) -> Tensor:
        """(2, N) positions with what friction adds to its forces on the points."""
        limits = self._limits.cpu().numpy()
        x, y = positions.cpu().numpy().copy()
        solve_tangential_displacements(
            x,
            y,
            self._ground(positions.dtype),
            SmoothFriction(
                friction.start_points.cpu().numpy(), limits, friction.stick_threshold.cpu().numpy()
            ),
            self._compliance[0].cpu().numpy(),
            np.flatnonzero(limits).astype(np.int32),
            self._friction_forces.cpu().numpy().copy(),
            MAX_SWEEPS,
            DISPLACEMENT_TOLERANCE_RATIO,
        )
        return torch.as_tensor(np.stack([x, y])).to(positions)

    def _lifted(self, heights: Tensor, compliance: Tensor, forces: Tensor) -> Tensor:
        """(N,) heights with what the ground adds to its forces on the points."""
        # Points with a force are already where that lifts them.
        out, found = heights.cpu().numpy().copy(), forces.cpu().numpy().copy()
        low = (self._points.gather(heights) - self._barrier.height) / self._barrier.distances
        is_near = ((low < SEARCH_RADIUS_RATIO) | (forces > 0.0)).cpu().numpy()
        near = np.flatnonzero(is_near).astype(np.int32)
        lift(
            out,
            self._ground(heights.dtype),
            compliance.cpu().numpy(),
            near,
            found,
            HEIGHT_TOLERANCE_RATIO,
        )
        return torch.as_tensor(out).to(heights)

    def _ground(self, dtype: torch.dtype) -> EmbeddedGround:
        own, height = self._arrays, self._barrier.height
        shape = own.corners, own.shares, self._weights, self._distances
        return EmbeddedGround(*shape, height, smallest_ratio(dtype))
