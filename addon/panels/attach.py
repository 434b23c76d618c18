# SPDX-License-Identifier: GPL-3.0-or-later
"""What the active soft body is attached to."""

from __future__ import annotations

import bpy

from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar


class SUPPLE_PT_attach(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_attach"
    bl_label = "Attach"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(obj.supple, "attach_to")
        column = layout.column(align=True)
        column.active = obj.supple.attach_to is not None
        column.prop_search(obj.supple, "attach_group", obj, "vertex_groups", text="Group")
