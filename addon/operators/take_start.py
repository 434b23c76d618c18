# SPDX-License-Identifier: GPL-3.0-or-later
"""Take Shown Frame."""

from __future__ import annotations

import bpy

from .. import actions, ids
from ..capture.objects import is_soft_body
from .action_operator import ActionOperator


class SUPPLE_OT_take_start(ActionOperator, bpy.types.Operator):
    """Start the next simulation as the simulated frame that is shown: of this body, or of another
    one that is selected with it and has the same mesh. Its frames are kept"""

    bl_idname = ids.TAKE_START
    bl_label = "Take Shown Frame"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if is_soft_body(context.object) else "Select a soft body."

    def act(self, context: bpy.types.Context) -> str:
        obj = context.object
        others = [each for each in context.selected_objects if each != obj and is_soft_body(each)]
        frame = round(context.scene.frame_current_final)
        return actions.take_start(obj, others[0] if others else obj, frame)
