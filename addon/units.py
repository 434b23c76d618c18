# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of length and time: metres in Blender's, and frames as the timeline counts them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import bpy


def metres_per_unit(scene: bpy.types.Scene) -> float:
    """Metres per Blender unit, by which Blender's number fields multiply lengths."""
    settings = scene.unit_settings
    return 1.0 if settings.system == "NONE" else float(settings.scale_length)


def exact_float(value: float) -> float:
    """The number an artist typed: properties keep 0.45 as 0.44999998807907104."""
    return float(f"{value:.6g}")


def gravity(scene: bpy.types.Scene) -> tuple[float, float, float]:
    """Return the present gravity, in m/s²."""
    unit = metres_per_unit(scene)
    x, y, z = (unit * exact_float(part) if scene.use_gravity else 0.0 for part in scene.gravity)
    return x, y, z


def frame_time(scene: bpy.types.Scene) -> float:
    """Seconds from one frame to the next."""
    return exact_float(scene.render.fps_base) / scene.render.fps


def is_stretched(scene: bpy.types.Scene) -> bool:
    """Whether *Time Stretching* changes anything."""
    return _frames_per_played(scene) != 1


def animation_frames(scene: bpy.types.Scene, played: range) -> range:
    """The whole frames of the animation that surround all moments of a range of played frames."""
    ratio = _frames_per_played(scene)
    return range(floor(ratio * played[0]), ceil(ratio * played[-1]) + 1)


def played_frame(scene: bpy.types.Scene, frame: int) -> int:
    """The last played frame that shows nothing after a frame of the animation."""
    return floor(frame / _frames_per_played(scene))


def _frames_per_played(scene: bpy.types.Scene) -> Fraction:
    return Fraction(scene.render.frame_map_old, scene.render.frame_map_new)
