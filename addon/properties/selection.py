# SPDX-License-Identifier: GPL-3.0-or-later
"""The selected objects that can become soft bodies, and cures for those that cannot."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ..capture.body import linked_reason
from ..capture.motion import transform, world_matrix
from ..capture.objects import is_collider, is_soft_body
from ..capture.surfaces import vertex_coordinates
from ..named import named
from ..settings.object import ATTACHMENT, GROUPS, OBJECT
from ..units import metres_per_unit
from . import suited

# Objects that Blender turns into meshes.
_CONVERTIBLE = {"CURVE": "curve", "SURFACE": "surface", "META": "metaball", "FONT": "text"}
# A body that reaches less far below the ground stands on it, as a ratio to its size.
ROUNDING_RATIO = 1e-6
# The height from which a body falls on the ground, as a ratio to its own, so that it is seen
# falling, pressed flat and wobbling.
DROP_RATIO = 0.5


def candidates(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes that are not soft bodies yet."""
    depsgraph = context.view_layer.depsgraph
    return [
        obj for obj in context.selected_objects if _can_be_soft(obj) and _has_faces(obj, depsgraph)
    ]


def newcomers(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The candidates that a simulation would ignore: colliders are used already."""
    return [obj for obj in candidates(context) if not is_collider(obj)]


def why_none(context: bpy.types.Context) -> str:
    """Return the reason why no selected object can become a soft body, with the cure."""
    obj = context.object
    if obj is not None and obj.type in _CONVERTIBLE:
        kind = _CONVERTIBLE[obj.type]
        return f"{obj.name} is a {kind}, not a mesh. Choose Object › Convert › Mesh first."
    if obj is not None and _can_be_soft(obj) and not obj.visible_get():
        return f"{obj.name} is hidden and cannot be selected. Show it first."
    reasons = (linked_reason(obj) or _why_empty(context, obj) for obj in context.selected_objects)
    return next(filter(None, reasons), "Select a mesh object that is not a soft body yet.")


def make_soft(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> str:
    """Makes meshes soft bodies, the first ones above the ground; the message for the user."""
    is_first = not any(is_soft_body(obj) for obj in context.scene.objects)
    for obj in objects:
        obj.supple.enabled = True
    suited.suit(context, objects)
    suited.refresh(context, context.scene.frame_current)
    names = named(objects, "meshes")
    message = f"{names} {'is a soft body' if len(objects) == 1 else 'are soft bodies'} now."
    if is_first and _lower_ground(context, objects):
        height = context.scene.supple.ground_height * metres_per_unit(context.scene)
        message += f" Lowered the ground to {height:.3g} m."
    return message


def _can_be_soft(obj: bpy.types.Object) -> bool:
    return (
        obj.type == "MESH"
        and obj.is_editable
        and not is_soft_body(obj)
        and not obj.supple.is_preview
    )


def _why_empty(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    if not _can_be_soft(obj) or _has_faces(obj, context.view_layer.depsgraph):
        return ""
    return f"{obj.name} has no faces, and a soft body needs a surface to fill. Add faces first."


def _has_faces(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None) -> bool:
    """Whether its modifiers make or leave any; of a mesh that is being edited that is not known."""
    mesh = obj.data if depsgraph is None else obj.evaluated_get(depsgraph).data
    return obj.mode == "EDIT" or len(mesh.polygons) > 0


def _lower_ground(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> bool:
    """Put the ground half a body's height under bodies that were modelled below it; False when
    none was."""
    props = context.scene.supple
    if not props.use_ground:
        return False
    depsgraph = context.evaluated_depsgraph_get()
    lowest, highest = min(_height_range(obj, depsgraph) for obj in objects)
    size = max(max(obj.dimensions) for obj in objects)
    if not lowest < props.ground_height - ROUNDING_RATIO * size:
        return False
    props.ground_height = lowest - DROP_RATIO * (highest - lowest)
    return True


def _height_range(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[float, float]:
    """The heights of the lowest and of the highest point of a mesh in the world."""
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        points = vertex_coordinates(mesh)
    finally:
        evaluated.to_mesh_clear()
    heights = transform(world_matrix(obj, depsgraph), points)[:, 2]
    heights = heights[np.isfinite(heights)]
    return (float(heights.min()), float(heights.max())) if len(heights) else (np.inf, np.inf)


# Automatic values stay automatic on the other body, and suit its own size.
_AUTOMATIC = ("preset_scale", "suited_young", "suited_viscosity", "suited_bend")
# Settings that follow from others, or belong to one object only.
_OTHERS = ("enabled", "bounciness", "attachments", "material_set")


def copy_settings(source: bpy.types.Object, target: bpy.types.Object) -> None:
    """Give an object all settings of another one. A group that it lacks is left out."""
    settings = source.supple
    if target.type == "MESH":
        target.supple.enabled = settings.enabled
    names = [row.name for row in OBJECT if row.label and row.name not in _OTHERS]
    # Bodies of another material set keep their values.
    target.supple.material_set = ""
    _copy(settings, target.supple, [*names, *_AUTOMATIC], target)
    target.supple.material_set = settings.material_set
    target.supple.suited_to = ""
    target.supple.attachments.clear()
    for row in settings.attachments:
        _copy(row, target.supple.attachments.add(), [row.name for row in ATTACHMENT], target)


def _copy(
    source: bpy.types.PropertyGroup,
    target: bpy.types.PropertyGroup,
    names: list[str],
    owner: bpy.types.Object,
) -> None:
    groups = owner.vertex_groups if owner.type == "MESH" else ()
    for name in names:
        value = getattr(source, name)
        is_missing_group = name in GROUPS and value and value not in groups
        if not is_missing_group and value != owner:
            setattr(target, name, value)
