# SPDX-License-Identifier: GPL-3.0-or-later
"""What of Blender's force fields does not act on soft bodies."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..animated import animated_paths
from ..capture.force_fields import CHOICES, KINDS, SHAPES, acts
from ..capture.objects import is_soft_body


def messages(context: bpy.types.Context) -> Iterator[str]:
    """One for each field, with its cure."""
    for obj in context.view_layer.objects:
        yield from _of_particles(obj)
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
            yield from _of_acting(obj)
        elif field.type not in KINDS:
            yield _of_unknown(obj)


def _of_acting(obj: bpy.types.Object) -> Iterator[str]:
    yield from _animations(obj)
    field = obj.field
    if field.shape not in SHAPES:
        yield (
            f"{obj.name}: soft bodies feel its force field from its origin, whatever its shape: "
            f"{_label(field, 'shape')} is ignored. Choose Point, Line or Plane."
        )
    if field.use_absorption:
        yield (
            f"{obj.name}: the Absorption of its force field is ignored: nothing that stands in the "
            "way shields soft bodies. Untick it."
        )
    if field.noise > 0.0:
        yield (
            f"{obj.name}: the Noise of its force field comes in gusts, one a frame for all that it "
            "blows at. Set it to 0 for none."
        )


def _animations(obj: bpy.types.Object) -> Iterator[str]:
    moving = animated_paths(obj)
    for name in CHOICES:
        if f"field.{name}" in moving:
            label = obj.field.bl_rna.properties[name].name
            yield (
                f"{obj.name}: the animation of {label} of its force field is ignored; what it is "
                "at the first frame counts throughout. Key its strength instead."
            )


def _of_unknown(obj: bpy.types.Object) -> str:
    field, kind = obj.field, _label(obj.field, "type")
    lacks = {"FLUID_FLOW": field.source_object, "TEXTURE": field.texture}
    if field.type in lacks and lacks[field.type] is None:
        source = "Domain Object" if field.type == "FLUID_FLOW" else "Texture"
        return (
            f"{obj.name}: its force field {kind} has no {source}, and would not act on soft bodies "
            "with one. Choose another type, or hide it."
        )
    return (
        f"{obj.name}: its force field {kind} does not act on soft bodies. Choose another type, or "
        "hide it."
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
