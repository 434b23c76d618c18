# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the material of the active soft body."""

from __future__ import annotations

import bpy

from ...core.scene.paint import PAINTED_SETTINGS
from .. import ids
from ..properties import presets, suited
from ..settings.object import SOURCE, UNPAINTED
from .body import SUPPLE_PT_body
from .sidebar import MaterialPanel, SoftBodySidebar, draw_panel, write


class SUPPLE_PT_material(SoftBodySidebar, bpy.types.Panel):
    bl_label = "Material"
    bl_parent_id = SUPPLE_PT_body.bl_idname

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        text = presets.label(props) or "Preset"
        layout.operator_menu_enum(ids.APPLY_PRESET, "preset", text=text, icon="PRESET")
        row = layout.split(factor=0.3)  # the names of models are long
        row.label(text="Model")
        row.prop(props, "model", text="")
        draw_panel(layout, props, "material top")
        text, is_problem = suited.sag_message(context.scene, context.object)
        if text:
            write(layout, context, text, icon="ERROR" if is_problem else "INFO")
        if not props.jiggle_group:  # whose stiffness suits its speed
            layout.operator(ids.SUIT_YOUNG)
        draw_panel(layout, props, "material")


class SUPPLE_PT_volume_and_damping(MaterialPanel, bpy.types.Panel):
    bl_label = "Volume and Damping"
    panel = "volume and damping"


class SUPPLE_PT_plasticity(MaterialPanel, bpy.types.Panel):
    bl_label = "Plasticity"

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.object.supple, "use_plasticity", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.use_plasticity
        draw_panel(layout, props, "plasticity")
        if props.use_plasticity and (text := suited.slump_message(context.scene, context.object)):
            write(layout, context, text, icon="INFO")


class SUPPLE_PT_paint(MaterialPanel, bpy.types.Panel):
    bl_label = "Paint"

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
