# SPDX-License-Identifier: GPL-3.0-or-later
"""Show Intersections."""

from __future__ import annotations

import bpy

from .. import ids
from ..reports import intersections
from .action_operator import ActionOperator


class SUPPLE_OT_select_intersections(ActionOperator, bpy.types.Operator):
    """Select the objects that intersect at the start, and their faces that do"""

    bl_idname = ids.SELECT_INTERSECTIONS
    bl_label = "Show Intersections"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        found = intersections.latest(context.scene)
        return "" if found else "The last simulation found nothing that intersects."

    def act(self, context: bpy.types.Context) -> str:
        failure = intersections.latest(context.scene)
        assert failure is not None  # asked by poll
        return intersections.select(context, failure.report)
