# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons share that act on a simulation."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError, legible
from .. import runs
from ..worker import session


def _why_busy() -> str:
    if session.is_running():
        return "A simulation is running; Esc cancels it."
    return "" if runs.current is None else f"{runs.current.describe()}; Esc cancels that."


class ActionOperator:
    """An operator that does something and reports how it went; never while a simulation runs."""

    def act(self, context: bpy.types.Context) -> str:
        """Does it and returns the message for the user; raises SuppleError when it cannot."""
        raise NotImplementedError

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        """Why it cannot be done now; empty where it can."""
        raise NotImplementedError

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        reason = _why_busy() or cls.unavailable_reason(context)
        if reason:
            # Blender crashes at a text that is none.
            cls.poll_message_set(legible(reason))
        return not reason

    def execute(self: Any, context: bpy.types.Context) -> set[str]:
        try:
            message = self.act(context)
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, legible(message))
        return {"FINISHED"}
