# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the active soft body differs from place to place."""

from __future__ import annotations

import bpy

from ...core.scene.paint import PAINTED_SETTINGS
from .. import ids
from ..capture.paint import SOURCE, UNPAINTED
from .material import SUPPLE_PT_material
from .sidebar import SoftBodySidebar


class SUPPLE_PT_paint(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_paint"
    bl_label = "Paint"
    bl_parent_id = SUPPLE_PT_material.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        overlay = layout.column()
        overlay.use_property_split, overlay.use_property_decorate = True, False
        overlay.prop(context.scene.supple, "paint_overlay", icon="OVERLAY")
        for setting in PAINTED_SETTINGS:
            source = SOURCE.format(setting)
            column = layout.column(align=True)
            row = column.split(factor=0.48, align=True)
            row.label(text=props.bl_rna.properties[source].name)
            row = row.row(align=True)
            row.prop(props, source, text="", icon="BRUSH_DATA")
            if getattr(props, source):
                row.operator(ids.SHOW_PAINT, text="", icon="HIDE_OFF").setting = setting
                column.prop(props, UNPAINTED.format(setting))
