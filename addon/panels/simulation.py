# SPDX-License-Identifier: GPL-3.0-or-later
"""How the scene is simulated."""

from __future__ import annotations

import bpy

from .sidebar import Sidebar


class SUPPLE_PT_simulation(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_simulation"
    bl_label = "Simulation"
    bl_parent_id = "SUPPLE_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene, own = self.layout, context.scene, context.scene.supple
        layout.use_property_split = True
        layout.prop(own, "use_scene_range")
        column = layout.column(align=True)
        if own.use_scene_range:
            column.prop(scene, "frame_start", text="Start")
            column.prop(scene, "frame_end", text="End")
        else:
            column.prop(own, "frame_start")
            column.prop(own, "frame_end")
        layout.prop(own, "integrator")
        layout.prop(own, "substeps")
        layout.prop(own, "device")
        layout.prop(own, "precision")
        layout.prop(own, "cache_folder")
