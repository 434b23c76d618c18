# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Soft Body."""

from __future__ import annotations

import bpy

from .. import ids
from ..properties import selection
from ..worker import warm_worker


class SUPPLE_OT_add(bpy.types.Operator):
    """Make the selected meshes soft bodies"""

    bl_idname = ids.ADD
    bl_label = "Add Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not selection.candidates(context):
            cls.poll_message_set(selection.why_none(context))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        self.report({"INFO"}, selection.make_soft(context, selection.candidates(context)))
        if not bpy.app.background:
            warm_worker.prepare()
        return {"FINISHED"}
