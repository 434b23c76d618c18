# SPDX-License-Identifier: GPL-3.0-or-later
"""How the scene is simulated."""

from __future__ import annotations

import bpy

from ..capture import is_soft_body, soft_bodies
from ..integrators import of_bodies, use_tolerance
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
        _draw_integrators(layout, context)
        layout.prop(own, "substeps")
        layout.prop(own, "device")
        layout.prop(own, "precision")
        layout.prop(own, "cache_folder")


def _draw_integrators(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    own = context.scene.supple
    layout.prop(own, "integrator")
    if is_soft_body(context.object):
        layout.prop(context.object.supple, "integrator")
    if use_tolerance(of_bodies(soft_bodies(context), context.scene)):
        layout.prop(own, "step_tolerance")
