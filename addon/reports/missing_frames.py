# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of the range that no simulation has reached."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ..capture.objects import soft_bodies
from ..capture.scene import frame_range, played_range
from ..playback import mesh_cache
from ..time_stretching import played_frame


def message(context: bpy.types.Context) -> str:
    """Such as ``Frames 9 to 20 are not simulated yet.``; empty where all are, or none is."""
    try:
        last = frame_range(context.scene)[-1]
        found = map(mesh_cache.last_frame, soft_bodies(context))
        simulated = min((frame for frame in found if frame is not None), default=last)
    except SuppleError:  # of which others tell
        return ""
    if simulated >= last:
        return ""
    reached, wanted = played_frame(context.scene, simulated), played_range(context.scene)[-1]
    if reached + 1 == wanted:
        return f"Frame {wanted} is not simulated yet."
    return f"Frames {reached + 1} to {wanted} are not simulated yet."
