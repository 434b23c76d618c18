# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the scene: ground, fluid, contact, force fields, frames and recorded fields."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from ...core.results import RESULTS
from .. import ids, preferences
from ..cache import packed_frames, scene_cache
from ..cache_folder import check_reachable
from ..capture.contact import is_possible
from ..capture.force_fields import absorbers, acting_fields
from ..capture.integrators import is_adaptive
from ..capture.objects import can_collide, soft_bodies
from ..farm_formats import FLAMENCO
from ..playback import fields
from ..playback.fields import described_range, find_view, shown_name
from ..reports import ignored
from ..translations import translated
from .main import latest_report
from .sidebar import ScenePanel, Sidebar, TickedScenePanel, draw_panel, draw_settings, write


class SUPPLE_PT_scene(Sidebar, bpy.types.Panel):
    bl_label = "Scene"

    def draw(self, context: bpy.types.Context) -> None:
        pass


class SUPPLE_PT_collider(Sidebar, bpy.types.Panel):
    bl_label = ""  # the header names the object

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return can_collide(context.object)

    def draw_header(self, context: bpy.types.Context) -> None:
        obj = context.object
        self.layout.prop(obj.supple, "collider", text=translated(f"Collider: {obj.name}"))

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.collider
        touching = is_possible(context.scene)
        draw_panel(layout, props, "collider")
        draw_panel(layout, props, "mesh collider" if touching else "sphere collider")


class SUPPLE_PT_ground(TickedScenePanel, bpy.types.Panel):
    bl_label = "Ground"
    panel, tick = "ground", "use_ground"


class SUPPLE_PT_fluid(TickedScenePanel, bpy.types.Panel):
    bl_label = "Fluid"
    panel, tick = "fluid", "use_fluid"


class SUPPLE_PT_contact(ScenePanel, bpy.types.Panel):
    bl_label = "Contact"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        # The panel has its name already.
        layout.prop(props, "contact", text="")
        if is_possible(context.scene):
            draw_panel(layout, props, "contact")


class SUPPLE_PT_force_fields(ScenePanel, bpy.types.Panel):
    bl_label = "Force Fields"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        draw_settings(layout, context.scene.supple, "effector_collection")
        names = ", ".join(field.name for field in acting_fields(context))
        write(layout, context, f"Acting: {names}" if names else "No active force fields.")
        if absorbing := ", ".join(obj.name for obj in absorbers(context)):
            write(layout, context, f"Absorbing: {absorbing}")


class SUPPLE_PT_simulation(ScenePanel, bpy.types.Panel):
    bl_label = "Simulation"

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
        draw_settings(layout, props, "substeps", "motion_samples", "device", "cache_folder")
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


class SUPPLE_PT_fields(ScenePanel, bpy.types.Panel):
    bl_label = "Recorded Fields"

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


class SUPPLE_PT_farm(ScenePanel, bpy.types.Panel):
    bl_label = "Render Farm"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        draw_panel(layout, props, "farm")
        if props.farm == FLAMENCO:
            if (chosen := preferences.find()) is not None:
                # The whole name does not fit beside the field.
                layout.prop(chosen, "flamenco_manager", text="Manager")
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
