# SPDX-License-Identifier: GPL-3.0-or-later
"""A ground-projected path: along it, every vertex's contact with the ground is solved."""

from __future__ import annotations

import torch
from torch import Tensor

from ..obstacles.barrier_step import barrier_proximal
from ..potentials import GroundBarrier, GroundFriction


class GroundProjectedPath:
    """Projects straight steps so that they slide along the ground instead of ending at it.

    A Newton step takes the barrier for a parabola. A vertex about to land does not see the ground
    at all, and the straight step through it would have to be cut short for the whole scene. But
    each vertex touches the ground on its own. With k its own stiffness in the model without ground,
    its height on the curve is the one with

        k (z − z₀) + q(t) + b'(z) = 0,    q(t) = −(k + b''(z₀)) t Δz − b'(z₀),

    the very equation whose linearisation around z₀ the Newton step Δz solves. The curve starts at
    z₀ in the direction Δz, so a line search along it is one for the energy; it never reaches
    the ground; and its end is right for each vertex wherever the step is right for its neighbours.
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
            bounded: whether the Hessian had the bound of friction's.
        """
        barrier, friction = self._barrier, self._friction
        self._positions, self._direction, self._stiffness = positions, direction, stiffness
        own = direction[:, barrier.vertices]
        self._vertical_force = (stiffness[1] + barrier.second_derivative(positions)) * own[2]
        self._barrier_slope = -barrier.normal_force(positions)
        if friction is not None:
            self._displacement = friction.displacement(positions)
            self._limit = friction.limit_at(self._displacement)
            curvature = friction.second_derivative(self._displacement, bounded)
            self._horizontal_force = stiffness[0] * own[:2] + (curvature * own[None, :2]).sum(1)
            self._friction_force = friction.force(self._displacement)

    def at(self, fraction: float) -> Tensor:
        """(3, N) positions a ``fraction`` of the Newton step on."""
        positions = self._positions + fraction * self._direction
        barrier, vertices = self._barrier, self._barrier.vertices
        stiffness = self._stiffness[1]
        before = self._positions[2, vertices]
        target = before + (fraction * self._vertical_force + self._barrier_slope) / stiffness
        ratio = (target - barrier.height) / barrier.distances
        touching = ratio < 1.0
        solved = barrier_proximal(ratio, barrier.weights / (stiffness * barrier.distances))
        lowered = torch.where(touching, barrier.height + solved * barrier.distances, target)
        positions[2, vertices] = lowered
        if self._friction is not None:
            displacement = self._tangential_displacement(self._friction, fraction)
            positions[:2, vertices] = self._positions[:2, vertices] + (
                displacement - self._displacement
            )
        return positions

    def project_onto_ground(self, start: Tensor, predicted: Tensor, stiffness: Tensor) -> Tensor:
        """(3, N) the initial guess for the end of a step.

        A vertex that lands on the ground comes to rest as if it were alone. One in contact with it
        already, and predicted to be, stays: whether it slides depends on its neighbours.

        Args:
            start: (3, N) of the step.
            predicted: (3, N) where it would end without the ground.
            stiffness: (N,) of each vertex by itself, in N/m.
        """
        barrier, vertices = self._barrier, self._barrier.vertices
        ratio = barrier.ratio(predicted)
        is_low = ratio < 1.0
        in_contact = is_low & (barrier.ratio(start) < 1.0)
        alone = barrier.weights / (stiffness[vertices] * barrier.distances)
        landed = barrier.height + barrier_proximal(ratio, alone) * barrier.distances
        guess = predicted.clone()
        heights = torch.where(is_low, landed, predicted[2, vertices])
        guess[2, vertices] = torch.where(in_contact, start[2, vertices], heights)
        if self._friction is not None:
            guess[:2, vertices] = torch.where(
                in_contact, start[:2, vertices], predicted[:2, vertices]
            )
        return guess

    def _tangential_displacement(self, friction: GroundFriction, fraction: float) -> Tensor:
        """(2, S) u with k u + μN f₁(|u|/ε) u/|u| = w, where w is the force of the step."""
        stiffness = self._stiffness[0]
        moved = fraction * self._horizontal_force
        force = stiffness * self._displacement + moved + self._friction_force
        size = torch.hypot(*force)
        limit, threshold = self._limit, friction.stick_threshold
        sliding = (size - limit) / stiffness
        linear = stiffness + 2.0 * limit / threshold
        root = (
            (linear * linear - 4.0 * limit * size / (threshold * threshold)).clamp(min=0.0).sqrt()
        )
        length = torch.where(sliding >= threshold, sliding, 2.0 * size / (linear + root))
        return force * (length / size.clamp(min=torch.finfo(size.dtype).tiny))
