# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender units and metres."""

from __future__ import annotations

import bpy


def metres_per_unit(scene: bpy.types.Scene) -> float:
    """What Blender's own number fields multiply lengths and accelerations by."""
    settings = scene.unit_settings
    return 1.0 if settings.system == "NONE" else float(settings.scale_length)


def exact_float(value: float) -> float:
    """The number an artist typed: properties keep 0.45 as 0.44999998807907104."""
    return float(f"{value:.6g}")


def gravity(scene: bpy.types.Scene) -> tuple[float, float, float]:
    """As it is now, in m/s²."""
    unit = metres_per_unit(scene)
    x, y, z = (unit * exact_float(part) if scene.use_gravity else 0.0 for part in scene.gravity)
    return x, y, z


def frame_time(scene: bpy.types.Scene) -> float:
    """Seconds from one frame to the next."""
    return exact_float(scene.render.fps_base) / scene.render.fps
