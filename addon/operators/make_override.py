# SPDX-License-Identifier: GPL-3.0-or-later
"""Make Override."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import ids
from .named_object import NamedObjectOperator


class SUPPLE_OT_make_override(NamedObjectOperator, bpy.types.Operator):
    """Make a library override of a linked soft body, which can then be simulated and baked"""

    bl_idname = ids.MAKE_OVERRIDE
    bl_label = "Make Override"
    bl_options = {"REGISTER", "UNDO"}

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
