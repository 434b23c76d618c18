# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifier that plays simulated frames on an object."""

from __future__ import annotations

import bpy

MODIFIER = "Supple"


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The playback modifier of an object."""
    found = (m for m in obj.modifiers if m.type == "MESH_CACHE" and m.name.startswith(MODIFIER))
    return next(found, None)
