# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on pins, jiggle and attachments of the active soft body."""

from __future__ import annotations

import bpy

from .. import driving, ids
from ..capture.attachments import is_stitch
from ..reports import ignored
from .base import SoftBodyPanel, aligned, draw_panel, draw_settings, write


class SUPPLE_PT_pins(SoftBodyPanel):
    bl_label = "Pins and Jiggle"
    guide = "reference#pins"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        draw_settings(layout, obj.supple, "pin_group")
        # Jiggling bodies have goals of their own.
        if not obj.supple.jiggle_group and ignored.has_partial_weights(obj, obj.supple.pin_group):
            draw_panel(layout, obj.supple, "goals")
        if obj.supple.pin_group:
            draw_panel(layout, obj.supple, "pins")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")
        if len(obj.vertex_groups) == 0:
            write(layout, context, "To pin, assign vertices to a vertex group.", icon="INFO")


class SUPPLE_PT_jiggle(SoftBodyPanel):
    bl_label = "Jiggle"
    parent, is_closed = SUPPLE_PT_pins, True
    guide = "reference#jiggle"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        aligned(layout).prop_search(obj.supple, "jiggle_group", obj, "vertex_groups", text="Group")
        if obj.supple.jiggle_group:
            draw_panel(layout, obj.supple, "jiggle")


class SUPPLE_PT_attach(SoftBodyPanel):
    bl_label = "Attach"
    parent, is_closed = SUPPLE_PT_pins, True
    guide = "reference#attach"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
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
    """Draw the settings of one attachment; most of them once there is an object."""
    column = aligned(layout)
    column.prop(row, "attach_to")
    if row.attach_to is None:
        return
    column.prop(row, "attach_as")
    column.prop_search(row, "attach_group", obj, "vertex_groups", text="Group")
    if is_stitch(row):
        column.prop_search(row, "stitch_group", row.attach_to, "vertex_groups")
        draw_settings(layout, row, "closed")
    draw_settings(layout, row, "attached", "attach_force")
