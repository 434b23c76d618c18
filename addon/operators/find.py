# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep This Shape, Hit the Target, Match a Shape, Follow My Keys."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty

from .. import ids
from ..capture.objects import is_soft_body
from ..fits.fit_run import Fit
from ..fits.table import TOOLS
from .worker_operator import WorkerOperator


class SUPPLE_OT_find(WorkerOperator, bpy.types.Operator):
    """Find how the active soft body does what it is to do"""

    bl_idname = ids.FIND
    bl_label = "Find"
    bl_options = {"REGISTER", "UNDO"}

    changes_meanwhile = False

    tool: EnumProperty(
        name="Tool",
        items=[(name, tool.label, tool.description) for name, tool in TOOLS.items()],
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def description(cls: Any, context: bpy.types.Context, properties: Any) -> str:
        return TOOLS[properties.tool].description

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if reason := super().unavailable_reason(context):
            return reason
        return "" if is_soft_body(context.object) else "Select a soft body."

    def begin_run(self: Any, context: bpy.types.Context) -> Fit:
        return Fit(context, context.object, self.tool)
