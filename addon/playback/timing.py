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


def update(obj: bpy.types.Object) -> None:
    """Play an object's frames by its settings, after these have changed."""
    playback, props = find_modifier(obj), obj.supple
    if playback is None:
        return
    if not props.is_property_set("simulated_first"):
        # An older file has no offset yet.
        props.simulated_first = first_frame(playback)
    for modifier in (playback, *find_refined(obj)):
        modifier.frame_scale = props.play_speed
        place(obj, modifier, props.simulated_first)
