# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolution from Shape."""

from __future__ import annotations

import bpy

from .. import ids
from ..properties import suited
from .bodies_operator import BodiesOperator


class SUPPLE_OT_suit_resolution(BodiesOperator, bpy.types.Operator):
    """Make the cells as small as its thin parts want, as long as that stays quick"""

    bl_idname = ids.SUIT_RESOLUTION
    bl_label = "Resolution from Shape"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        suited.suit_resolution(context, obj)
        return f"{obj.name}: Resolution {obj.supple.resolution}."
