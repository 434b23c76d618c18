# SPDX-License-Identifier: GPL-3.0-or-later
"""What the active soft body is attached and stitched to."""

from __future__ import annotations

import bpy

from .. import ids
from ..capture.attachments import is_stitch
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_attach(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_attach"
    bl_label = "Attach"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        _draw_row(layout, obj, obj.supple)
        for index, row in enumerate(obj.supple.attachments):
            box = layout.box()
            remove = box.operator(ids.REMOVE_ATTACHMENT, text="Remove", icon="REMOVE")
            remove.index = index
            _draw_row(box, obj, row)
        if obj.supple.attach_to is not None:
            layout.operator(ids.ADD_ATTACHMENT, icon="ADD")


def _draw_row(
    layout: bpy.types.UILayout, obj: bpy.types.Object, row: bpy.types.PropertyGroup
) -> None:
    """The settings of one attachment; those that say how, once there is an object."""
    layout.prop(row, "attach_to")
    if row.attach_to is None:
        return
    layout.prop(row, "attach_as")
    layout.prop_search(row, "attach_group", obj, "vertex_groups", text="Group")
    if is_stitch(row):
        layout.prop_search(row, "stitch_group", row.attach_to, "vertex_groups")
        draw_settings(layout, row, "closed")
    draw_settings(layout, row, "attached", "attach_force")
