# SPDX-License-Identifier: GPL-3.0-or-later
"""Make Override."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .named_object import NamedObjectOperator


class SUPPLE_OT_make_override(NamedObjectOperator, bpy.types.Operator):
    """Make a library override of a linked soft body, which can then be simulated and baked"""

    bl_idname = "supple.make_override"
    bl_label = "Make Override"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        name = obj.name
        if obj.library is None:
            raise SuppleError(f"{name} is not linked from another file.")
        if obj.override_hierarchy_create(context.scene, context.view_layer) is None:
            raise SuppleError(
                f"Blender makes no override of {name}; make the collection that it is linked "
                "with an override first: Object > Library Override > Make."
            )
        return f"{name} is an override now and can be simulated."
