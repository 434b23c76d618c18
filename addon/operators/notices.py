# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that mend what notices report."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import driving, ids
from ..bake import shape_keys
from ..capture.objects import can_collide, is_soft_body
from ..playback import fitting
from ..reports import coarse_meshes, intersections
from .base import ActionOperator, NamedObjectOperator


class SUPPLE_OT_dismiss_hint(NamedObjectOperator, bpy.types.Operator):
    """Stop showing this hint for this object. The mesh stays as it is"""

    bl_idname = ids.DISMISS_HINT
    bl_label = "Dismiss Hint"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not is_soft_body(obj):
            obj.supple.hides_obstacle_hint = True
            return f"Soft bodies pass through {obj.name}, without the hint."
        obj.supple.hides_coarse_hint = True
        return f"{obj.name} is simulated as it is, without the hint about its vertices."


class SUPPLE_OT_subdivide(NamedObjectOperator, bpy.types.Operator):
    """Give the mesh enough vertices to be seen bending and wobbling. Its shape, shape keys, UVs and
    vertex groups stay"""

    bl_idname = ids.SUBDIVIDE
    bl_label = "Subdivide"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        coarse_meshes.subdivide(obj)
        fitting.update_object(obj)
        return f"{obj.name} has {len(obj.data.vertices)} vertices now."


class SUPPLE_OT_make_override(NamedObjectOperator, bpy.types.Operator):
    """Make a library override of a linked soft body, which can then be simulated and baked"""

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
                f"Blender makes no override of {name}; choose Object > Library Override > Make, or "
                "append it instead of linking it."
            )
        return f"{name} is an override now and can be simulated."


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


class SUPPLE_OT_make_collider(NamedObjectOperator, bpy.types.Operator):
    """Let soft bodies land on this object instead of passing through it"""

    bl_idname = ids.MAKE_COLLIDER
    bl_label = "Make Collider"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not can_collide(obj):
            raise SuppleError(f"{obj.name} cannot be a collider; meshes and empty spheres can.")
        if not obj.is_editable:
            raise SuppleError(
                f"{obj.name} is linked from another file. Make it a library override first."
            )
        obj.supple.collider = True
        return f"{obj.name} is a collider now: soft bodies land on it."


class SUPPLE_OT_make_keys_work(NamedObjectOperator, bpy.types.Operator):
    """Turn the bake into relative shape keys, beside which your own keys act. Plays more slowly"""

    bl_idname = ids.MAKE_KEYS_WORK
    bl_label = "Make Keys Work"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not shape_keys.has_idle_keys(obj):
            raise SuppleError(f"{obj.name} has no shape keys that do nothing beside its bake.")
        shape_keys.make_relative(obj)
        return f"The bake of {obj.name} is relative shape keys now; its other keys act on top."


class SUPPLE_OT_order_modifiers(NamedObjectOperator, bpy.types.Operator):
    """Move the simulated frames behind the modifiers that deform the body, which then drive it, and
    before those that change its number of vertices, which then refine the result"""

    bl_idname = ids.ORDER_MODIFIERS
    bl_label = "Order Modifiers"

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not driving.put_in_place(obj):
            raise SuppleError(f"The modifiers of {obj.name} are in order.")
        return f"{obj.name}: {driving.order(obj) or 'nothing drives or refines'}; simulate again."


class SUPPLE_OT_select_intersections(ActionOperator, bpy.types.Operator):
    """Select the objects that intersect at the start, and their faces that do"""

    bl_idname = ids.SELECT_INTERSECTIONS
    bl_label = "Show Intersections"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        found = intersections.latest(context.scene)
        return "" if found else "The last simulation found nothing that intersects."

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        return intersections.select(context, failure.report)


class SUPPLE_OT_push_apart(ActionOperator, bpy.types.Operator):
    """Move soft bodies that intersect something at the start to where they are free of it"""

    bl_idname = ids.PUSH_APART
    bl_label = "Push Apart"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        if failure is None:
            return "The last simulation found nothing that intersects."
        if failure.report.offsets is None:
            return "No way was found to move these objects apart; move them by hand."
        return ""

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        message = intersections.push_apart(context, failure.report)
        intersections.forget()
        return message
