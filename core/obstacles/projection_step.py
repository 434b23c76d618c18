# SPDX-License-Identifier: GPL-3.0-or-later
"""An obstacle that projects vertices inside of it onto its surface, with an impulse and a
bounce."""

from __future__ import annotations

import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels import obstacle_points as embedded_loops
from ..kernels import obstacles as loops
from ..potentials.ground import EmbeddedPoints
from ..scene.friction import Coefficients
from .obstacle_step import ObstacleStep, PointArrays, Surface


class ProjectionStep(ObstacleStep):
    """Puts a vertex inside back on the surface and reverses its speed along the normal.

    Args:
        vertices: (S,) indices of free vertices.
        surface: of the obstacle.
        friction: (S,) tensors, of the vertices on the obstacle.
        restitution: fraction of the normal speed kept.
        penalty: k in 1/s of the force k m |v| along the normal on a vertex of mass m inside.
    """

    def __init__(
        self,
        vertices: Tensor,
        surface: Surface,
        friction: Coefficients,
        restitution: float = 0.0,
        penalty: float = 0.0,
    ) -> None:
        super().__init__(vertices, friction)
        self._surface, self._restitution, self._penalty = surface, restitution, penalty

    def _share(self, step: float) -> float:
        """Return the fraction of a vertex's speed that the penalty adds along the normal in a step:
        below one.
        """
        return -math.expm1(-step * self._penalty)

    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        distance, normal = self._surface.nearest(points)
        before = (velocity * normal).sum(0)
        pushed = before + self._share(step) * torch.linalg.vector_norm(velocity, dim=0)
        # A vertex that already leaves is not slowed down.
        after = torch.maximum(pushed, -self._restitution * pushed)
        inside = distance < 0.0
        change = torch.where(inside, after - before, torch.zeros_like(before))
        return points - distance.clamp(max=0.0) * normal, normal, change

    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        loops.project_onto_surface(
            positions,
            velocities,
            self._vertices.numpy(),
            self._surface.numbers(),
            (self._restitution, self._share(step)),
            (self._friction.static.numpy(), self._friction.kinetic.numpy()),
            step,
        )


class EmbeddedProjectionStep:
    """The ``ProjectionStep`` of points that follow several vertices, on a CPU, one after the other.

    Args:
        points: of all bodies.
        inverse_mass: (N,) of vertices in 1/kg, zero where pinned.
        surface: of the obstacle.
        friction: (S,) tensors, of the points on the obstacle.
        restitution, penalty: as ``ProjectionStep`` takes them.
    """

    def __init__(
        self,
        points: EmbeddedPoints,
        inverse_mass: Tensor,
        surface: Surface,
        friction: Coefficients,
        restitution: float,
        penalty: float,
    ) -> None:
        self._arrays, self._inverse_mass = PointArrays(points), inverse_mass.numpy()
        self._surface = surface
        self._static, self._kinetic = (part.numpy() for part in friction)
        self._restitution, self._penalty = restitution, penalty

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """See ``ObstacleStep.apply``."""
        arrays = self._arrays
        embedded_loops.project_points(
            positions.numpy(),
            velocities.numpy(),
            (arrays.corners, arrays.shares, self._inverse_mass),
            self._surface.numbers(),
            (self._restitution, -math.expm1(-step * self._penalty)),
            (self._static, self._kinetic),
            step,
        )
