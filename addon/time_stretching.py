# SPDX-License-Identifier: GPL-3.0-or-later
"""Time Stretching: which frames of the animation are played at the frames of the timeline.

Keyframes, caches and simulations count frames of the animation. The timeline and renders count
played frames. Without *Time Stretching* both are the same.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import bpy


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
