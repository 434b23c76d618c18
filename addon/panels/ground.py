# SPDX-License-Identifier: GPL-3.0-or-later
"""What soft bodies land on."""

from __future__ import annotations

import bpy

from .sidebar import Sidebar


class SUPPLE_PT_ground(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_ground"
    bl_label = "Ground"
    bl_parent_id = "SUPPLE_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.supple, "use_ground", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.scene.supple
        layout.use_property_split = True
        layout.active = own.use_ground
        layout.prop(own, "ground_height")
        layout.prop(own, "ground_friction")
        layout.prop(own, "ground_response")
        if own.ground_response == "projection":
            layout.prop(own, "ground_restitution")
            layout.prop(own, "ground_penalty")
