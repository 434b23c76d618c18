# SPDX-License-Identifier: GPL-3.0-or-later
"""Make Collider."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import ids
from ..capture.objects import can_collide
from .named_object import NamedObjectOperator


class SUPPLE_OT_make_collider(NamedObjectOperator, bpy.types.Operator):
    """Let soft bodies land on this object instead of passing through it"""

    bl_idname = ids.MAKE_COLLIDER
    bl_label = "Make Collider"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not can_collide(obj):
            raise SuppleError(f"{obj.name} cannot be a collider; meshes and empty spheres can.")
        if not obj.is_editable:
            raise SuppleError(
                f"{obj.name} is linked from another file. Make it a library override first."
            )
        obj.supple.collider = True
        return f"{obj.name} is a collider now: soft bodies land on it."
