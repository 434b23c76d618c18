# SPDX-License-Identifier: GPL-3.0-or-later
"""How an explicit step meets the ground: after it, vertex by vertex.

Each vertex touches the ground on its own, so its contact can be solved for the end of the step
while elasticity stays explicit. The ground then never limits the time step, however stiff.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from .barrier import barrier_derivatives
from .potentials import GroundBarrier

# Newton from its start value has converged to the last bit of a float64 after this many steps.
BARRIER_ITERATIONS = 7
# A change of the height by less than this share of the barrier's reach; the next is its square.
CONVERGED = 1e-9


class GroundStep(ABC):
    """Corrects the vertices that an explicit step has brought to the ground.

    Args:
        vertices: (S,) indices of free surface vertices.
        reach: height in metres below which a vertex is in contact.
        friction: Coulomb coefficient.
    """

    def __init__(self, vertices: Tensor, reach: float, friction: float) -> None:
        self._vertices, self._reach, self._friction = vertices, reach, friction

    def apply(self, positions: Tensor, velocities: Tensor, step: float) -> None:
        """Changes positions and velocities, both (3, N), at the end of a step of ``step`` s."""
        # On CUDA, finding out which vertices touch would cost a wait for the device.
        if positions.is_cuda:
            self._touch(positions, velocities, slice(None), step)
        elif float(positions[2].min()) < self._reach:
            low = positions[2, self._vertices] < self._reach
            self._touch(positions, velocities, low.nonzero().squeeze(1), step)

    def _touch(
        self, positions: Tensor, velocities: Tensor, touching: Tensor | slice, step: float
    ) -> None:
        vertices = self._vertices[touching]
        before = velocities[:, vertices]
        height, speed = self._respond(positions[2, vertices], before[2], touching, step)
        positions[2, vertices] = height
        slid = self._slow_down(before, speed - before[2])
        # A vertex moved on by its old tangential velocity; take back what friction stopped.
        positions[:2, vertices] += step * (slid - before[:2])
        velocities[:2, vertices] = slid
        velocities[2, vertices] = speed

    @abstractmethod
    def _respond(
        self, height: Tensor, speed: Tensor, touching: Tensor | slice, step: float
    ) -> tuple[Tensor, Tensor]:
        """Heights and vertical speeds after contact."""

    def _slow_down(self, velocity: Tensor, normal_change: Tensor) -> Tensor:
        """(2, S) horizontal velocity after Coulomb friction with a normal impulse a mass."""
        horizontal = velocity[:2]
        speed = torch.linalg.vector_norm(horizontal, dim=0)
        lost = self._friction * normal_change.clamp(min=0.0)
        # The smallest positive divisor keeps a vertex at rest from becoming 0 / 0.
        tiny = torch.finfo(speed.dtype).tiny
        return horizontal * ((speed - lost).clamp(min=0.0) / speed.clamp(min=tiny))


class BarrierStep(GroundStep):
    """Minimises ½ m (z − z̃)² / h² + b(z): the barrier acts implicitly, all else explicitly.

    Args:
        barrier: whose energy holds the vertices up.
        inverse_mass: (S,) of its vertices, in 1/kg.
        friction: Coulomb coefficient.
    """

    def __init__(self, barrier: GroundBarrier, inverse_mass: Tensor, friction: float) -> None:
        super().__init__(barrier.vertices, barrier.height + barrier.distance, friction)
        self._height, self._distance = barrier.height, barrier.distance
        self._stiffness = barrier.weights * inverse_mass / barrier.distance

    def _respond(
        self, height: Tensor, speed: Tensor, touching: Tensor | slice, step: float
    ) -> tuple[Tensor, Tensor]:
        start = (height - self._height) / self._distance
        ratio = barrier_proximal(start, step * step * self._stiffness[touching])
        lifted = torch.where(start < 1.0, self._height + ratio * self._distance, height)
        return lifted, speed + (lifted - height) / step


class ProjectionStep(GroundStep):
    """Puts a vertex that fell below back on the plane and reverses its vertical speed.

    Args:
        vertices: (S,) indices of free surface vertices.
        height: of the ground, in metres.
        friction: Coulomb coefficient.
        restitution: fraction of the vertical speed kept.
    """

    def __init__(self, vertices: Tensor, height: float, friction: float, restitution: float):
        super().__init__(vertices, height, friction)
        self._height, self._restitution = height, restitution

    def _respond(
        self, height: Tensor, speed: Tensor, touching: Tensor | slice, step: float
    ) -> tuple[Tensor, Tensor]:
        bounced = torch.where(height < self._height, speed.abs() * self._restitution, speed)
        # A vertex that already rises is not slowed down.
        return height.clamp(min=self._height), torch.maximum(bounced, speed)


def barrier_proximal(start: Tensor, stiffness: Tensor) -> Tensor:
    """The root u in (0, 1) of u − start + stiffness β'(u) = 0, for start < 1.

    Without its logarithm the equation is quadratic, and its root lies below the true one; the
    function is concave, so Newton's method climbs from there without a safeguard.
    """
    start = start.clamp(max=1.0)
    half = 2.0 * stiffness - start
    root = (half * half + 4.0 * stiffness * (1.0 - stiffness)).clamp(min=0.0).sqrt()
    ratio = torch.where(
        half > 0.0,
        2.0 * stiffness / (half + root),
        (root - half) / (2.0 * (1.0 - stiffness)).clamp(min=0.5),
    )
    ratio = ratio.clamp(min=torch.finfo(ratio.dtype).tiny ** 0.25, max=1.0)
    for _ in range(BARRIER_ITERATIONS):
        slope, curvature = barrier_derivatives(ratio)
        change = (ratio - start + stiffness * slope) / (1.0 + stiffness * curvature)
        ratio = (ratio - change).clamp(max=1.0)
        # On CUDA, looking would cost a wait for the device.
        if not ratio.is_cuda and float(change.abs().max()) < CONVERGED:
            break
    return ratio
