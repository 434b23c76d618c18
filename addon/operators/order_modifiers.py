# SPDX-License-Identifier: GPL-3.0-or-later
"""Order Modifiers."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import driving, ids
from .named_object import NamedObjectOperator


class SUPPLE_OT_order_modifiers(NamedObjectOperator, bpy.types.Operator):
    """Move the simulated frames behind the modifiers that deform the body, which then drive it, and
    before those that change its number of vertices, which then refine the result"""

    bl_idname = ids.ORDER_MODIFIERS
    bl_label = "Order Modifiers"
    bl_options = {"REGISTER", "UNDO"}

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        if not driving.put_in_place(obj):
            raise SuppleError(f"The modifiers of {obj.name} are in order.")
        return f"{obj.name}: {driving.order(obj) or 'nothing drives or refines'}; simulate again."
