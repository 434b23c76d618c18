# SPDX-License-Identifier: GPL-3.0-or-later
"""The friction that is set of bodies, colliders and the ground."""

from __future__ import annotations

import bpy

from ..units import exact_float


def coefficients(props: bpy.types.PropertyGroup, of: str = "") -> tuple[float, float | None]:
    """The static coefficient of a surface, and the kinetic one; None where that is all of it.

    Args:
        of: what the names of its settings begin with.
    """
    friction = exact_float(getattr(props, f"{of}friction"))
    ratio = exact_float(getattr(props, f"{of}sliding_friction"))
    return friction, None if ratio == 1.0 else ratio * friction
