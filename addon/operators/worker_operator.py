# SPDX-License-Identifier: GPL-3.0-or-later
"""What Simulate, Tetrahedralize and Find share: they run beside a window, and block without one."""

from __future__ import annotations

from typing import Any

import bpy

from ...core.errors import SuppleError, legible
from .. import runs
from ..reports import intersections
from ..runs import Run
from ..worker import solver_environment, warm_worker
from .timed_operator import TimedOperator


class WorkerOperator(TimedOperator):
    """An operator whose work a process of its own does."""

    _run: Run

    def begin_run(self, context: bpy.types.Context) -> Run:
        """The run to take; raises SuppleError when it cannot be begun."""
        raise NotImplementedError

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if solver_environment.find() is None:
            return "The solver is not installed yet; see the top of this tab."
        return ""

    def act(self, context: bpy.types.Context) -> str:
        run = self.begin(context)
        return runs.complete(run, context, lambda line: print(f"Supple: {line}", flush=True))

    def begin(self: Any, context: bpy.types.Context) -> Run:
        run: Run = self.begin_run(context)
        for warning in run.warnings:
            self.report({"WARNING"}, legible(warning))
        intersections.forget()
        return run

    def explain(self, context: bpy.types.Context, message: str) -> str:
        """Selects what intersects, where that is it."""
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
