# SPDX-License-Identifier: GPL-3.0-or-later
"""What the buttons share that act on a simulation."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError
from ..worker import session


class ActionOperator:
    """An operator that does something and says how it went; never while a simulation runs."""

    def act(self, context: bpy.types.Context) -> str:
        """Does it and returns what to tell the user; raises SuppleError when it cannot."""
        raise NotImplementedError

    @classmethod
    def obstacle(cls, context: bpy.types.Context) -> str:
        """Why it cannot be done now, or nothing."""
        raise NotImplementedError

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        running = "A simulation is running; Esc cancels it."
        obstacle = running if session.is_running() else cls.obstacle(context)
        if obstacle:
            cls.poll_message_set(obstacle)
        return not obstacle

    def execute(self: Any, context: bpy.types.Context) -> set[str]:
        try:
            said = self.act(context)
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, said)
        return {"FINISHED"}
