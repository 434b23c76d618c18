# SPDX-License-Identifier: GPL-3.0-or-later
"""Switches playback off while a mesh has other vertices than its frames.

Blender would show the mesh as modelled anyway, and complain on the console at every frame.
"""

from __future__ import annotations

import bmesh
import bpy

from ..modifiers import find_modifier, find_refined
from . import refined_frames


def update_edited(depsgraph: bpy.types.Depsgraph) -> None:
    """Update the objects whose geometry has just changed."""
    for update in depsgraph.updates:
        if update.is_updated_geometry and isinstance(update.id, bpy.types.Object):
            update_object(update.id.original)


def update_object(obj: bpy.types.Object) -> None:
    """Show an object's frames where they are of its mesh, hide them where they are not."""
    modifier = find_modifier(obj)
    if modifier is None or not obj.is_editable:
        return
    simulated = obj.supple.simulated_vertices
    # An object that is appended or overridden may not know.
    set_hidden(obj, bool(simulated) and _vertex_count(obj) != simulated)


def set_hidden(obj: bpy.types.Object, is_hidden: bool) -> None:
    """Hide all frames of an object, or show them as they were; does nothing where that is so."""
    modifier = find_modifier(obj)
    if modifier is None or obj.supple.hides_frames == is_hidden:
        return
    obj.supple.hides_frames = is_hidden
    for each in (modifier, *find_refined(obj)):
        each.show_viewport = each.show_render = not is_hidden
    if not is_hidden:
        refined_frames.update(obj)


def _vertex_count(obj: bpy.types.Object) -> int:
    if obj.mode == "EDIT":
        return len(bmesh.from_edit_mesh(obj.data).verts)
    return len(obj.data.vertices)
