# SPDX-License-Identifier: GPL-3.0-or-later
"""The speed and the offset at which an object plays its simulated frames."""

from __future__ import annotations

import bpy
import numpy as np

from ..modifiers import find_modifier, find_refined, first_frame


def place(obj: bpy.types.Object, modifier: bpy.types.Modifier, first: int) -> None:
    """Let a modifier show its first sample at a frame, with the offset and speed of the object."""
    speed = obj.supple.play_speed
    start = float(np.float32(speed * (first + obj.supple.play_offset)))
    if modifier.frame_start != start:
        modifier.frame_start = start
    if modifier.frame_scale != speed and speed != 1.0:
        modifier.frame_scale = speed


def simulated_first(obj: bpy.types.Object) -> int:
    """Return the scene frame of the first simulated frame, without the offset."""
    playback = find_modifier(obj)
    if obj.supple.is_property_set("simulated_first") or playback is None:
        return int(obj.supple.simulated_first)
    # A file of an older Supple has no offset.
    return first_frame(playback)


def update(obj: bpy.types.Object) -> None:
    """Play an object's frames by its settings, after these have changed."""
    playback, props = find_modifier(obj), obj.supple
    if playback is None:
        return
    props.simulated_first = simulated_first(obj)
    for modifier in (playback, *find_refined(obj)):
        modifier.frame_scale = props.play_speed
        place(obj, modifier, props.simulated_first)
