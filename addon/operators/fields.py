# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that show recorded fields and paint."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty

from ...core.errors import SuppleError
from ...core.scene.paint import PAINTED_SETTINGS
from .. import actions, ids
from ..capture.objects import is_soft_body, soft_bodies
from ..capture.paint import is_colour, label
from ..playback import fields
from ..playback.fields import find_view
from ..settings.object import SOURCE
from .base import ActionOperator


class SUPPLE_OT_show_field(ActionOperator, bpy.types.Operator):
    """Color all soft bodies by the field at each frame. Hide Field restores their materials"""

    bl_idname = ids.SHOW_FIELD
    bl_label = "Show Field"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        bodies = soft_bodies(context)
        if not bodies:
            return "The scene has no soft body."
        return fields.why_not_shown(bodies, context.scene.supple.field)

    def act(self, context: bpy.types.Context) -> str:
        return actions.show_field(context, context.scene.supple.field)


class SUPPLE_OT_hide_field(ActionOperator, bpy.types.Operator):
    """Show all soft bodies with their own materials again"""

    bl_idname = ids.HIDE_FIELD
    bl_label = "Hide Field"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        is_shown = any(map(find_view, context.scene.objects))
        return "" if is_shown else "No field is shown."

    def act(self, context: bpy.types.Context) -> str:
        return actions.hide_field(context)


class SUPPLE_OT_show_paint(ActionOperator, bpy.types.Operator):
    """Show and paint the weights of this setting. Press again to return to Object Mode"""

    bl_idname = ids.SHOW_PAINT
    bl_label = "Show Paint"

    setting: EnumProperty(
        name="Setting",
        description="Painted setting",
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
            return f"{obj.name} is back in Object Mode."
        return f"{obj.name}: {name!r} paints its {text}."


def _activate(obj: bpy.types.Object, name: str, text: str) -> str:
    """Make an attribute or a vertex group the active one for painting, and return the mode for
    it."""
    group = obj.vertex_groups.get(name)
    if group is not None:
        obj.vertex_groups.active_index = group.index
        return "WEIGHT_PAINT"
    attribute = obj.data.attributes.get(name)
    if attribute is None:
        raise SuppleError(
            f"{obj.name} has no vertex group or attribute {name!r} to paint its {text}."
        )
    if not is_colour(attribute):
        raise SuppleError(
            f"{obj.name}: Blender has no brush for the float attribute {name!r}. See its "
            "values in the Spreadsheet, or paint with a vertex group or a color attribute."
        )
    obj.data.attributes.active_color = attribute
    return "VERTEX_PAINT"
