# SPDX-License-Identifier: GPL-3.0-or-later
"""Free."""

from __future__ import annotations

import bpy

from .. import actions, ids
from .action_operator import ActionOperator


class SUPPLE_OT_free(ActionOperator, bpy.types.Operator):
    """Remove playback, baked shape keys and, for good, the simulated frames on the disk"""

    bl_idname = ids.FREE
    bl_label = "Free"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if actions.can_free(context.scene) else "There is nothing to remove."

    def act(self, context: bpy.types.Context) -> str:
        return actions.free(context)
