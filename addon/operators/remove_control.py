# SPDX-License-Identifier: GPL-3.0-or-later
"""Let Go of Keys."""

from __future__ import annotations

import bpy

from .. import ids
from ..capture import fingerprint, kept_control
from .bodies_operator import BodiesOperator


class SUPPLE_OT_remove_control(BodiesOperator, bpy.types.Operator):
    """Remove the forces, or the motion of pins, with which a body follows its keys"""

    bl_idname = ids.REMOVE_CONTROL
    bl_label = "Let Go of Keys"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        kept_control.remove(obj)
        fingerprint.forget()
        return f"{obj.name} goes by itself again."
