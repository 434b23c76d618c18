# SPDX-License-Identifier: GPL-3.0-or-later
"""What is recorded of a simulation besides shapes, and shown in colours."""

from __future__ import annotations

import bpy

from ...core.results import RESULTS
from .. import ids
from ..capture.objects import soft_bodies
from ..playback import fields
from ..playback.field_material import described_range, find_view, shown_name
from ..reports import unrecorded
from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, write


class SUPPLE_PT_fields(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_fields"
    bl_label = "Recorded Fields"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        layout.label(text="Record")
        column = layout.column(align=True)
        for name in RESULTS:
            _draw_tick(column, context, name)
        layout.label(text="Show")
        layout.prop(props, "field", text="")
        row = layout.row(align=True)
        row.operator(ids.SHOW_FIELD, icon="HIDE_OFF")
        row.operator(ids.HIDE_FIELD, icon="HIDE_ON")
        bodies = soft_bodies(context)
        if bodies and (reason := fields.why_not_shown(bodies, props.field)):
            write(layout, context, reason, icon="INFO")
        view = next(filter(None, map(find_view, context.scene.objects)), None)
        if view is None:
            return
        write(layout, context, described_range(shown_name(view)), icon="COLOR")
        if fields.problem:
            write(layout, context, fields.problem, icon="ERROR")


def _draw_tick(layout: bpy.types.UILayout, context: bpy.types.Context, name: str) -> None:
    props, reason = context.scene.supple, unrecorded.why(context, name)
    row = layout.row()
    # One that is ticked can always be unticked.
    row.enabled = not reason or name in props.results
    row.prop(props, f"record_{name}")
    if reason:
        write(layout, context, reason, icon="INFO")
