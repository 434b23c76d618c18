# SPDX-License-Identifier: GPL-3.0-or-later
"""What of Blender's force fields does not act on soft bodies."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..animated import animated_paths
from ..capture.absorbers import absorbers, has_absorption, is_absorbed
from ..capture.fluid_domains import baked_frames, why_unread
from ..capture.force_fields import CHOICES, FLOW_CHOICE, KINDS, SHAPES, acts
from ..capture.objects import is_soft_body


def messages(context: bpy.types.Context, frames: range) -> Iterator[str]:
    """One for each field, with its cure.

    Args:
        frames: that are simulated.
    """
    is_any_absorbed = any(is_absorbed(context.scene, obj) for obj in context.view_layer.objects)
    for obj in context.view_layer.objects:
        yield from _of_particles(obj)
        if is_any_absorbed and is_soft_body(obj) and has_absorption(obj):
            yield (
                f"{obj.name}: a soft body absorbs no force field. Give the Field Absorption to "
                "another object, or set it to 0."
            )
        field = obj.field
        if field is None or field.type == "NONE":
            continue
        if is_soft_body(obj):
            yield (
                f"{obj.name}: the force field of a soft body does not act. Give one to an empty."
            )
        elif not obj.visible_get():
            yield f"{obj.name} has a force field and is hidden, so it does not act. Show it."
        elif acts(context.scene, obj):
            yield from _of_acting(context, obj)
            yield from _of_flow(obj, frames)
        elif field.type not in KINDS:
            yield _of_unknown(obj)
        elif field.type == "FLUID_FLOW" and (reason := why_unread(field)):
            yield f"{obj.name}: its force field Fluid Flow {reason}"


def _of_acting(context: bpy.types.Context, obj: bpy.types.Object) -> Iterator[str]:
    yield from _animations(obj)
    field = obj.field
    if field.shape not in SHAPES:
        yield (
            f"{obj.name}: soft bodies feel its force field from its origin, whatever its shape: "
            f"{_label(field, 'shape')} is ignored. Choose Point, Line or Plane."
        )
    if field.use_absorption and not absorbers(context):
        yield (
            f"{obj.name}: nothing absorbs its force field. Give what shall stand in the way "
            "Physics › Collision with a Field Absorption above 0, or untick Absorption."
        )
    if field.noise > 0.0:
        yield (
            f"{obj.name}: the Noise of its force field comes in gusts, one a frame for all that it "
            "blows at. Set it to 0 for none."
        )


def _of_flow(obj: bpy.types.Object, frames: range) -> Iterator[str]:
    if obj.field.type != "FLUID_FLOW" or not frames:
        return
    domain = obj.field.source_object
    baked = baked_frames(domain)
    if frames[0] < baked.start or frames[-1] >= baked.stop:
        yield (
            f"{obj.name}: its force field Fluid Flow acts from frame {baked.start} to "
            f"{baked.stop - 1} alone, for which the fluid in {domain.name} is baked. Bake it for "
            f"the frames {frames[0]} to {frames[-1]}."
        )


def _animations(obj: bpy.types.Object) -> Iterator[str]:
    moving = animated_paths(obj)
    for name in (*CHOICES, FLOW_CHOICE):
        if f"field.{name}" in moving:
            label = obj.field.bl_rna.properties[name].name
            yield (
                f"{obj.name}: the animation of {label} of its force field is ignored; what it is "
                "at the first frame counts throughout. Key its strength instead."
            )


def _of_unknown(obj: bpy.types.Object) -> str:
    field, kind = obj.field, _label(obj.field, "type")
    if field.type == "TEXTURE" and field.texture is None:
        return (
            f"{obj.name}: its force field {kind} has no Texture, and would not act on soft bodies "
            "with one. Choose another type, or hide it."
        )
    reason = ": textures are not read" if field.type == "TEXTURE" else ""
    return (
        f"{obj.name}: its force field {kind} does not act on soft bodies{reason}. Choose another "
        "type, or hide it."
    )


def _of_particles(obj: bpy.types.Object) -> Iterator[str]:
    for system in obj.particle_systems:
        fields = (system.settings.force_field_1, system.settings.force_field_2)
        if any(field is not None and field.type != "NONE" for field in fields):
            yield (
                f"{obj.name}: the force fields of its particles {system.name} do not act on soft "
                "bodies. Give one to an empty."
            )


def _label(field: bpy.types.FieldSettings, name: str) -> str:
    """Of a menu's present choice, as Blender shows it."""
    items = field.bl_rna.properties[name].enum_items
    return str(items[getattr(field, name)].name)
