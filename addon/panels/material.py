# SPDX-License-Identifier: GPL-3.0-or-later
"""What the active soft body is made of."""

from __future__ import annotations

import bpy

from .. import ids
from ..properties import presets, suited
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel, write


class SUPPLE_PT_material(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_material"
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
