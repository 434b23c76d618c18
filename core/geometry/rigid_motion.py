# SPDX-License-Identifier: GPL-3.0-or-later
"""The rigid motion closest to the motion of points, in one pass of torch.

``rigid_fit`` fits finite rotations in NumPy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..math3.torch_matrices import segment_sums

# Principal moments of inertia below this ratio of the largest count as zero: points on a line do
# not show a rotation about it, and their coordinates may be in single precision.
MIN_INERTIA_RATIO = 1e-6


class RigidVelocity(NamedTuple):
    """Rigid motion of each of B bodies.

    Args:
        centre: (B, 3) centre of mass, in metres.
        linear: (B, 3) velocity of the centre of mass, in m/s.
        angular: (B, 3) angular velocity, in rad/s.
    """

    centre: Tensor
    linear: Tensor
    angular: Tensor

    def at(self, positions: Tensor, bodies: Tensor | int = 0) -> Tensor:
        """Return the (3, N) velocities of the rigid motion at (3, N) positions.

        Args:
            bodies: (N,) index of the body of each position, or one index for all.
        """
        centre, linear, angular = (self._columns(part, bodies) for part in self)
        arms = positions - centre
        return linear + torch.linalg.cross(angular.expand_as(arms), arms, dim=0)

    @staticmethod
    def _columns(values: Tensor, bodies: Tensor | int) -> Tensor:
        return values[bodies, :, None] if isinstance(bodies, int) else values[bodies].T


def rigid_velocity(
    masses: Tensor, positions: Tensor, velocities: Tensor, offsets: Tensor | None = None
) -> RigidVelocity:
    """Return the rigid motion of each body with its momentum and angular momentum.

    No other rigid motion differs from the velocities by less kinetic energy. Points on a line get
    no rotation about it, a single point none at all. Displacements may stand in for velocities.

    Args:
        masses: (N,) in kg, all positive.
        positions: (3, N) in metres.
        velocities: (3, N) in m/s.
        offsets: (B + 1,) index of the first point of each body, whose points lie side by side, and
            N; None where all points are one body.
    """
    columns = masses[:, None]
    points, motion = positions.T, velocities.T
    whole = _sums(columns, offsets)
    centre = _sums(columns * points, offsets) / whole
    linear = _sums(columns * motion, offsets) / whole
    if offsets is None:
        arms, relative = points - centre, motion - linear
    else:
        counts = offsets.diff()
        arms = points - centre.repeat_interleave(counts, dim=0, output_size=len(points))
        relative = motion - linear.repeat_interleave(counts, dim=0, output_size=len(points))
    products = arms[:, :, None] * arms[:, None, :]
    squares = arms.square().sum(1)[:, None, None] * torch.eye(3).to(arms)
    inertia = _sums(masses[:, None, None] * (squares - products), offsets) / whole[:, :, None]
    momentum = _sums(columns * torch.linalg.cross(arms, relative, dim=1), offsets) / whole
    return RigidVelocity(centre, linear, angular_velocity(inertia, momentum))


def angular_velocity(inertia: Tensor, momentum: Tensor) -> Tensor:
    """Return the (B, 3) angular velocities, in rad/s, by angular momentum and inertia.

    Args:
        inertia: (B, 3, 3) symmetric, in kg m² or per kg.
        momentum: (B, 3) in kg m²/s or per kg.
    """
    inverse = torch.linalg.pinv(inertia, rtol=MIN_INERTIA_RATIO, hermitian=True)
    return (inverse @ momentum[:, :, None])[:, :, 0]


def slowed(masses: Tensor, velocities: Tensor, joules: float) -> Tensor:
    """Return (3, N) velocities in m/s, scaled down to remove an energy in joules, at most to zero.

    Args:
        masses: (N,) in kg.
    """
    energy = 0.5 * float((masses * velocities.square()).sum())
    energy_ratio = max(0.0, 1.0 - joules / energy) if energy > 0.0 else 0.0
    return energy_ratio**0.5 * velocities


def skew(vectors: Tensor) -> Tensor:
    """Return the (G, 3, 3) matrices of the cross products with (G, 3) vectors."""
    x, y, z = vectors.unbind(1)
    zero = torch.zeros_like(x)
    rows = [(zero, -z, y), (z, zero, -x), (-y, x, zero)]
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)


def _sums(values: Tensor, offsets: Tensor | None) -> Tensor:
    """Return (B, …) sums of (N, …) values over each body."""
    if offsets is None:
        return values.sum(0, keepdim=True)
    return segment_sums(values.contiguous(), offsets)


FloatArray = NDArray[np.float64]


def keep_group_motion(
    masses: Tensor, positions: Tensor, velocities: Tensor, lost: Tensor
) -> Tensor:
    """Return the (3, n) velocities of a free group with the momentum it had before truncation.

    Args:
        masses: (n,) in kg.
        positions: (3, n) in metres.
        velocities: (3, n) of the truncated moves, in m/s.
        lost: (3, n) by which velocities would be larger without truncation, in m/s.
    """
    whole = velocities + lost
    rigid = rigid_velocity(masses, positions, whole).at(positions)
    reached = velocities - rigid_velocity(masses, positions, velocities).at(positions)
    most, energy = (float((masses * part.square()).sum()) for part in (whole - rigid, reached))
    ratio = math.sqrt(most / energy) if energy > most else 1.0
    return rigid + ratio * reached
