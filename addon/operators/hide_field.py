# SPDX-License-Identifier: GPL-3.0-or-later
"""Hide Field."""

from __future__ import annotations

import bpy

from .. import actions, ids
from ..playback.field_material import find_view
from .action_operator import ActionOperator


class SUPPLE_OT_hide_field(ActionOperator, bpy.types.Operator):
    """Show all soft bodies with their own materials again"""

    bl_idname = ids.HIDE_FIELD
    bl_label = "Hide Field"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        is_shown = any(map(find_view, context.scene.objects))
        return "" if is_shown else "No field is shown."

    def act(self, context: bpy.types.Context) -> str:
        return actions.hide_field(context)
