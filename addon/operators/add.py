# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Soft Body."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from .. import standby
from ..body_capture import linked_reason
from ..capture import is_soft_body
from ..motion import transform, world_matrix
from ..surfaces import coordinates
from ..units import metres_per_unit


class SUPPLE_OT_add(bpy.types.Operator):
    """Make the selected meshes soft bodies"""

    bl_idname = "supple.add"
    bl_label = "Add Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not _candidates(context):
            linked = next((obj for obj in context.selected_objects if linked_reason(obj)), None)
            cls.poll_message_set(
                linked_reason(linked)
                if linked
                else "Select a mesh object that is not a soft body yet."
            )
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        objects = _candidates(context)
        is_first = not any(is_soft_body(obj) for obj in context.scene.objects)
        for obj in objects:
            obj.supple.enabled = True
        names = ", ".join(obj.name for obj in objects)
        said = f"{names} {'is a soft body' if len(objects) == 1 else 'are soft bodies'} now."
        if is_first and _lower_ground(context, objects):
            height = context.scene.supple.ground_height * metres_per_unit(context.scene)
            said += f" The ground was lowered to {height:.3g} m, where it touches."
        self.report({"INFO"}, said)
        if not bpy.app.background:
            standby.prepare()
        return {"FINISHED"}


def _candidates(context: bpy.types.Context) -> list[bpy.types.Object]:
    return [
        obj
        for obj in context.selected_objects
        if obj.type == "MESH"
        and obj.is_editable
        and not is_soft_body(obj)
        and not obj.supple.is_preview
    ]


def _lower_ground(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> bool:
    """Puts the ground under bodies that were modelled below it; False when none was."""
    own = context.scene.supple
    if not own.use_ground:
        return False
    depsgraph = context.evaluated_depsgraph_get()
    lowest = min(_lowest_point(obj, depsgraph) for obj in objects)
    if not lowest < own.ground_height:
        return False
    own.ground_height = lowest
    return True


def _lowest_point(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> float:
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        points = coordinates(mesh.vertices, len(mesh.vertices))
    finally:
        evaluated.to_mesh_clear()
    heights = transform(world_matrix(obj, depsgraph), points)[:, 2]
    return float(np.min(heights, initial=np.inf, where=np.isfinite(heights)))
