# SPDX-License-Identifier: GPL-3.0-or-later
"""When the active soft body gives way for good."""

from __future__ import annotations

import bpy

from ..properties import suited
from .material import SUPPLE_PT_material
from .sidebar import SoftBodySidebar, draw_panel, write


class SUPPLE_PT_plasticity(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_plasticity"
    bl_label = "Plasticity"
    bl_parent_id = SUPPLE_PT_material.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.object.supple, "use_plasticity", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.use_plasticity
        draw_panel(layout, props, "plasticity")
        if props.use_plasticity and (text := suited.slump_message(context.scene, context.object)):
            write(layout, context, text, icon="INFO")
