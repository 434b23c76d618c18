# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import actions, session


class SUPPLE_OT_bake(bpy.types.Operator):
    """Turn the simulated frames of all soft bodies into shape keys, which need no Supple to play"""

    bl_idname = "supple.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if session.is_running():
            cls.poll_message_set("A simulation is running; Esc cancels it.")
            return False
        if not actions.can_bake(context):
            cls.poll_message_set("Nothing is simulated yet; press Simulate first.")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            said = actions.bake(context)
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}
