# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

from .. import actions, ids
from .action_operator import ActionOperator


class SUPPLE_OT_bake(ActionOperator, bpy.types.Operator):
    """Turn the simulated frames of all soft bodies into shape keys, which need no Supple to play"""

    bl_idname = ids.BAKE
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    step: IntProperty(
        name="Frame Step",
        description=(
            "One key every so many frames, and one at the last; the mesh goes straight from one to "
            "the next. Fewer keys make a smaller file"
        ),
        default=1,
        min=1,
        soft_max=10,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return actions.why_no_bake(context)

    def act(self, context: bpy.types.Context) -> str:
        return actions.bake(context, self.step)
