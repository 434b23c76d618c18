# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of obstacles: how far a point is from the surface, and which way is out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ..kernels.obstacle_projection import BALL, PLANE


class Surface(Protocol):
    """A shape known in closed form."""

    def nearest(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Of (3, S) points the (S,) distances, negative inside, and (3, S) outward normals."""

    def numbers(self) -> tuple[int, float, float, float, float]:
        """What the compiled loop is told: the kind, three coordinates and a radius, in metres."""


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
    """(3, S) as many normals of a level surface."""
    # Made on the device: a recorded CUDA graph may not copy it from the host.
    zero = torch.zeros_like(points[0])
    return torch.stack([zero, zero, zero + 1.0])
