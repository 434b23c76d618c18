# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that apply the cures of notices."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import driving, ids
from ..bake import shape_keys
from ..capture.objects import is_soft_body
from ..playback import fitting
from ..reports import coarse_meshes, intersections
from .base import ActionOperator, NamedObjectOperator


class SUPPLE_OT_dismiss_hint(NamedObjectOperator, bpy.types.Operator):
    """Stop showing this hint for this object. The mesh does not change"""

    bl_idname = ids.DISMISS_HINT
    bl_label = "Dismiss Hint"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not is_soft_body(obj):
            obj.supple.hides_obstacle_hint = True
            return f"Dismissed the hint: soft bodies pass through {obj.name}."
        obj.supple.hides_coarse_hint = True
        return f"Dismissed the hint about the vertices of {obj.name}."


class SUPPLE_OT_subdivide(NamedObjectOperator, bpy.types.Operator):
    """Add vertices so that the mesh can bend and wobble visibly. Keeps its shape, shape keys, UVs
    and vertex groups"""

    bl_idname = ids.SUBDIVIDE
    bl_label = "Subdivide"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        coarse_meshes.subdivide(obj)
        fitting.update_object(obj)
        return f"{obj.name} now has {len(obj.data.vertices)} vertices."


class SUPPLE_OT_make_override(NamedObjectOperator, bpy.types.Operator):
    """Make a library override of a linked soft body, so that it can be simulated and baked"""

    bl_idname = ids.MAKE_OVERRIDE
    bl_label = "Make Override"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        name = obj.name
        if obj.library is None:
            raise SuppleError(f"{name} is not linked from another file.")
        collection = next(iter(obj.users_collection))
        made = (
            obj.override_create(remap_local_usages=True)
            if collection.library is None
            else _override_of_collection(context, collection)
        )
        if made is None:
            raise SuppleError(
                f"Blender could not override {name}. Choose Object > Library Override > Make, "
                "or append it instead of linking it."
            )
        return f"{name} is now an override and can be simulated."


def _override_of_collection(
    context: bpy.types.Context, linked: bpy.types.Collection
) -> bpy.types.ID | None:
    """Puts an override of a linked collection, with all in it, in its place in the scene."""
    made = linked.override_hierarchy_create(context.scene, context.view_layer)
    if made is not None:
        for parent in (context.scene.collection, *context.scene.collection.children_recursive):
            if parent.library is None and linked in parent.children.values():
                parent.children.unlink(linked)
    return made


class SUPPLE_OT_make_keys_work(NamedObjectOperator, bpy.types.Operator):
    """Convert the bake to relative shape keys, so that your own keys act on top. Plays slower"""

    bl_idname = ids.MAKE_KEYS_WORK
    bl_label = "Make Keys Work"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not shape_keys.has_idle_keys(obj):
            raise SuppleError(f"All shape keys of {obj.name} have an effect already.")
        shape_keys.make_relative(obj)
        return f"The bake of {obj.name} now has relative shape keys, and its other keys act on top."


class SUPPLE_OT_order_modifiers(NamedObjectOperator, bpy.types.Operator):
    """Move the simulated frames after the modifiers that deform the body, and before those that
    change its number of vertices"""

    bl_idname = ids.ORDER_MODIFIERS
    bl_label = "Order Modifiers"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not driving.put_in_place(obj):
            raise SuppleError(f"The modifiers of {obj.name} are already in order.")
        return f"{obj.name}: {driving.order(obj) or 'moved the simulated frames'}. Simulate again."


class SUPPLE_OT_select_intersections(ActionOperator, bpy.types.Operator):
    """Select the objects that intersect at the start, and their intersecting faces"""

    bl_idname = ids.SELECT_INTERSECTIONS
    bl_label = "Show Intersections"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        return "" if failure else "The last simulation found no intersections."

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        return intersections.select(context, failure.report)


class SUPPLE_OT_push_apart(ActionOperator, bpy.types.Operator):
    """Move soft bodies that intersect at the start apart"""

    bl_idname = ids.PUSH_APART
    bl_label = "Push Apart"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        if failure is None:
            return "The last simulation found no intersections."
        if failure.report.offsets is None:
            return "These objects could not be moved apart. Move them by hand."
        return ""

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        message = intersections.push_apart(context, failure.report)
        intersections.forget()
        return message
