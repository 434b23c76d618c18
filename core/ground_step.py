# SPDX-License-Identifier: GPL-3.0-or-later
"""How an explicit step meets the ground: after it, vertex by vertex.

Each vertex touches the ground on its own, so its contact can be solved for the end of the step
while elasticity stays explicit. The ground then never limits the time step, however stiff.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from . import compiled_ground_step as loops
from .barrier import barrier_derivatives
from .compiled import is_compiled
from .potentials import GroundBarrier


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
        # On CUDA, finding out whether any vertex touches would cost a wait for the device.
        if positions.is_cuda:
            self._apply_passes(positions, velocities, step)
        elif is_compiled():
            loops.share(len(self._vertices))
            self._loop(positions.numpy(), velocities.numpy(), step)
        elif float(positions[2].min()) < self._reach:
            self._apply_passes(positions, velocities, step)

    def _apply_passes(self, positions: Tensor, velocities: Tensor, step: float) -> None:
        vertices = self._vertices
        before = velocities[:, vertices]
        height, speed = self._respond(positions[2, vertices], before[2], step)
        positions[2, vertices] = height
        slid = self._slow_down(before, speed - before[2])
        # A vertex moved on by its old tangential velocity; take back what friction stopped.
        positions[:2, vertices] += step * (slid - before[:2])
        velocities[:2, vertices] = slid
        velocities[2, vertices] = speed

    @abstractmethod
    def _loop(self, positions: NDArray[Any], velocities: NDArray[Any], step: float) -> None:
        """``apply`` as a compiled loop."""

    @abstractmethod
    def _respond(self, height: Tensor, speed: Tensor, step: float) -> tuple[Tensor, Tensor]:
        """Heights and vertical speeds after contact."""

    def _slow_down(self, velocity: Tensor, normal_change: Tensor) -> Tensor:
        """(2, S) horizontal velocity after Coulomb friction with a normal impulse a mass."""
        horizontal = velocity[:2]
        speed = torch.hypot(*horizontal)
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

    def _respond(self, height: Tensor, speed: Tensor, step: float) -> tuple[Tensor, Tensor]:
        start = (height - self._height) / self._distance
        ratio = barrier_proximal(start, step * step * self._stiffness)
        lifted = torch.where(start < 1.0, self._height + ratio * self._distance, height)
        return lifted, speed + (lifted - height) / step

    def _loop(self, positions: NDArray[Any], velocities: NDArray[Any], step: float) -> None:
        loops.meet_barrier(
            positions,
            velocities,
            self._vertices.numpy(),
            self._stiffness.numpy(),
            self._height,
            self._distance,
            self._friction,
            step,
            _smallest(self._stiffness.dtype),
        )


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

    def _respond(self, height: Tensor, speed: Tensor, step: float) -> tuple[Tensor, Tensor]:
        bounced = torch.where(height < self._height, speed.abs() * self._restitution, speed)
        # A vertex that already rises is not slowed down.
        return height.clamp(min=self._height), torch.maximum(bounced, speed)

    def _loop(self, positions: NDArray[Any], velocities: NDArray[Any], step: float) -> None:
        loops.meet_plane(
            positions,
            velocities,
            self._vertices.numpy(),
            self._height,
            self._restitution,
            self._friction,
            step,
        )


def barrier_proximal(start: Tensor, stiffness: Tensor) -> Tensor:
    """The root u in (0, 1) of u − start + stiffness β'(u) = 0, for start < 1.

    Without its logarithm the equation is quadratic, and its root lies below the true one; the
    function is concave, so Newton's method climbs from there without a safeguard.
    """
    if is_compiled() and not start.is_cuda:
        roots = torch.empty_like(start)
        loops.share(len(start))
        loops.proximal_of_each(
            start.numpy(), stiffness.numpy(), _smallest(start.dtype), roots.numpy()
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
    ratio = ratio.clamp(min=_smallest(ratio.dtype), max=1.0)
    for _ in range(loops.ITERATIONS):
        slope, curvature = barrier_derivatives(ratio)
        change = (ratio - start + stiffness * slope) / (1.0 + stiffness * curvature)
        ratio = (ratio - change).clamp(max=1.0)
    return ratio


def _smallest(dtype: torch.dtype) -> float:
    """The least ratio that Newton's method starts from: its square still has an inverse."""
    return float(torch.finfo(dtype).tiny ** 0.25)
