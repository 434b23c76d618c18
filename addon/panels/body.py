# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels of soft bodies and colliders: material, pins, collisions, forces, start and goals."""

from __future__ import annotations

import bpy

from ...core.scene.paint import PAINTED_SETTINGS
from .. import driving, ids, runs
from ..capture.attachments import is_stitch
from ..capture.contact import is_possible
from ..capture.force_fields import absorbers, acting_fields
from ..capture.objects import can_collide, is_soft_body
from ..fits import fit_run
from ..fits.table import TOOLS
from ..operators.presets import SUPPLE_PT_material_presets
from ..properties import material_sets, presets, suited
from ..remembered import remembered
from ..reports import ignored
from ..settings.object import SOURCE, UNPAINTED
from ..translations import translated
from .base import (
    ScenePanel,
    SoftBodyPanel,
    SupplePanel,
    TickedScenePanel,
    aligned,
    draw_panel,
    draw_settings,
    write,
)
from .menus import SUPPLE_MT_material_sets


class SUPPLE_PT_material(SoftBodyPanel):
    bl_label = "Material"
    guide = "reference#material"
    presets = SUPPLE_PT_material_presets

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, props = self.layout, context.object, context.object.supple
        _draw_material_set(layout, context)
        label = remembered(context, ("preset", obj.session_uid), lambda: presets.label(props))
        layout.operator_menu_enum(ids.APPLY_PRESET, "preset", text=label or "Preset", icon="PRESET")
        draw_panel(layout, props, "material top")
        key = ("sag", obj.session_uid)
        text, is_problem = remembered(context, key, lambda: suited.sag_message(context.scene, obj))
        if text:
            write(layout, context, text, icon="ERROR" if is_problem else "INFO")
        if not props.jiggle_group:  # whose stiffness suits its speed
            layout.operator(ids.SUIT_YOUNG)
        draw_panel(layout, props, "material")


def _draw_material_set(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw the menu of sets, and the name and the number of users of the body's own."""
    obj, props = context.object, context.object.supple
    row = layout.row(align=True)
    if not props.material_set:
        row.menu(SUPPLE_MT_material_sets.bl_idname, text="Material Set", icon="MATERIAL")
        return
    key = ("material set", obj.session_uid)
    count = remembered(context, key, lambda: len(material_sets.bodies_of(props.material_set)))
    row.menu(SUPPLE_MT_material_sets.bl_idname, text="", icon="MATERIAL")
    row.prop(props, "material_set_name", text="")
    users = row.row(align=True)
    users.scale_x = 0.35
    users.operator(ids.UNSHARE_MATERIAL, text=str(count), translate=False)
    row.operator(ids.UNSHARE_MATERIAL, text="", icon="X")


class SUPPLE_PT_plasticity(SoftBodyPanel):
    bl_label = "Plasticity"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#plasticity"

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.object.supple, "use_plasticity", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.use_plasticity
        draw_panel(layout, props, "plasticity")
        if props.use_plasticity and (text := suited.slump_message(context.scene, context.object)):
            write(layout, context, text, icon="INFO")


class SUPPLE_PT_paint(SoftBodyPanel):
    bl_label = "Paint"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#paint"

    def draw(self, context: bpy.types.Context) -> None:
        column, props = aligned(self.layout), context.object.supple
        column.prop(context.scene.supple, "paint_overlay", icon="OVERLAY")
        for setting in PAINTED_SETTINGS:
            source = SOURCE.format(setting)
            row = column.row(align=True)
            row.prop(props, source, icon="BRUSH_DATA")
            if getattr(props, source):
                row.operator(ids.SHOW_PAINT, text="", icon="HIDE_OFF").setting = setting
                column.prop(props, UNPAINTED.format(setting))


class SUPPLE_PT_material_advanced(SoftBodyPanel):
    bl_label = "Advanced"
    parent, is_closed = SUPPLE_PT_material, True
    guide = "reference#advanced-material"
    panel = "material advanced"


class SUPPLE_PT_pins(SoftBodyPanel):
    bl_label = "Pins and Jiggle"
    guide = "reference#pins"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        draw_settings(layout, obj.supple, "pin_group")
        # Jiggling bodies have goals of their own.
        if not obj.supple.jiggle_group and ignored.has_partial_weights(obj, obj.supple.pin_group):
            draw_panel(layout, obj.supple, "goals")
        if obj.supple.pin_group:
            draw_panel(layout, obj.supple, "pins")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")
        if len(obj.vertex_groups) == 0:
            write(layout, context, "To pin, assign vertices to a vertex group.", icon="INFO")


class SUPPLE_PT_jiggle(SoftBodyPanel):
    bl_label = "Jiggle"
    parent, is_closed = SUPPLE_PT_pins, True
    guide = "reference#jiggle"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        aligned(layout).prop_search(obj.supple, "jiggle_group", obj, "vertex_groups", text="Group")
        if obj.supple.jiggle_group:
            draw_panel(layout, obj.supple, "jiggle")


class SUPPLE_PT_attach(SoftBodyPanel):
    bl_label = "Attach"
    parent, is_closed = SUPPLE_PT_pins, True
    guide = "reference#attach"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
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
    column = aligned(layout)
    column.prop(row, "attach_to")
    if row.attach_to is None:
        return
    column.prop(row, "attach_as")
    column.prop_search(row, "attach_group", obj, "vertex_groups", text="Group")
    if is_stitch(row):
        column.prop_search(row, "stitch_group", row.attach_to, "vertex_groups")
        draw_settings(layout, row, "closed")
    draw_settings(layout, row, "attached", "attach_force")


class SUPPLE_PT_collisions(SupplePanel):
    bl_label = "Collisions"
    guide = "reference#colliders"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.scene is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        if is_soft_body(obj):
            draw_panel(layout, obj.supple, "collisions")
        elif can_collide(obj):
            draw_settings(layout, obj.supple, "collider")
            column = layout.column()
            column.active = obj.supple.collider
            draw_panel(column, obj.supple, "collider")
            if is_possible(context.scene):
                draw_panel(column, obj.supple, "mesh collider")
                draw_settings(column, obj.supple, "touches")
            else:
                draw_panel(column, obj.supple, "sphere collider")


class SUPPLE_PT_ground(TickedScenePanel):
    bl_label = "Ground"
    parent = SUPPLE_PT_collisions
    guide = "reference#ground-and-fluid"
    panel, tick = "ground", "use_ground"


class SUPPLE_PT_collisions_advanced(ScenePanel):
    bl_label = "Advanced"
    parent = SUPPLE_PT_collisions
    guide = "reference#contact"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, scene = self.layout, context.object, context.scene
        touches_others = is_possible(scene)
        if is_soft_body(obj):
            draw_panel(layout, obj.supple, "surface")
            if touches_others and obj.supple.contact_surface == "mesh":
                draw_settings(layout, obj.supple, "contact_detail")
            if touches_others:
                draw_settings(layout, obj.supple, "touches")
        layout.label(text="All Soft Bodies")
        draw_settings(layout, scene.supple, "contact")
        if touches_others:
            draw_panel(layout, scene.supple, "contact")


class SUPPLE_PT_forces(SupplePanel):
    bl_label = "Forces"
    is_closed = True
    guide = "reference#forces"

    def draw(self, context: bpy.types.Context) -> None:
        if is_soft_body(context.object):
            draw_panel(self.layout, context.object.supple, "forces")


class SUPPLE_PT_fluid(TickedScenePanel):
    bl_label = "Fluid"
    parent = SUPPLE_PT_forces
    guide = "reference#ground-and-fluid"
    panel, tick = "fluid", "use_fluid"


class SUPPLE_PT_force_fields(ScenePanel):
    bl_label = "Force Fields"
    parent = SUPPLE_PT_forces
    guide = "reference#force-fields"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        draw_settings(layout, context.scene.supple, "effector_collection")
        names = ", ".join(field.name for field in acting_fields(context))
        write(layout, context, f"Acting: {names}" if names else "No active force fields.")
        if absorbing := ", ".join(obj.name for obj in absorbers(context)):
            write(layout, context, f"Absorbing: {absorbing}")


class SUPPLE_PT_start(SoftBodyPanel):
    bl_label = "Start"
    is_closed = True
    guide = "reference#start"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "start_shape")
        layout.operator(ids.TAKE_START)
        draw_panel(layout, props, "start")


class SUPPLE_PT_goals(SoftBodyPanel):
    bl_label = "Goals"
    is_closed = True
    guide = "reference#goals"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        for name, tool in TOOLS.items():
            box = layout.box()
            box.operator(ids.FIND, text=tool.label, icon=tool.icon).tool = name
            draw_settings(box, obj.supple, *tool.settings)
            if control_label := tool.control_label(obj):
                row = box.row()
                row.label(text=translated(control_label), icon="CHECKMARK")
                row.operator(ids.REMOVE_CONTROL, icon="X")
        outcome = fit_run.latest
        if runs.current is None and outcome is not None and outcome.uid == obj.session_uid:
            fit_run.draw(layout, outcome.losses)
            write(layout, context, outcome.message, icon="INFO")
