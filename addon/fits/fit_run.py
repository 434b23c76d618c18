# SPDX-License-Identifier: GPL-3.0-or-later
"""From a button that asks for something to what was found, one step at a time."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import bpy

from ...core.errors import SuppleError
from ...core.job import Job, fits
from ..capture.captured import GoneError
from ..capture.objects import is_soft_body, why_left_out
from ..capture.scene import capture
from ..reports import ignored
from ..reports.timeline import on_timeline
from ..worker import session, solver_environment
from ..worker.session import State
from .table import TOOLS
from .tool import Question, length


@dataclass(frozen=True)
class Outcome:
    """What the panel shows of the latest search.

    Args:
        uid: of the object, its ``session_uid``.
        losses: in metres, of each simulation.
        message: for the user.
    """

    uid: int
    losses: tuple[float, ...]
    message: str


#: Of this session of Blender.
latest: Outcome | None = None


class Fit:
    """A search in the worker. The scene changes when it is finished, and not before.

    Args:
        context: of the scene.
        obj: the soft body that something is sought for.
        name: of the tool.

    Raises:
        SuppleError: when it cannot be sought; nothing was changed.
    """

    cancelling = "Esc cancels, and changes nothing."

    def __init__(self, context: bpy.types.Context, obj: bpy.types.Object, name: str) -> None:
        if session.is_running():
            raise SuppleError("A simulation is running already; cancel it with Esc first.")
        if not is_soft_body(obj):
            raise SuppleError("Select a soft body.")
        if reason := why_left_out(context, obj):
            raise SuppleError(reason)
        self._tool, self._uid = TOOLS[name], obj.session_uid
        self._captured = captured = capture(context)
        self._index = [own.uid for own in captured.objects].index(self._uid)
        scene, wanted = self._tool.ask(Question(context, obj, captured, self._index))
        solver_environment.check_complete()
        followed = obj if self._tool.follows else None
        self.warnings = ignored.messages(context, followed=followed)
        self.losses: tuple[float, ...] = ()
        self._done = 0.0
        self.job = Job(Path(tempfile.mkdtemp(prefix="supple-fit-")))
        try:
            Job.create(self.job.folder, scene, replace(captured.settings, results=()))
            fits.write_wanted(self.job.folder, wanted)
            self._session = session.start(self.job)
        except SuppleError:
            self._remove()
            raise

    @property
    def start_frame(self) -> int:
        return self._captured.start_frame

    def step(self) -> bool:
        self._object()
        state = self._session.poll()
        if found := fits.read_losses(self.job.folder):
            self.losses = tuple(loss for loss, _ in found)
            self._done = min(1.0, found[-1][1])
        if state is State.FAILED:
            raise SuppleError(on_timeline(str(self._session.failure), self.start_frame))
        return state.runs

    def progress(self) -> float:
        preparing = self._session.preparing()
        return self._done if preparing is None else preparing

    def describe(self) -> str:
        if self._session.preparing() is not None:
            return session.PREPARING
        if not self.losses:
            return f"{self._tool.label}: begins"
        return f"{self._tool.label}: step {len(self.losses)}, {length(self.losses[-1])}"

    def cancel(self) -> str:
        self._session.cancel()
        # A crash leaves its output, which the message names.
        if str(self.job.folder) not in str(self._session.failure):
            self._remove()
        return f"{self._tool.label} was cancelled; nothing was changed."

    def finish(self, context: bpy.types.Context) -> str:
        global latest
        found = fits.read_found(self.job.folder)
        self._remove()
        message = self._tool.apply(self._object(), self._captured, self._index, found)
        latest = Outcome(self._uid, self.losses, message)
        return message

    def _object(self) -> bpy.types.Object:
        obj = self._captured.soft_bodies()[self._index]
        if obj is None:
            name = self._captured.objects[self._index].name
            raise GoneError(f"{name} is no soft body any more.")
        return obj

    def _remove(self) -> None:
        shutil.rmtree(self.job.folder, ignore_errors=True)
