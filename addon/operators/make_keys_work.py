# SPDX-License-Identifier: GPL-3.0-or-later
"""Make Keys Work."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import ids
from ..bake import shape_keys
from .named_object import NamedObjectOperator


class SUPPLE_OT_make_keys_work(NamedObjectOperator, bpy.types.Operator):
    """Turn the bake into relative shape keys, beside which your own keys act. Plays more slowly"""

    bl_idname = ids.MAKE_KEYS_WORK
    bl_label = "Make Keys Work"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not shape_keys.has_idle_keys(obj):
            raise SuppleError(f"{obj.name} has no shape keys that do nothing beside its bake.")
        shape_keys.make_relative(obj)
        return f"The bake of {obj.name} is relative shape keys now; its other keys act on top."
