# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons share that set something of soft bodies."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError
from ..capture.objects import is_soft_body
from ..named import NAMED, named


class BodiesOperator:
    """An operator on the active soft body, whose panel it is pressed in, and the selected ones."""

    def change(self, context: bpy.types.Context, obj: bpy.types.Object) -> str:
        """Changes one and returns the message for the user; raises SuppleError when it cannot."""
        raise NotImplementedError

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        if not chosen_bodies(context):
            cls.poll_message_set("Select a soft body.")
            return False
        return True

    def execute(self: Any, context: bpy.types.Context) -> set[str]:
        bodies = chosen_bodies(context)
        try:
            messages = [self.change(context, obj) for obj in bodies]
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        several = f"{self.bl_label}: {named(bodies)}."
        self.report({"INFO"}, several if len(bodies) > NAMED else " ".join(messages))
        return {"FINISHED"}


def chosen_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The active soft body, and the selected ones."""
    others = [obj for obj in context.selected_objects if obj != context.object]
    return [obj for obj in (context.object, *others) if is_soft_body(obj)]
