# SPDX-License-Identifier: GPL-3.0-or-later
"""The soft bodies of a scene, and the objects that they land on."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..bake import shape_keys
from ..modifiers import find_modifier


def soft_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The mesh objects of the view layer that are to be simulated, in the order of their names;
    hidden ones do not count, which Blender does not work out."""
    return [obj for obj in all_soft_bodies(context) if obj.visible_get()]


def all_soft_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """All soft bodies of the scene, including hidden ones."""
    bodies = [obj for obj in context.view_layer.objects if is_soft_body(obj)]
    return sorted(bodies, key=lambda obj: obj.name)


def why_left_out(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    """Why a soft body of the scene is not simulated, and the cure; empty where it is."""
    if context.view_layer.objects.get(obj.name) != obj:
        return (
            f"{obj.name} is a soft body in a collection that is excluded from the view layer. "
            "Include the collection, or remove the soft body."
        )
    if not obj.visible_get():
        return (
            f"{obj.name} is a hidden soft body and is not simulated. Show it, or remove the "
            "soft body."
        )
    return ""


def left_out(context: bpy.types.Context) -> list[str]:
    """Messages about soft bodies that are not simulated, instanced ones included."""
    bodies = filter(is_soft_body, context.scene.objects)
    reasons = (why_left_out(context, obj) for obj in bodies)
    return [*filter(None, reasons), *_instanced(context)]


def _instanced(context: bpy.types.Context) -> Iterator[str]:
    """Messages about soft bodies that the scene only holds through a collection instance."""
    for collection, empty in _instances(context).items():
        for obj in collection.all_objects:
            is_still = find_modifier(obj) is None and not shape_keys.has_bake(obj)
            if is_soft_body(obj) and is_still and context.scene.objects.get(obj.name) != obj:
                yield (
                    f"{obj.name} is a soft body instanced by {empty.name} and is not "
                    "simulated. Choose Object › Apply › Make Instances Real. If it is linked "
                    "from another file, choose Object › Library Override › Make."
                )


def _instances(context: bpy.types.Context) -> dict[bpy.types.Collection, bpy.types.Object]:
    return {
        obj.instance_collection: obj
        for obj in context.scene.objects
        if obj.instance_collection is not None and obj.visible_get()
    }


def is_soft_body(obj: bpy.types.Object | None) -> bool:
    return obj is not None and obj.type == "MESH" and obj.supple.enabled


def can_collide(obj: bpy.types.Object | None) -> bool:
    """Whether the object is of a kind that soft bodies can land on."""
    if obj is None or obj.supple.is_preview:
        return False
    if obj.type == "MESH":
        return not obj.supple.enabled
    return obj.type == "EMPTY" and obj.empty_display_type == "SPHERE"


def is_collider(obj: bpy.types.Object | None) -> bool:
    """Whether soft bodies land on the object where it is not hidden."""
    return obj is not None and can_collide(obj) and obj.supple.collider


def shown_colliders(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The colliders of the view layer in the order of their names; hidden ones do not count."""
    objects = context.view_layer.objects
    colliders = [obj for obj in objects if is_collider(obj) and obj.visible_get()]
    return sorted(colliders, key=lambda obj: obj.name)
