# SPDX-License-Identifier: GPL-3.0-or-later
"""Show Paint."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty

from ...core.errors import SuppleError
from ...core.scene.paint import PAINTED_SETTINGS
from .. import ids
from ..capture.objects import is_soft_body
from ..capture.paint import SOURCE, is_colour, label
from .action_operator import ActionOperator


class SUPPLE_OT_show_paint(ActionOperator, bpy.types.Operator):
    """See and paint where the setting counts; once more goes back to Object Mode"""

    bl_idname = ids.SHOW_PAINT
    bl_label = "Show Paint"
    bl_options = {"REGISTER", "UNDO"}

    setting: EnumProperty(
        name="Setting",
        description="What is painted",
        items=[(name, name, "") for name in PAINTED_SETTINGS],
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if is_soft_body(context.object) else "Select a soft body."

    def act(self, context: bpy.types.Context) -> str:
        obj = context.object
        name = getattr(obj.supple, SOURCE.format(self.setting))
        text = label(obj.supple, self.setting)
        mode = _activate(obj, name, text)
        if obj.mode == mode:
            mode = "OBJECT"
        bpy.ops.object.mode_set(mode=mode)
        if mode == "OBJECT":
            return f"{obj.name} is shown as it is."
        return f"{obj.name}: {name!r} paints its {text}."


def _activate(obj: bpy.types.Object, name: str, text: str) -> str:
    """Makes it what is painted on, and returns the mode to do so in."""
    group = obj.vertex_groups.get(name)
    if group is not None:
        obj.vertex_groups.active_index = group.index
        return "WEIGHT_PAINT"
    attribute = obj.data.attributes.get(name)
    if attribute is None:
        raise SuppleError(f"{obj.name} has nothing of the name {name!r} that paints its {text}.")
    if not is_colour(attribute):
        raise SuppleError(
            f"{obj.name}: Blender has no brush for the float attribute {name!r}; see its numbers "
            "in the Spreadsheet, or paint with a vertex group or a colour attribute."
        )
    obj.data.attributes.active_color = attribute
    return "VERTEX_PAINT"
