# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of groups of bodies whose moves were truncated.

A truncated move is shorter than the one that forces led to, so that a group which nothing holds
would lose momentum. Its velocities v keep the rigid motion R of the velocities u that forces led
to: R + s (v − Rᵥ), with Rᵥ the rigid motion of v. Rigid motion and the rest of a motion are
orthogonal in the metric of masses, and 0 ≤ s ≤ 1 is the largest ratio for which the rest has no
more energy than that of u. Momentum and angular momentum are thus those of u, and the kinetic
energy is no larger.
"""

from __future__ import annotations

import math

from torch import Tensor

from ..geometry.rigid_motion import rigid_velocity


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
