# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty, IntProperty

from .. import actions, bake_run, ids
from ..bake_run import Bake
from .timed_operator import TimedOperator


class SUPPLE_OT_bake(TimedOperator, bpy.types.Operator):
    """Turn the simulated frames of all soft bodies into shape keys, which need no Supple to play"""

    bl_idname = ids.BAKE
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    changes_meanwhile = lets_others_act = False

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

    kind: EnumProperty(
        name="Keys",
        description="Kind of shape keys",
        items=bake_run.KINDS,
        default=bake_run.AUTOMATIC,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return actions.why_no_bake(context)

    def begin(self: Any, context: bpy.types.Context) -> Bake:
        return Bake(context, self.step, self.kind)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        is_quick = bake_run.is_quick(context)
        result: set[str] = self.execute(context) if is_quick else super().invoke(context, event)
        return result

    def act(self, context: bpy.types.Context) -> str:
        return actions.bake(context, self.step, self.kind)
