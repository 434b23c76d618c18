# SPDX-License-Identifier: GPL-3.0-or-later
"""Push Apart."""

from __future__ import annotations

import bpy

from .. import ids
from ..reports import intersections
from .action_operator import ActionOperator


class SUPPLE_OT_push_apart(ActionOperator, bpy.types.Operator):
    """Move soft bodies that intersect something at the start to where they are free of it"""

    bl_idname = ids.PUSH_APART
    bl_label = "Push Apart"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        if failure is None:
            return "The last simulation found nothing that intersects."
        if failure.report.offsets is None:
            return "No way was found to move these objects apart; move them by hand."
        return ""

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        message = intersections.push_apart(context, failure.report)
        intersections.forget()
        return message
