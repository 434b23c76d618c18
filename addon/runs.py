# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens between pressing a button and its result, one step at a time.

A window takes steps from a timer, a script and the command line one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import bpy

from ..core.errors import JobError, SuppleError
from ..core.job import Job
from . import cache, intersections, notices, preview, session, step_report
from .capture import capture
from .playback import Playback
from .session import Session, State

# Long enough to show many frames at once, short enough to keep the window at hand.
STEP_SECONDS = 0.05
PAUSE_SECONDS = 0.02


class Run(Protocol):
    """Work that goes on in the worker while Blender does something else.

    ``warning`` is what the user should know before it begins, or empty; ``job`` is what the
    worker works on.
    """

    warning: str
    job: Job

    def step(self) -> bool:
        """Takes over what is new. True while there is more to come; raises SuppleError."""

    def progress(self) -> float:
        """0 … 1."""

    def describe(self) -> str:
        """What is going on, such as ``Simulating frame 12 of 100``."""

    def cancel(self) -> str:
        """Stops and keeps what there is; returns what to tell the user."""

    def finish(self, context: bpy.types.Context) -> str:
        """Concludes after the last step; returns what to tell the user."""


#: What a window is waiting for, for its panels to show.
current: Run | None = None


class Simulation:
    """From the scene to the last frame on screen.

    Args:
        context: whose scene is simulated.

    Raises:
        SuppleError: when it cannot be; nothing was changed.
    """

    def __init__(self, context: bpy.types.Context) -> None:
        captured = capture(context)
        opened = cache.open_job(context.scene, captured.scene, captured.settings)
        self.warning = " ".join(filter(None, [opened.warning, *notices.before_a_run(context)]))
        self.playback = Playback(opened.job, captured)
        self.job = opened.job
        self._frame_count = captured.settings.frame_count
        self._reached = opened.reached
        self._session: Session | None = None
        if not opened.is_complete:
            self._session = session.start(opened.job, opened.reached)
        preview.remove(context.scene)

    def step(self) -> bool:
        state = self._poll()
        if self._take_over():
            self.playback.attach()
        if state.runs or self.playback.last_frame < self._reached:
            return True
        if state is State.FAILED and self._session is not None:
            raise SuppleError(self._session.message)
        return False

    def progress(self) -> float:
        return max(self.playback.last_frame, 0) / self._frame_count

    def describe(self) -> str:
        if self._session is not None and self._session.state is State.MESHING:
            return "Filling with tetrahedra"
        shown = max(self.playback.last_frame, 0)
        return f"Simulating frame {shown} of {self._frame_count}"

    def cancel(self) -> str:
        if self._session is not None:
            self._session.cancel()
        return (
            f"Cancelled after frame {max(self.playback.last_frame, 0)} of {self._frame_count}; "
            "Simulate goes on from there."
        )

    def finish(self, context: bpy.types.Context) -> str:
        # Once more, for what an undo took away meanwhile.
        self.playback.attach()
        context.scene.supple.mesh_report = _lines(self.job)
        parts = [f"Simulated {self._frame_count} frames."]
        if self._session is None:
            parts = ["Nothing has changed since the last simulation; its frames are shown."]
        parts += step_report.read(self.job).sentences()
        if missing := self.playback.missing():
            parts.append(f"No soft body any more: {', '.join(missing)}.")
        return " ".join(parts)

    def _take_over(self) -> bool:
        try:
            return self.playback.extend(self._reached, STEP_SECONDS)
        except JobError:
            # The next run sees what is damaged, and makes it again.
            self.cancel()
            raise

    def _poll(self) -> State:
        if self._session is None:
            return State.FINISHED
        state = self._session.poll()
        self._reached = self._session.last_frame
        return state


class Tetrahedralization:
    """From the scene to a preview of its tetrahedra.

    Args:
        context: whose scene is filled.

    Raises:
        SuppleError: when it cannot be; nothing was changed.
    """

    def __init__(self, context: bpy.types.Context) -> None:
        self._captured = capture(context)
        opened = cache.open_job(context.scene, self._captured.scene, self._captured.settings)
        self.warning = opened.warning
        self.job = opened.job
        self._session: Session | None = None
        if not self.job.has_solids():
            self._session = session.start(self.job, mesh_only=True)

    def step(self) -> bool:
        if self._session is None:
            return False
        state = self._session.poll()
        if state is State.FAILED:
            raise SuppleError(self._session.message)
        return state.runs

    def progress(self) -> float:
        return 0.0

    def describe(self) -> str:
        return "Filling with tetrahedra"

    def cancel(self) -> str:
        if self._session is not None:
            self._session.cancel()
        return "Cancelled; no tetrahedra were made."

    def finish(self, context: bpy.types.Context) -> str:
        preview.show(context.scene, self.job, self._captured)
        context.scene.supple.mesh_report = _lines(self.job)
        count = sum(report["tets"] for report in self.job.mesh_reports())
        return f"Made {count} tetrahedra; the preview lies in the collection {preview.COLLECTION}."


def complete(
    run: Run, context: bpy.types.Context, say: Callable[[str], object] | None = None
) -> str:
    """Takes all steps at once, telling ``say`` how far it is about once a second.

    Returns:
        What to tell the user.

    Raises:
        SuppleError: when the run fails; the frames so far are kept and shown.
    """
    spoken = 0.0
    intersections.forget()
    try:
        while run.step():
            if say is not None and time.monotonic() - spoken >= 1.0:
                say(run.describe())
                spoken = time.monotonic()
            time.sleep(PAUSE_SECONDS)
    except SuppleError as error:
        run.cancel()
        intersections.remember(context.scene, run.job, str(error))
        raise
    except BaseException:
        run.cancel()
        raise
    return run.finish(context)


def _lines(job: Job) -> str:
    return "\n".join(f"{report['name']}: {report['summary']}" for report in job.mesh_reports())
