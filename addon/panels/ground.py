# SPDX-License-Identifier: GPL-3.0-or-later
"""The level ground that soft bodies land on."""

from __future__ import annotations

import bpy

from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_panel


class SUPPLE_PT_ground(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_ground"
    bl_label = "Ground"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.supple, "use_ground", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        layout.active = props.use_ground
        draw_panel(layout, props, "ground")
