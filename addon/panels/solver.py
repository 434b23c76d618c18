# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on quality, frames, cache, recorded fields and render farms."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ...core.results import RESULTS
from ...core.scene.integrator_table import INTEGRATORS
from .. import ids, preferences
from ..cache import packed_frames, scene_cache
from ..cache_folder import check_reachable
from ..capture.objects import is_soft_body, soft_bodies
from ..farm_formats import FLAMENCO
from ..operators.presets import SUPPLE_PT_quality_presets
from ..playback import fields
from ..playback.fields import described_range, find_view, shown_name
from ..reports import ignored
from .base import ScenePanel, aligned, draw_panel, draw_settings, write


class SUPPLE_PT_solver(ScenePanel):
    bl_label = "Solver"
    is_closed = False
    guide = "reference#simulation"
    presets = SUPPLE_PT_quality_presets

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene, obj = self.layout, context.scene, context.object
        props = scene.supple
        if is_soft_body(obj):
            draw_panel(layout, obj.supple, "solver")
            if obj.supple.bending_report:
                write(layout, context, obj.supple.bending_report, icon="INFO")
        draw_panel(layout, props, "solver top")
        draw_settings(layout, props, "use_scene_range")
        if props.use_scene_range:
            column = aligned(layout).column(align=True)
            column.prop(scene, "frame_start", text="Start")
            column.prop(scene, "frame_end", text="End")
        else:
            draw_settings(layout, props, "frame_start", "frame_end")
        draw_panel(layout, props, "solver")


class SUPPLE_PT_solver_advanced(ScenePanel):
    bl_label = "Advanced"
    parent = SUPPLE_PT_solver
    guide = "reference#simulation"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, props = self.layout, context.object, context.scene.supple
        if is_soft_body(obj):
            draw_settings(layout, obj.supple, "mesh_method")
            layout.operator(ids.SUIT_RESOLUTION)
            layout.operator(ids.TETRAHEDRALIZE, icon="MESH_ICOSPHERE")
        layout.label(text="All Soft Bodies")
        draw_settings(layout, props, "integrator")
        if INTEGRATORS[props.integrator].is_adaptive:
            draw_settings(layout, props, "step_tolerance")
        draw_panel(layout, props, "solver advanced")


class SUPPLE_PT_cache(ScenePanel):
    bl_label = "Cache"
    parent = SUPPLE_PT_solver
    guide = "reference#cache"

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene = self.layout, context.scene
        draw_settings(layout, scene.supple, "cache_folder")
        write(layout, context, _cache_path(scene))
        if note := packed_frames.travel_note([scene]):
            write(layout, context, note, icon="INFO")
        layout.operator(ids.PACK_FRAMES, icon="PACKAGE")
        draw_settings(layout, scene.supple, "stop_renders")


def _cache_path(scene: bpy.types.Scene) -> str:
    try:
        folder = scene_cache.root(scene)
        check_reachable(folder)
        return str(folder)
    except SuppleError as error:
        return str(error)


class SUPPLE_PT_fields(ScenePanel):
    bl_label = "Recorded Fields"
    parent = SUPPLE_PT_solver
    guide = "reference#recorded-fields"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        layout.label(text="Record")
        column = layout.column(align=True)
        for name in RESULTS:
            _draw_tick(column, context, name)
        layout.label(text="Show")
        layout.prop(props, "field", text="")
        row = layout.row(align=True)
        row.operator(ids.SHOW_FIELD, icon="HIDE_OFF")
        row.operator(ids.HIDE_FIELD, icon="HIDE_ON")
        bodies = soft_bodies(context)
        if bodies and (reason := fields.why_not_shown(bodies, props.field)):
            write(layout, context, reason, icon="INFO")
        view = next(filter(None, map(find_view, context.scene.objects)), None)
        if view is None:
            return
        write(layout, context, described_range(shown_name(view)), icon="COLOR")
        if fields.problem:
            write(layout, context, fields.problem, icon="ERROR")


class SUPPLE_PT_farm(ScenePanel):
    bl_label = "Render Farm"
    parent = SUPPLE_PT_solver
    guide = "user_guide#render-on-a-farm"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        draw_panel(layout, props, "farm")
        if props.farm == FLAMENCO:
            if (chosen := preferences.find()) is not None:
                # The whole name does not fit beside the field.
                aligned(layout).prop(chosen, "flamenco_manager", text="Manager")
            layout.operator(ids.COPY_JOB_TYPE, icon="COPYDOWN")
        layout.operator(ids.SUBMIT, icon="EXPORT")


def _draw_tick(layout: bpy.types.UILayout, context: bpy.types.Context, name: str) -> None:
    props, reason = context.scene.supple, ignored.why_unrecorded(context, name)
    row = layout.row()
    # One that is ticked can always be unticked.
    row.enabled = not reason or name in props.results
    row.prop(props, f"record_{name}")
    if reason:
        write(layout, context, reason, icon="INFO")
