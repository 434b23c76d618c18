# SPDX-License-Identifier: GPL-3.0-or-later
"""Show Field."""

from __future__ import annotations

import bpy

from .. import actions, ids
from ..capture.objects import soft_bodies
from ..playback import fields
from .action_operator import ActionOperator


class SUPPLE_OT_show_field(ActionOperator, bpy.types.Operator):
    """Colour all soft bodies by the field, frame by frame. Their own materials come back with Hide
    Field"""

    bl_idname = ids.SHOW_FIELD
    bl_label = "Show Field"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        bodies = soft_bodies(context)
        if not bodies:
            return "The scene has no soft body."
        return fields.why_not_shown(bodies, context.scene.supple.field)

    def act(self, context: bpy.types.Context) -> str:
        return actions.show_field(context, context.scene.supple.field)
