# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recorded of a simulation besides shapes, and shown in colours."""

from __future__ import annotations

import bpy

from .. import ids
from ..playback import fields
from ..playback.field_material import described_range, find_view, shown_name
from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_settings, write


class SUPPLE_PT_fields(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_fields"
    bl_label = "Recorded Fields"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        draw_settings(layout, props, "results")
        layout.prop(props, "field", text="")
        row = layout.row(align=True)
        row.operator(ids.SHOW_FIELD, icon="HIDE_OFF")
        row.operator(ids.HIDE_FIELD, icon="HIDE_ON")
        view = next(filter(None, map(find_view, context.scene.objects)), None)
        if view is None:
            return
        write(layout, context, described_range(shown_name(view)), icon="COLOR")
        if fields.problem:
            write(layout, context, fields.problem, icon="ERROR")
