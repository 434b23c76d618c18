# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier that plays simulated frames on an object."""

from __future__ import annotations

import bpy

MODIFIER = "Supple"


def shown_start(scene: bpy.types.Scene) -> int:
    """The frame that shows the start of what the scene plays."""
    modifiers = (find_modifier(obj) for obj in scene.objects)
    return next((int(modifier.frame_start) for modifier in modifiers if modifier), 0)


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The playback modifier of an object."""
    found = (m for m in obj.modifiers if m.type == "MESH_CACHE" and m.name.startswith(MODIFIER))
    return next(found, None)
