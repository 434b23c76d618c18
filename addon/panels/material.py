# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the material of the active soft body."""

from __future__ import annotations

import bpy

from ...core.scene.paint import PAINTED_SETTINGS
from .. import ids
from ..operators.presets import SUPPLE_PT_material_presets
from ..properties import presets, suited
from ..remembered import remembered
from ..settings.object import SOURCE, UNPAINTED
from .base import SoftBodyPanel, aligned, draw_panel, write


class SUPPLE_PT_material(SoftBodyPanel):
    bl_label = "Material"
    guide = "reference#material"
    presets = SUPPLE_PT_material_presets

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, props = self.layout, context.object, context.object.supple
        label = remembered(context, ("preset", obj.session_uid), lambda: presets.label(props))
        layout.operator_menu_enum(ids.APPLY_PRESET, "preset", text=label or "Preset", icon="PRESET")
        draw_panel(layout, props, "material top")
        key = ("sag", obj.session_uid)
        text, is_problem = remembered(context, key, lambda: suited.sag_message(context.scene, obj))
        if text:
            write(layout, context, text, icon="ERROR" if is_problem else "INFO")
        if not props.jiggle_group:  # whose stiffness suits its speed
            layout.operator(ids.SUIT_YOUNG)
        draw_panel(layout, props, "material")


class SUPPLE_PT_plasticity(SoftBodyPanel):
    bl_label = "Plasticity"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#plasticity"

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.object.supple, "use_plasticity", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.use_plasticity
        draw_panel(layout, props, "plasticity")
        if props.use_plasticity and (text := suited.slump_message(context.scene, context.object)):
            write(layout, context, text, icon="INFO")


class SUPPLE_PT_paint(SoftBodyPanel):
    bl_label = "Paint"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#paint"

    def draw(self, context: bpy.types.Context) -> None:
        column, props = aligned(self.layout), context.object.supple
        column.prop(context.scene.supple, "paint_overlay", icon="OVERLAY")
        for setting in PAINTED_SETTINGS:
            source = SOURCE.format(setting)
            row = column.row(align=True)
            row.prop(props, source, icon="BRUSH_DATA")
            if getattr(props, source):
                row.operator(ids.SHOW_PAINT, text="", icon="HIDE_OFF").setting = setting
                column.prop(props, UNPAINTED.format(setting))


class SUPPLE_PT_material_advanced(SoftBodyPanel):
    bl_label = "Advanced"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#advanced-material"
    panel = "material advanced"
