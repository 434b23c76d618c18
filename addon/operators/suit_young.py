# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiffness from Size."""

from __future__ import annotations

import bpy

from .. import ids
from ..properties import suited
from .bodies_operator import BodiesOperator


class SUPPLE_OT_suit_young(BodiesOperator, bpy.types.Operator):
    """Make it as stiff as its size and density want: it sags by about a tenth of its height under
    its own weight and wobbles"""

    bl_idname = ids.SUIT_YOUNG
    bl_label = "Stiffness from Size"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if obj.supple.jiggle_group:
            return f"{obj.name} jiggles, and keeps the stiffness that suits its speed."
        suited.suit_young(context, obj)
        return f"{obj.name}: Stiffness {obj.supple.young:.3g} Pa."
