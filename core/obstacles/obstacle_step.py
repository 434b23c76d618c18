# SPDX-License-Identifier: GPL-3.0-or-later
"""Correct an explicit step at an obstacle: after it, vertex by vertex.

Each vertex touches an obstacle on its own, so its contact can be solved for the end of the step
while elasticity stays explicit. Obstacles then never limit the time step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops
from ..kernels import obstacles as contact
from ..kernels.obstacles import BALL, PLANE
from ..potentials.ground import EmbeddedPoints
from ..scene.friction import Coefficients


class ObstacleStep(ABC):
    """Corrects the vertices that an explicit step has brought to an obstacle.

    Args:
        vertices: (S,) indices of free vertices.
        friction: (S,) tensors, of the vertices on the obstacle.
    """

    def __init__(self, vertices: Tensor, friction: Coefficients) -> None:
        self._vertices, self._friction = vertices, friction

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Changes positions and velocities, both (3, N), at the end of a step of ``step`` s.

        A force over mass changes a velocity over the (N,) ``impulse_times``, in seconds.
        """
        # On CUDA, finding out whether any vertex touches would cost a wait for the device.
        if not runs_loops(positions):
            self._apply_passes(positions, velocities, step, impulse_times)
        else:
            contact.choose_threads(len(self._vertices))
            self._loop(positions.numpy(), velocities.numpy(), step, impulse_times.numpy())

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        vertices = self._vertices
        before, times = velocities[:, vertices], impulse_times[vertices]
        placed, normal, change = self._respond(positions[:, vertices], before, step, times)
        sliding = before - (before * normal).sum(0) * normal
        speed = torch.linalg.vector_norm(sliding, dim=0)
        stopped = friction_stop_ratio(speed, change.clamp(min=0.0), self._friction) * sliding
        velocities[:, vertices] = before + change * normal - stopped
        # A vertex moved on by its old tangential velocity; undo the displacement that friction
        # stopped.
        positions[:, vertices] = placed - step * stopped

    @abstractmethod
    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        """``apply`` as a compiled loop."""

    @abstractmethod
    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Apply contact without friction.

        Args:
            points, velocity: (3, S) at the end of the step.
            step: in seconds.
            impulse_times: (S,) in seconds.

        Returns:
            (3, S) points after contact, (3, S) outward normals of the obstacle, and the (S,)
            change of the velocity along them, in m/s; zero away from it.
        """


def friction_stop_ratio(speed: Tensor, change: Tensor, friction: Coefficients) -> Tensor:
    """Return (S,) ratios, as ``kernels.obstacles.friction_stop_ratio`` does for one vertex."""
    # The smallest positive divisor keeps a vertex at rest from becoming 0 / 0.
    slowed = friction.kinetic * change / speed.clamp(min=torch.finfo(speed.dtype).tiny)
    return torch.where(speed <= friction.static * change, torch.ones_like(speed), slowed)


class Surface(Protocol):
    """A shape known in closed form."""

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return (S,) distances of (3, S) points, negative inside, and (3, S) outward normals."""

    def numbers(self) -> tuple[int, float, float, float, float]:
        """Return the numbers that the compiled kernel takes: the kind, three coordinates and a
        radius, in metres.
        """


@dataclass(frozen=True)
class Plane:
    """Level and facing up; ``height`` in metres."""

    height: float

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        return points[2] - self.height, up(points)

    def numbers(self) -> tuple[int, float, float, float, float]:
        return PLANE, 0.0, 0.0, self.height, 0.0


@dataclass(frozen=True)
class Ball:
    """Solid inside; ``center`` and ``radius`` in metres."""

    center: tuple[float, float, float]
    radius: float

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        offset = torch.stack([points[axis] - self.center[axis] for axis in range(3)])
        away = torch.linalg.vector_norm(offset, dim=0)
        # From the very centre every way out is as short: up.
        lost = (away == 0.0).to(points)
        return away - self.radius, (offset + lost * up(points)) / (away + lost)

    def numbers(self) -> tuple[int, float, float, float, float]:
        return BALL, *self.center, self.radius


def up(points: Tensor) -> Tensor:
    """Return (3, S) upward normals of a level surface."""
    # Made on the device: a recorded CUDA graph may not copy it from the host.
    zero = torch.zeros_like(points[0])
    return torch.stack([zero, zero, zero + 1.0])


class PointArrays:
    """Points on a CPU, with room to work in.

    Args:
        points: those of one tet one after the other.
    """

    def __init__(self, points: EmbeddedPoints) -> None:
        #: (S, 4) each.
        self.corners = np.ascontiguousarray(points.corners.cpu().numpy().T.astype(np.int32))
        self.shares = np.ascontiguousarray(points.shares.cpu().numpy().T)
        first = np.ones(len(self.corners), dtype=bool)
        first[1:] = (self.corners[1:] != self.corners[:-1]).any(axis=1)
        #: (G + 1,) where the points of each tet begin.
        self.groups = np.append(np.flatnonzero(first), len(first)).astype(np.int32)
        below = -np.minimum(self.shares, 0.0).sum(axis=1)
        #: (G,) depth of points below the corners of their tet, relative to its height, at most.
        self.outside: NDArray[Any] = np.maximum.reduceat(below, self.groups[:-1])
        count, kind = len(self.corners), self.shares.dtype
        #: (S,) to work with.
        self.near = np.zeros(count, dtype=np.int32)
        #: (S,), (S, 2) and (G,) values that one step passes to the next.
        self.forces, self.friction_forces = (
            np.zeros(count, dtype=kind),
            np.zeros((count, 2), dtype=kind),
        )
        self.was_near = np.zeros(len(self.groups) - 1, dtype=np.bool_)

    def forget(self) -> None:
        """Forget earlier steps."""
        self.forces[:], self.friction_forces[:], self.was_near[:] = 0.0, 0.0, False
