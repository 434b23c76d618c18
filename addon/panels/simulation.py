# SPDX-License-Identifier: GPL-3.0-or-later
"""How the scene is simulated."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ..cache import packed_frames, scene_cache
from ..cache_folder import check_reachable
from ..capture.integrators import is_adaptive
from .latest_run import latest_report
from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_settings, write


class SUPPLE_PT_simulation(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_simulation"
    bl_label = "Simulation"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene, props = self.layout, context.scene, context.scene.supple
        layout.prop(props, "use_scene_range")
        if props.use_scene_range:
            column = layout.column(align=True)
            column.use_property_split, column.use_property_decorate = True, False
            column.prop(scene, "frame_start", text="Start")
            column.prop(scene, "frame_end", text="End")
        else:
            draw_settings(layout, props, "frame_start", "frame_end")
        draw_settings(layout, props, "pre_roll", "time_scale", "integrator")
        if is_adaptive(props.integrator):
            draw_settings(layout, props, "step_tolerance")
        draw_settings(
            layout, props, "substeps", "motion_samples", "device", "precision", "cache_folder"
        )
        write(layout, context, _cache_path(scene))
        if note := packed_frames.travel_note([scene]):
            write(layout, context, note, icon="INFO")
        draw_settings(layout, props, "stop_renders")
        if steps := latest_report(scene).steps:
            write(layout, context, steps, icon="INFO")


def _cache_path(scene: bpy.types.Scene) -> str:
    try:
        folder = scene_cache.root(scene)
        check_reachable(folder)
        return str(folder)
    except SuppleError as error:
        return str(error)
