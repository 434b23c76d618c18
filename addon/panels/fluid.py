# SPDX-License-Identifier: GPL-3.0-or-later
"""The fluid at rest that soft bodies float in."""

from __future__ import annotations

import bpy

from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_panel


class SUPPLE_PT_fluid(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_fluid"
    bl_label = "Fluid"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.supple, "use_fluid", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        layout.active = props.use_fluid
        draw_panel(layout, props, "fluid")
