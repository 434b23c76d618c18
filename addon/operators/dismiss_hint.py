# SPDX-License-Identifier: GPL-3.0-or-later
"""Dismiss Hint."""

from __future__ import annotations

import bpy

from .. import ids
from ..capture.objects import is_soft_body
from .named_object import NamedObjectOperator


class SUPPLE_OT_dismiss_hint(NamedObjectOperator, bpy.types.Operator):
    """Stop showing this hint for this object. The mesh stays as it is"""

    bl_idname = ids.DISMISS_HINT
    bl_label = "Dismiss Hint"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not is_soft_body(obj):
            obj.supple.hides_obstacle_hint = True
            return f"Soft bodies pass through {obj.name}, without the hint."
        obj.supple.hides_coarse_hint = True
        return f"{obj.name} is simulated as it is, without the hint about its vertices."
