# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes of the operators."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import StringProperty

from ...core.errors import SuppleError
from .. import runs
from ..capture.captured import RemovedError
from ..capture.objects import is_soft_body
from ..named import NAMED, named
from ..remembered import redraw_panels
from ..reports import intersections
from ..runs import Run, Work
from ..translations import translated
from ..worker import session, solver_environment, warm_worker


def _why_busy() -> str:
    if session.is_running():
        return "A simulation is running. Press Esc to cancel it."
    return "" if runs.current is None else f"{runs.current.describe()}. Press Esc to cancel."


class ActionOperator:
    """An operator that runs an action and reports its result; never while a simulation runs."""

    bl_options = {"REGISTER", "UNDO"}

    def act(self, context: bpy.types.Context) -> str:
        """Does it and returns the message for the user; raises SuppleError when it cannot."""
        raise NotImplementedError

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        """The reason why the operator cannot run now; empty where it can."""
        raise NotImplementedError

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        reason = _why_busy() or cls.unavailable_reason(context)
        if reason:
            # Blender crashes at a text that is none.
            cls.poll_message_set(translated(reason))
        return not reason

    def execute(self: Any, context: bpy.types.Context) -> set[str]:
        try:
            message = self.act(context)
        except SuppleError as error:
            self.report({"ERROR"}, translated(str(error)))
            return {"CANCELLED"}
        self.report({"INFO"}, translated(message))
        return {"FINISHED"}


class BodiesOperator:
    """An operator on the active soft body, whose panel it is pressed in, and the selected ones."""

    bl_options = {"REGISTER", "UNDO"}

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
            self.report({"ERROR"}, translated(str(error)))
            return {"CANCELLED"}
        several = f"{self.bl_label}: {named(bodies)}."
        text = several if len(bodies) > NAMED else " ".join(messages)
        self.report({"INFO"}, translated(text))
        return {"FINISHED"}


def chosen_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The active soft body, and the selected ones."""
    others = [obj for obj in context.selected_objects if obj != context.object]
    return [obj for obj in (context.object, *others) if is_soft_body(obj)]


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
        return self.mend(context, obj)


TICK_SECONDS = 0.05


class TimedOperator(ActionOperator):
    """An operator that takes the steps of its work from a timer. Esc cancels."""

    #: Whether steps show their results so far; else all changes come at the end.
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
            return self.execute(context)
        try:
            self._run = self.begin(context)
        except SuppleError as error:
            self.report({"ERROR"}, translated(str(error)))
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
        if runs.is_cancelling:
            return self._conclude(context, {"INFO"}, self._run.cancel(), self.changes_meanwhile)
        try:
            is_under_way = self._run.step()
            self.show(context)
            message = "" if is_under_way else self._run.finish(context)
        except RemovedError as error:
            text = f"{error} {self._run.cancel()}"
            # Undo may have taken it: a step of ours would keep redo from bringing it back.
            return self._conclude(context, {"INFO"}, text, is_step=False)
        except SuppleError as error:
            self._run.cancel()
            text = self.explain(context, translated(str(error)))
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
        context.workspace.status_text_set(translated(f"{status}, Esc cancels"))
        redraw_panels()

    def _conclude(
        self: Any, context: bpy.types.Context, kind: set[str], message: str, is_step: bool = True
    ) -> set[str]:
        self._clear(context)
        self.report(kind, translated(message))
        # Results shown so far are a change, too, which undo has to include.
        return {"FINISHED"} if is_step else {"CANCELLED"}

    def _clear(self, context: bpy.types.Context) -> None:
        runs.current, runs.is_cancelling = None, False
        manager = context.window_manager
        if self._timer is not None:
            manager.event_timer_remove(self._timer)
            self._timer = None
        manager.progress_end()
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        redraw_panels()


class WorkerOperator(TimedOperator):
    """An operator whose work a process of its own does."""

    _run: Run

    def begin_run(self, context: bpy.types.Context) -> Run:
        """The run to take; raises SuppleError when it cannot be begun."""
        raise NotImplementedError

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if solver_environment.find() is None:
            return "The solver is not installed yet. See the top of this tab."
        return ""

    def act(self, context: bpy.types.Context) -> str:
        run = self.begin(context)
        return runs.complete(run, context, lambda line: print(f"Supple: {line}", flush=True))

    def begin(self: Any, context: bpy.types.Context) -> Run:
        run: Run = self.begin_run(context)
        for warning in run.warnings:
            self.report({"WARNING"}, translated(warning))
        intersections.forget()
        return run

    def explain(self, context: bpy.types.Context, message: str) -> str:
        """Select the intersecting objects, where they are the reason, and return the whole
        message."""
        intersections.remember(context.scene, self._run.job, message)
        failure = intersections.latest(context.scene)
        if failure is None:
            return message
        try:
            return f"{message} {intersections.select(context, failure.report)}"
        except SuppleError:  # deleted meanwhile, or the frame range was turned around
            return message

    def _conclude(
        self: Any, context: bpy.types.Context, kind: set[str], message: str, is_step: bool = True
    ) -> set[str]:
        result: set[str] = super()._conclude(context, kind, message, is_step)
        warm_worker.prepare()
        return result
