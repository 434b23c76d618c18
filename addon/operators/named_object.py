# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons share that mend one soft body."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import StringProperty

from ...core.errors import SuppleError
from .action_operator import ActionOperator


class NamedObjectOperator(ActionOperator):
    """An operator on the object that it names, else on the active one."""

    object_name: StringProperty(name="Object", options={"HIDDEN", "SKIP_SAVE"})

    def mend(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        """Does it and returns the message for the user; raises SuppleError when it cannot."""
        raise NotImplementedError

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return ""

    def act(self: Any, context: bpy.types.Context) -> str:
        name = self.object_name
        obj = context.scene.objects.get(name) if name else context.object
        if obj is None:
            raise SuppleError(f"The scene has no object {name}." if name else "Select an object.")
        message: str = self.mend(context, obj)
        return message
