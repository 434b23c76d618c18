# SPDX-License-Identifier: GPL-3.0-or-later
"""A curve along a Newton direction on which every vertex's contact with the ground is solved."""

from __future__ import annotations

import torch
from torch import Tensor

from ..obstacles.barrier_step import barrier_proximal
from ..potentials import GroundBarrier, GroundFriction


class GroundPath:
    """Bends straight steps so that they slide along the ground instead of ending at it.

    A Newton step takes the barrier for a parabola. A vertex about to land does not see the ground
    at all, and the straight step through it would have to be cut short for the whole scene. But
    each vertex meets the ground on its own. With k its own stiffness in the model without ground,
    its height on the curve is the one with

        k (z − z₀) + q(t) + b'(z) = 0,    q(t) = −(k + b''(z₀)) t Δz − b'(z₀),

    the very equation whose linearisation around z₀ the Newton step Δz solves. The curve starts at
    z₀ in the direction Δz, so a line search along it is one for the energy; it never meets the
    ground; and its end is right for each vertex wherever the step is right for its neighbours.
    Horizontal friction is treated the same way, but that what slides at z₀ goes on against the same
    force, however its coefficient falls.

    Args:
        barrier, friction: of the ground; no friction where that is None.
    """

    def __init__(self, barrier: GroundBarrier, friction: GroundFriction | None) -> None:
        self._barrier, self._friction = barrier, friction

    def start(
        self, positions: Tensor, direction: Tensor, stiffness: Tensor, bounded: bool = False
    ) -> None:
        """Begins a curve at (3, N) ``positions``.

        Args:
            direction: (3, N) Newton step in metres.
            stiffness: (2, S) horizontal and vertical stiffness of the barrier's vertices without
                the ground, in N/m.
            bounded: whether the Hessian held the bound of friction's.
        """
        barrier, friction = self._barrier, self._friction
        self._positions, self._direction, self._stiffness = positions, direction, stiffness
        own = direction[:, barrier.vertices]
        self._pull = (stiffness[1] + barrier.curvature(positions)) * own[2]
        self._push = -barrier.normal_force(positions)
        if friction is not None:
            self._way = friction.way(positions)
            self._limit = friction.limit_at(self._way)
            curvature = friction.curvature(self._way, bounded)
            self._drag = stiffness[0] * own[:2] + (curvature * own[None, :2]).sum(1)
            self._hold = friction.force(self._way)

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        positions = self._positions + fraction * self._direction
        barrier, vertices = self._barrier, self._barrier.vertices
        stiffness = self._stiffness[1]
        before = self._positions[2, vertices]
        target = before + (fraction * self._pull + self._push) / stiffness
        ratio = (target - barrier.height) / barrier.distances
        touching = ratio < 1.0
        solved = barrier_proximal(ratio, barrier.weights / (stiffness * barrier.distances))
        lowered = torch.where(touching, barrier.height + solved * barrier.distances, target)
        positions[2, vertices] = lowered
        if self._friction is not None:
            way = self._slide(self._friction, fraction)
            positions[:2, vertices] = self._positions[:2, vertices] + (way - self._way)
        return positions

    def land(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """Where to look first for the end of a step.

        A vertex that falls to the ground comes to rest as if it were alone. One that touches it
        already, and would go on to, stays: whether it slides is for its neighbours to tell.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, vertices = self._barrier, self._barrier.vertices
        ratio = barrier.ratio(predicted)
        falls = ratio < 1.0
        stays = falls & (barrier.ratio(start) < 1.0)
        alone = barrier.weights / (stiffness[vertices] * barrier.distances)
        landed = barrier.height + barrier_proximal(ratio, alone) * barrier.distances
        guess = predicted.clone()
        heights = torch.where(falls, landed, predicted[2, vertices])
        guess[2, vertices] = torch.where(stays, start[2, vertices], heights)
        if self._friction is not None:
            guess[:2, vertices] = torch.where(stays, start[:2, vertices], predicted[:2, vertices])
        return guess

    def _slide(self, friction: GroundFriction, fraction: float) -> Tensor:
        """(2, S) ways with k u + μN f₁(|u|/ε) u/|u| = w, where w is what the step pulls with."""
        stiffness = self._stiffness[0]
        pull = stiffness * self._way + fraction * self._drag + self._hold
        size = torch.hypot(*pull)
        limit, slip = self._limit, friction.slip
        sliding = (size - limit) / stiffness
        linear = stiffness + 2.0 * limit / slip
        root = (linear * linear - 4.0 * limit * size / (slip * slip)).clamp(min=0.0).sqrt()
        length = torch.where(sliding >= slip, sliding, 2.0 * size / (linear + root))
        return pull * (length / size.clamp(min=torch.finfo(size.dtype).tiny))
