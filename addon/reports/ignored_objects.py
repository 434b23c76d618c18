# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects around soft bodies that act otherwise than they look: fields, colliders and caches."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from .. import driving
from ..animated import animated_paths
from ..capture.force_fields import (
    CHOICES,
    FLOW_CHOICE,
    KINDS,
    SHAPES,
    absorbers,
    acts,
    baked_frames,
    has_absorption,
    is_absorbed,
    why_unread,
)
from ..capture.motion import transform
from ..capture.objects import is_soft_body, shown_colliders, soft_bodies
from ..capture.surfaces import vertex_coordinates
from ..modifiers import is_own
from ..paths import absolute
from ..units import metres_per_unit


def force_fields(context: bpy.types.Context, frames: range) -> Iterator[str]:
    """A message for each force field without its usual effect, with the cure.

    Args:
        frames: that are simulated.
    """
    is_any_absorbed = any(is_absorbed(context.scene, obj) for obj in context.view_layer.objects)
    for obj in context.view_layer.objects:
        yield from _particle_messages(obj)
        if is_any_absorbed and is_soft_body(obj) and has_absorption(obj):
            yield (
                f"{obj.name}: soft bodies do not absorb force fields. Set its Field Absorption "
                "to 0, or use another object."
            )
        field = obj.field
        if field is None or field.type == "NONE":
            continue
        if is_soft_body(obj):
            yield (
                f"{obj.name}: force fields on soft bodies have no effect. Add the force field "
                "to an empty."
            )
        elif not obj.visible_get():
            yield (
                f"{obj.name} has a force field and is hidden, so that it has no effect. Show it."
            )
        elif acts(context.scene, obj):
            yield from _field_messages(context, obj)
            yield from _flow_messages(obj, frames)
        elif field.type not in KINDS:
            yield _unknown_field_message(obj)
        elif field.type == "FLUID_FLOW" and (reason := why_unread(field)):
            yield f"{obj.name}: its force field Fluid Flow {reason}"


def _field_messages(context: bpy.types.Context, obj: bpy.types.Object) -> Iterator[str]:
    yield from _animations(obj)
    field = obj.field
    if field.shape not in SHAPES:
        yield (
            f"{obj.name}: the shape {_label(field, 'shape')} of its force field is ignored, "
            "and the field acts from its origin. Choose Point, Line or Plane."
        )
    if field.use_absorption and not absorbers(context):
        yield (
            f"{obj.name}: no object absorbs its force field. Add Physics › Collision with a "
            "Field Absorption above 0 to an object, or untick Absorption."
        )
    if field.noise > 0.0:
        yield (
            f"{obj.name}: the Noise of its force field is one gust per frame for all bodies. "
            "Set it to 0 to turn it off."
        )


def _flow_messages(obj: bpy.types.Object, frames: range) -> Iterator[str]:
    if obj.field.type != "FLUID_FLOW" or not frames:
        return
    domain = obj.field.source_object
    baked = baked_frames(domain)
    if frames[0] < baked.start or frames[-1] >= baked.stop:
        yield (
            f"{obj.name}: its force field Fluid Flow only acts from frame {baked.start} to "
            f"{baked.stop - 1}, for which {domain.name} is baked. Bake it for the frames "
            f"{frames[0]} to {frames[-1]}."
        )


def _animations(obj: bpy.types.Object) -> Iterator[str]:
    moving = animated_paths(obj)
    for name in (*CHOICES, FLOW_CHOICE):
        if f"field.{name}" in moving:
            label = obj.field.bl_rna.properties[name].name
            yield (
                f"{obj.name}: the animation of {label} of its force field is ignored, and its "
                "value at the first frame is used. Key its strength instead."
            )


def _unknown_field_message(obj: bpy.types.Object) -> str:
    field, kind = obj.field, _label(obj.field, "type")
    if field.type == "TEXTURE" and field.texture is None:
        return (
            f"{obj.name}: its force field {kind} does not act on soft bodies, with or without "
            "a Texture. Choose another type, or hide it."
        )
    reason = ", since textures are not read" if field.type == "TEXTURE" else ""
    return (
        f"{obj.name}: its force field {kind} does not act on soft bodies{reason}. Choose another "
        "type, or hide it."
    )


def _particle_messages(obj: bpy.types.Object) -> Iterator[str]:
    for system in obj.particle_systems:
        fields = (system.settings.force_field_1, system.settings.force_field_2)
        if any(field is not None and field.type != "NONE" for field in fields):
            yield (
                f"{obj.name}: the force fields of its particles {system.name} do not act on "
                "soft bodies. Add a force field to an empty."
            )


def _label(field: bpy.types.FieldSettings, name: str) -> str:
    """The label of a menu's current choice."""
    items = field.bl_rna.properties[name].enum_items
    return str(items[getattr(field, name)].name)


# The height of the ground above a collider that is ignored, as a ratio to the smallest body.
_DEPTH_RATIO = 0.01


def colliders_below_ground(
    context: bpy.types.Context, bodies: list[bpy.types.Object], most_vertices: float
) -> Iterator[str]:
    """A message for each collider below the ground, and for each open one that reaches below.
    Closed solids may stand in the ground.

    Args:
        most_vertices: of a mesh that may be looked at now.
    """
    props, unit = context.scene.supple, metres_per_unit(context.scene)
    if not props.use_ground:
        return
    ground = props.ground_height
    reach = ground - _DEPTH_RATIO * min(max(body.dimensions) for body in bodies)
    for obj in shown_colliders(context):
        if obj.type != "MESH" or _box_heights(obj).min() >= reach:
            continue
        lowest, highest, is_open = _extent(context, obj, most_vertices)
        if highest < reach or (is_open and lowest < reach):
            part = "is" if highest < reach else "goes"
            yield (
                f"{obj.name}: the collider {part} below the ground, down to "
                f"{unit * lowest:.3g} m, and bodies land on the ground at {unit * ground:.3g} "
                "m first. Lower the Height of the ground, or untick Ground."
            )


def _box_heights(obj: bpy.types.Object) -> NDArray[np.float64]:
    """Return the (8,) heights of the corners of an object's bounding box, in Blender units."""
    return transform(np.array(obj.matrix_world), np.array(obj.bound_box))[:, 2]


def _extent(
    context: bpy.types.Context, obj: bpy.types.Object, most_vertices: float
) -> tuple[float, float, bool]:
    """Its lowest and highest point in Blender units, as Blender shows it now, and whether its
    surface has an edge."""
    depsgraph = context.view_layer.depsgraph
    mesh = None if depsgraph is None else obj.evaluated_get(depsgraph).data
    if mesh is None or len(mesh.vertices) > most_vertices:
        corners = _box_heights(obj)
        return float(corners.min()), float(corners.max()), False
    heights = transform(np.array(obj.matrix_world), vertex_coordinates(mesh))[:, 2]
    edges = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("edge_index", edges)
    is_open = bool((np.bincount(edges, minlength=1) == 1).any())
    return float(heights.min()), float(heights.max()), is_open


# The headers of files for Mesh Cache: PC2 has its mark, a version and the number of points, MDD the
# numbers of frames and points.
_PC2, _PC2_MARK = struct.Struct("<12sii"), b"POINTCACHE2\0"
_MDD = struct.Struct(">ii")


def missing_caches(context: bpy.types.Context) -> Iterator[str]:
    """A message for each modifier or constraint without its file."""
    bodies, colliders = soft_bodies(context), shown_colliders(context)
    for obj in bodies:
        acting = [each for each in driving.drivers(obj) if driving.is_shown(obj, each)]
        yield from _modifier_messages(obj, acting, len(obj.data.vertices))
    for obj in colliders:
        acting = [each for each in obj.modifiers if each.show_viewport and not is_own(each)]
        yield from _modifier_messages(obj, acting, None)
    carriers = [carrier for obj in (*bodies, *colliders) for carrier in _ancestry(obj)]
    for carrier in dict.fromkeys(carriers):
        for each in carrier.constraints:
            is_on = each.type == "TRANSFORM_CACHE" and each.enabled
            if is_on and (reason := _why_no_sequence(each)):
                yield (f"{carrier.name}: the constraint {each.name} has no effect, since {reason}")


def _ancestry(obj: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object and its parents."""
    while obj is not None:
        yield obj
        obj = obj.parent


def _modifier_messages(
    obj: bpy.types.Object, modifiers: list[bpy.types.Modifier], points: int | None
) -> Iterator[str]:
    """Yield messages about modifiers that have no effect.

    Args:
        points: that each modifier finds; None where that is not known.
    """
    for each in modifiers:
        reason = ""
        if each.type == "MESH_CACHE":
            reason = _why_no_points(each, _path(obj, each.filepath), points)
        elif each.type == "MESH_SEQUENCE_CACHE":
            reason = _why_no_sequence(each)
        if reason:
            yield f"{obj.name}: the modifier {each.name} has no effect, since {reason}"


def _why_no_points(modifier: bpy.types.Modifier, path: Path, points: int | None) -> str:
    """Why a Mesh Cache modifier has none, and the cure; empty where it has."""
    if not modifier.filepath:
        return "no file is chosen. Choose one, or remove it."
    layout = _MDD if modifier.cache_format == "MDD" else _PC2
    try:
        with path.open("rb") as file:
            head = file.read(layout.size)
    except OSError:
        return _missing_file_reason(path)
    is_whole = len(head) == layout.size
    if not is_whole or (layout is _PC2 and not head.startswith(_PC2_MARK)):
        return f"{path} is not a {modifier.cache_format} file. Choose another file or format."
    count = layout.unpack(head)[-1]
    if points is not None and count != points:
        return (
            f"{path} has {count} points and the mesh {points} vertices. Choose the file of this "
            "mesh."
        )
    return ""


def _why_no_sequence(user: bpy.types.Modifier | bpy.types.Constraint) -> str:
    """The reason why an Alembic or USD object is missing, and the cure; empty where it is there."""
    cache = user.cache_file
    if cache is None or not cache.filepath:
        return "no file is chosen. Choose one, or remove it."
    path = _path(cache, cache.filepath)
    if not path.is_file():
        return _missing_file_reason(path)
    # Blender knows them once it has read the file.
    inside = [each.path for each in cache.object_paths]
    if not user.object_path or (inside and user.object_path not in inside):
        return f"{path} has no object {user.object_path!r}. Choose one under Object Path."
    return ""


def _path(owner: bpy.types.ID, path: str) -> Path:
    return absolute(path, library=owner.library)


def _missing_file_reason(path: Path) -> str:
    return f"its file {path} is missing. Restore it, choose another file, or remove it."
