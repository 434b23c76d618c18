# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of the range that no simulation has reached."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ..capture.objects import soft_bodies
from ..capture.scene import frame_range
from ..playback import mesh_cache


def message(context: bpy.types.Context) -> str:
    """Such as ``Frames 9 to 20 are not simulated yet.``; empty where all are, or none is."""
    try:
        wanted = frame_range(context.scene)[-1]
        found = map(mesh_cache.last_frame, soft_bodies(context))
        reached = min((frame for frame in found if frame is not None), default=wanted)
    except SuppleError:  # of which others tell
        return ""
    if reached >= wanted:
        return ""
    if reached + 1 == wanted:
        return f"Frame {wanted} is not simulated yet."
    return f"Frames {reached + 1} to {wanted} are not simulated yet."
