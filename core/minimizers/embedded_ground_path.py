# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a Newton step ends along the ground, for points that vertices share."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ..kernels.lifts import lift
from ..kernels.obstacle_points import NEAR
from ..kernels.slides import slide
from ..obstacles.barrier_step import smallest_ratio
from ..obstacles.point_arrays import PointArrays
from ..potentials import GroundBarrier, GroundFriction
from ..potentials.ground_points import EmbeddedPoints

# Until no height changes by more than this share of the distance at which the ground pushes, and no
# way by more than that share of the one that breaks a point loose, or so many times through the
# points: where the sums are less exact, so are the steps of a search.
STILL_HEIGHT, STILL_WAY, SWEEPS = 1e-4, 1e-2, 500
# A step that changes no height above the ground and no way by more than this share need not bend.
STRAIGHT_RATIO = 0.3


class EmbeddedGroundPath:
    """What ``GroundPath`` does for vertices, for points that follow several of them.

    With k the stiffness of each vertex in the model without ground, the heights on the curve are
    those with

        k (z − z₀) + q(t) + ∇b(z) = 0,    q(t) = −(k + ∇²b(z₀)) t Δz − ∇b(z₀),

    found for all points at once, and what friction lets slide point by point.

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
            bounded: whether the Hessian held the bound of friction's.
        """
        barrier, points = self._barrier, self._points
        self._positions = positions
        self._looked_at: tuple[float, Tensor] = (math.nan, positions)
        self._compliance = torch.zeros_like(positions[:2])
        self._compliance[:, points.vertices] = 1.0 / stiffness
        pulled = torch.zeros_like(positions)
        along = points.gather(direction)
        points.add(barrier.curvature(positions) * along[2], pulled[2])
        self._pushes = barrier.normal_force(positions)
        if self._friction is not None:
            way = self._friction.way(positions)
            self._limits = self._friction.limit_at(way)
            points.add(
                (self._friction.curvature(way, bounded) * along[None, :2]).sum(1), pulled[:2]
            )
            self._drags = self._friction.force(way)
        # Without the forces that change on the way, which are linear in the model.
        self._pull = direction + self._compliance[[0, 0, 1]] * pulled

    def bends(self, positions: Tensor, direction: Tensor) -> bool:
        """Whether forces of the ground change along a step by more than the model holds.

        A curve is found to a tolerance, so that a step shorter than that has to be straight.
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
        way = torch.maximum(torch.hypot(*friction.way(positions)), friction.slip)
        held = friction.limit > 0.0
        return bool((held & (torch.hypot(*along[:2]) > STRAIGHT_RATIO * way)).any())

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        if fraction == self._looked_at[0]:
            return self._looked_at[1]
        positions = self._positions + fraction * self._pull
        positions[2] = self._pushed(positions[2], self._compliance[1], self._pushes)
        if self._friction is not None:
            positions[:2] = self._held(self._friction, positions[:2])
        self._looked_at = fraction, positions
        return positions

    def land(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """Where to look first for the end of a step: see ``GroundPath.land``.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, points = self._barrier, self._points
        falls = barrier.ratio(predicted) < 1.0
        stays = falls & (barrier.ratio(start) < 1.0)
        stayed = torch.zeros_like(self._free)
        stayed[points.corners[:, stays].flatten()] = True
        stayed &= self._free
        guess = torch.where(stayed, start, predicted)
        if self._friction is None:
            guess[:2] = predicted[:2]
        compliance = torch.where(self._free & ~stayed, 1.0 / stiffness.clamp(min=1e-300), 0.0)
        guess[2] = self._pushed(guess[2], compliance, torch.zeros_like(barrier.weights))
        return guess

    def _held(self, friction: GroundFriction, places: Tensor) -> Tensor:
        """(2, N) places with what friction adds to its forces on the points."""
        own, limits = self._arrays, self._limits.cpu().numpy()
        x, y = places.cpu().numpy().copy()
        slide(
            x,
            y,
            own.corners,
            own.shares,
            self._compliance[0].cpu().numpy(),
            friction.begun.cpu().numpy(),
            limits,
            friction.slip.cpu().numpy(),
            np.flatnonzero(limits).astype(np.int32),
            self._drags.cpu().numpy().copy(),
            SWEEPS,
            STILL_WAY,
        )
        return torch.as_tensor(np.stack([x, y])).to(places)

    def _pushed(self, heights: Tensor, compliance: Tensor, forces: Tensor) -> Tensor:
        """(N,) heights with what the ground adds to its forces on the points."""
        own = self._arrays
        # Those with a force already lie where it holds them.
        out, found = heights.cpu().numpy().copy(), forces.cpu().numpy().copy()
        low = (self._points.gather(heights) - self._barrier.height) / self._barrier.distances
        near = np.flatnonzero(((low < NEAR) | (forces > 0.0)).cpu().numpy()).astype(np.int32)
        lift(
            out,
            own.corners,
            own.shares,
            compliance.cpu().numpy(),
            self._weights,
            self._distances,
            self._barrier.height,
            smallest_ratio(heights.dtype),
            near,
            found,
            STILL_HEIGHT,
        )
        return torch.as_tensor(out).to(heights)
