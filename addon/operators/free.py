# SPDX-License-Identifier: GPL-3.0-or-later
"""Free."""

from __future__ import annotations

from typing import Any

import bpy

from .. import actions, ids
from ..named import named
from .action_operator import ActionOperator


class SUPPLE_OT_free(ActionOperator, bpy.types.Operator):
    """Remove the simulated frames of all soft bodies of the scene, and their baked shape keys. Undo
    brings them back, until Remove Unused Caches deletes the frames from the disk"""

    bl_idname = ids.FREE
    bl_label = "Free"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if actions.can_free(context.scene) else "There is nothing to remove."

    def act(self, context: bpy.types.Context) -> str:
        return actions.free(context)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        baked = actions.baked_bodies(context.scene)
        if bpy.app.background or not baked:
            result: set[str] = self.execute(context)
            return result
        result = context.window_manager.invoke_confirm(
            self,
            event,
            title="Remove the Bake, Too?",
            message=f"The baked shape keys of {named(baked)} go with the simulated frames.",
            confirm_text="Remove",
            icon="WARNING",
        )
        return result
