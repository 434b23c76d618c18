# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove Soft Body."""

from __future__ import annotations

import bpy

from .. import ids
from ..capture.objects import is_soft_body
from ..named import named
from ..playback import fields, mesh_cache, smooth


class SUPPLE_OT_remove(bpy.types.Operator):
    """Make the selected soft bodies ordinary meshes again. Baked shape keys stay"""

    bl_idname = ids.REMOVE
    bl_label = "Remove Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(is_soft_body(obj) for obj in context.selected_objects):
            cls.poll_message_set("Select a soft body.")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        objects = [obj for obj in context.selected_objects if is_soft_body(obj)]
        for obj in objects:
            fields.hide(obj)
            mesh_cache.detach(obj)
            smooth.update(obj)
            obj.supple.enabled = False
        self.report({"INFO"}, f"No soft body any more: {named(objects)}.")
        return {"FINISHED"}
