# SPDX-License-Identifier: GPL-3.0-or-later
"""Free."""

from __future__ import annotations

import bpy

from ...core.errors import SuppleError
from .. import actions, session


class SUPPLE_OT_free(bpy.types.Operator):
    """Remove playback, baked shape keys and, for good, the simulated frames on the disk"""

    bl_idname = "supple.free"
    bl_label = "Free"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if session.is_running():
            cls.poll_message_set("A simulation is running; Esc cancels it.")
            return False
        if not actions.can_free(context.scene):
            cls.poll_message_set("There is nothing to remove.")
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            said = actions.free(context)
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}
