# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the active soft body."""

from __future__ import annotations

import bpy

from .. import driving, ids, runs
from ..capture.attachments import is_stitch
from ..capture.contact import is_possible
from ..driving import keeps_vertices
from ..fits import fit_run
from ..fits.table import TOOLS
from ..playback import refined_frames
from ..reports import ignored
from ..translations import translated
from .sidebar import BodyPanel, SoftBodySidebar, draw_panel, draw_settings, write


class SUPPLE_PT_body(SoftBodySidebar, bpy.types.Panel):
    bl_label = ""  # the header names the body

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.label(text=translated(f"Body: {context.object.name}"))

    def draw(self, context: bpy.types.Context) -> None:
        draw_settings(self.layout, context.object.supple, "resolution")


class SUPPLE_PT_pins(SoftBodySidebar, bpy.types.Panel):
    bl_label = "Pins"
    bl_parent_id = SUPPLE_PT_body.bl_idname

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop_search(obj.supple, "pin_group", obj, "vertex_groups")
        # Jiggling bodies have goals of their own.
        if not obj.supple.jiggle_group and ignored.has_partial_weights(obj, obj.supple.pin_group):
            draw_panel(layout, obj.supple, "goals")
        if obj.supple.pin_group:
            draw_panel(layout, obj.supple, "pins")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")
        if len(obj.vertex_groups) == 0:
            write(layout, context, "To pin, assign vertices to a vertex group.", icon="INFO")


class SUPPLE_PT_jiggle(BodyPanel, bpy.types.Panel):
    bl_label = "Jiggle"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop_search(obj.supple, "jiggle_group", obj, "vertex_groups", text="Group")
        if not obj.supple.jiggle_group:
            return
        draw_panel(layout, obj.supple, "jiggle")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")


class SUPPLE_PT_attach(BodyPanel, bpy.types.Panel):
    bl_label = "Attach"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        _draw_row(layout, obj, obj.supple)
        for index, row in enumerate(obj.supple.attachments):
            box = layout.box()
            remove = box.operator(ids.REMOVE_ATTACHMENT, text="Remove", icon="REMOVE")
            remove.index = index
            _draw_row(box, obj, row)
        if obj.supple.attach_to is not None:
            layout.operator(ids.ADD_ATTACHMENT, icon="ADD")


def _draw_row(
    layout: bpy.types.UILayout, obj: bpy.types.Object, row: bpy.types.PropertyGroup
) -> None:
    """Draw the settings of one attachment; most of them once there is an object."""
    layout.prop(row, "attach_to")
    if row.attach_to is None:
        return
    layout.prop(row, "attach_as")
    layout.prop_search(row, "attach_group", obj, "vertex_groups", text="Group")
    if is_stitch(row):
        layout.prop_search(row, "stitch_group", row.attach_to, "vertex_groups")
        draw_settings(layout, row, "closed")
    draw_settings(layout, row, "attached", "attach_force")


class SUPPLE_PT_start(BodyPanel, bpy.types.Panel):
    bl_label = "Start"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "start_shape")
        layout.operator(ids.TAKE_START)
        draw_panel(layout, props, "start")


class SUPPLE_PT_find(BodyPanel, bpy.types.Panel):
    bl_label = "Goals"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        for name, tool in TOOLS.items():
            box = layout.box()
            box.operator(ids.FIND, text=tool.label, icon=tool.icon).tool = name
            for setting in tool.settings:
                if setting.endswith("_group"):
                    column = box.column()
                    column.use_property_split, column.use_property_decorate = True, False
                    column.prop_search(obj.supple, setting, obj, "vertex_groups")
                else:
                    draw_settings(box, obj.supple, setting)
            if control_label := tool.control_label(obj):
                row = box.row()
                row.label(text=translated(control_label), icon="CHECKMARK")
                row.operator(ids.REMOVE_CONTROL, icon="X")
        outcome = fit_run.latest
        if runs.current is None and outcome is not None and outcome.uid == obj.session_uid:
            fit_run.draw(layout, outcome.losses)
            write(layout, context, outcome.message, icon="INFO")


class SUPPLE_PT_mesh(BodyPanel, bpy.types.Panel):
    bl_label = "Tetrahedra"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.operator(ids.SUIT_RESOLUTION)
        draw_settings(layout, props, "mesh_method")
        layout.operator(ids.TETRAHEDRALIZE, icon="MESH_ICOSPHERE")
        if props.mesh_report:
            layout.label(text=translated(props.mesh_report))
        for report in (props.parts_report, props.bending_report):
            if report:
                write(layout, context, report)


class SUPPLE_PT_surface(BodyPanel, bpy.types.Panel):
    bl_label = "Surface"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_panel(layout, props, "surface")
        touches_others = is_possible(context.scene)
        if touches_others and props.contact_surface == "mesh":
            draw_settings(layout, props, "contact_detail")
        if props.touching_report:
            write(layout, context, props.touching_report)
            if text := _shaping(context):
                write(layout, context, text)


def _shaping(context: bpy.types.Context) -> str:
    """The note on modifiers that act on the simulated frames; empty without any."""
    obj = context.object
    names = [
        modifier.name
        for modifier in driving.refiners(obj)
        if driving.is_shown(obj, modifier) and not keeps_vertices(modifier)
    ]
    if not names:
        return ""
    shown, depsgraph = refined_frames.shown_points(obj), context.view_layer.depsgraph
    if depsgraph and shown == len(obj.evaluated_get(depsgraph).data.vertices):
        return ""
    shapes, it = ("shapes", "it") if len(names) == 1 else ("shape", "them")
    cure = f"Apply {it}" if shown is None else "Simulate again"
    return (
        f"{' and '.join(names)} {shapes} the simulated frames again, so that the visible mesh "
        f"can differ from the surface that collides. {cure} to see that surface."
    )


class SUPPLE_PT_forces(BodyPanel, bpy.types.Panel):
    bl_label = "Forces"
    panel = "forces"


class SUPPLE_PT_result(BodyPanel, bpy.types.Panel):
    bl_label = "Result"
    panel = "result"
