# SPDX-License-Identifier: GPL-3.0-or-later
"""An obstacle that puts back points that fell into it, by the vertices they share."""

from __future__ import annotations

import math

from torch import Tensor

from ..kernels import surface_points as loops
from ..potentials.ground_points import EmbeddedPoints
from ..scene.friction import Coefficients
from .point_arrays import PointArrays
from .surfaces import Surface


class EmbeddedProjectionStep:
    """What ``ProjectionStep`` does for vertices, for points on a CPU, one after the other.

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
        own = self._arrays
        loops.project_points(
            positions.numpy(),
            velocities.numpy(),
            (own.corners, own.shares, self._inverse_mass),
            self._surface.numbers(),
            (self._restitution, -math.expm1(-step * self._penalty)),
            (self._static, self._kinetic),
            step,
        )
