# SPDX-License-Identifier: GPL-3.0-or-later
"""What takes a while, and is seen to go on."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError, legible
from .. import runs
from ..capture.captured import GoneError
from ..runs import Work
from ..worker.redraw import redraw_sidebars
from .action_operator import ActionOperator

TICK_SECONDS = 0.05


class TimedOperator(ActionOperator):
    """An operator that takes the steps of its work from a timer. Esc cancels."""

    #: Whether steps show what there is so far; else all changes when the work is finished.
    changes_meanwhile = True
    #: Whether the window can be used for other things.
    lets_others_act = True

    _run: Any
    _reported = "", 0
    _timer: bpy.types.Timer | None = None

    def begin(self, context: bpy.types.Context) -> Work:
        """The work to do; raises SuppleError when it cannot be begun."""
        raise NotImplementedError

    def show(self, context: bpy.types.Context) -> None:
        """Called after each step."""

    def show_result(self, context: bpy.types.Context) -> None:
        """Called once the work is finished."""

    def explain(self, context: bpy.types.Context, message: str) -> str:
        """The message of a failure."""
        return message

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if bpy.app.background or context.window is None:
            result: set[str] = self.execute(context)
            return result
        try:
            self._run = self.begin(context)
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(TICK_SECONDS, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(self)
        runs.current = self._run
        return {"RUNNING_MODAL"}

    def modal(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type == "ESC" and event.value == "PRESS" and not self._is_playing(context):
            return self._conclude(context, {"INFO"}, self._run.cancel(), self.changes_meanwhile)
        goes_on = {"PASS_THROUGH"} if self.lets_others_act else {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return goes_on
        try:
            is_under_way = self._run.step()
            self.show(context)
            message = "" if is_under_way else self._run.finish(context)
        except GoneError as error:
            text = f"{error} {self._run.cancel()}"
            # Undo may have taken it: a step of ours would keep redo from bringing it back.
            return self._conclude(context, {"INFO"}, text, is_step=False)
        except SuppleError as error:
            self._run.cancel()
            text = self.explain(context, str(error))
            return self._conclude(context, {"ERROR"}, text, self.changes_meanwhile)
        except BaseException:
            # Else all buttons would wait for it until Blender ends.
            self.cancel(context)
            raise
        if not is_under_way:
            self.show_result(context)
            return self._conclude(context, {"INFO"}, message)
        self._report_progress(context)
        return goes_on

    def _is_playing(self, context: bpy.types.Context) -> bool:
        """Whether Esc stops the animation, which any window may play."""
        return self.lets_others_act and context.screen.is_animation_playing

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender calls this when it quits or opens another file."""
        self._run.cancel()
        self._clear(context)

    def _report_progress(self, context: bpy.types.Context) -> None:
        """Redraws only for news: drawing takes time that the work can use."""
        status, percent = self._run.describe(), round(100.0 * self._run.progress())
        if (status, percent) == self._reported:
            return
        self._reported = status, percent
        context.window_manager.progress_update(percent)
        context.workspace.status_text_set(f"{status}, Esc cancels")
        redraw_sidebars()

    def _conclude(
        self: Any, context: bpy.types.Context, kind: set[str], message: str, is_step: bool = True
    ) -> set[str]:
        self._clear(context)
        self.report(kind, legible(message))
        # What was shown so far is a change, too, that undo has to know of.
        return {"FINISHED"} if is_step else {"CANCELLED"}

    def _clear(self, context: bpy.types.Context) -> None:
        runs.current = None
        manager = context.window_manager
        if self._timer is not None:
            manager.event_timer_remove(self._timer)
            self._timer = None
        manager.progress_end()
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        redraw_sidebars()
