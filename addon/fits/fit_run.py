# SPDX-License-Identifier: GPL-3.0-or-later
"""A search in the worker, and the plot of its losses."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.job import Job, fits
from ..capture.captured import RemovedError
from ..capture.objects import is_soft_body, why_left_out
from ..capture.scene import capture
from ..reports import ignored
from ..reports.run_reports import on_timeline
from ..worker import session, solver_environment
from ..worker.session import State
from .table import TOOLS
from .tool import Question, length

SIZE = 256
_MARGIN, _LINE, _DOT = 14, 2, 5
_BACKGROUND, _GRID, _CURVE = (0.10, 0.10, 0.10), (0.28, 0.28, 0.28), (0.25, 0.65, 1.0)
# The powers of ten that a plot shows at most.
_MOST_DECADES = 8.0

_previews: Any = None
_drawn: tuple[float, ...] = ()


def draw(layout: bpy.types.UILayout, losses: Sequence[float]) -> None:
    """Draws the losses of a search, from the first to the last, on a logarithmic scale."""
    if len(losses) > 1:
        layout.template_icon(icon_value=_icon(tuple(losses)), scale=6.0)


def pixels(losses: Sequence[float]) -> NDArray[np.float32]:
    """(SIZE, SIZE, 4) red, green, blue, opacity; the lowest row first.

    Lines of the grid are powers of ten.
    """
    values = np.asarray(losses, dtype=np.float64)
    top = np.log10(max(values.max(), 1e-300))
    heights = np.log10(np.maximum(values, 10.0 ** (top - _MOST_DECADES)))
    low, high = np.floor(heights.min() - 1e-9), np.ceil(heights.max() + 1e-9)
    inner = SIZE - 2 * _MARGIN - 1

    def row(height: Any) -> Any:
        return _MARGIN + inner * (height - low) / (high - low)

    picture = np.ones((SIZE, SIZE, 4), dtype=np.float32)
    picture[..., :3] = _BACKGROUND
    for decade in np.arange(low, high + 0.5):
        picture[round(row(decade)), _MARGIN:-_MARGIN, :3] = _GRID
    columns = _MARGIN + inner * np.arange(len(values)) / max(1, len(values) - 1)
    across = np.arange(_MARGIN, SIZE - _MARGIN)
    along = np.interp(across, columns, row(heights))
    before, after = np.roll(along, 1), np.roll(along, -1)
    before[0], after[-1] = along[0], along[-1]
    for column, *near in zip(across, before, along, after, strict=True):
        first, last = round(min(near)) - _LINE // 2, round(max(near)) + _LINE // 2
        picture[first : last + 1, column, :3] = _CURVE
    for column, height in zip(columns, row(heights), strict=True):
        middle = round(height), round(column)
        rows, places = (slice(m - _DOT // 2, m + _DOT // 2 + 1) for m in middle)
        picture[rows, places, :3] = _CURVE
    return picture


def unregister() -> None:
    global _previews, _drawn
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
    _previews, _drawn = None, ()


def _icon(losses: tuple[float, ...]) -> int:
    global _previews, _drawn
    if _previews is None:
        import bpy.utils.previews

        _previews = bpy.utils.previews.new()
        _previews.new("loss").image_size = (SIZE, SIZE)
    preview = _previews["loss"]
    if losses != _drawn:
        preview.image_pixels_float = pixels(losses).ravel()
        _drawn = losses
    return int(preview.icon_id)


@dataclass(frozen=True)
class Outcome:
    """The result of the latest search, for the panel.

    Args:
        uid: of the object, its ``session_uid``.
        losses: in metres, of each simulation.
        message: for the user.
    """

    uid: int
    losses: tuple[float, ...]
    message: str


#: The latest search of this session of Blender.
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

    cancelling = "Press Esc to cancel. Nothing changes then."

    def __init__(self, context: bpy.types.Context, obj: bpy.types.Object, name: str) -> None:
        if session.is_running():
            raise SuppleError("A simulation is running already. Cancel it with Esc first.")
        if not is_soft_body(obj):
            raise SuppleError("Select a soft body.")
        if reason := why_left_out(context, obj):
            raise SuppleError(reason)
        self._tool, self._uid = TOOLS[name], obj.session_uid
        self._captured = captured = capture(context)
        self._index = [body.uid for body in captured.objects].index(self._uid)
        scene, request = self._tool.ask(Question(context, obj, captured, self._index))
        solver_environment.check_complete()
        followed = obj if self._tool.follows else None
        self.warnings = ignored.messages(context, followed=followed)
        self.losses: tuple[float, ...] = ()
        self._done = 0.0
        self.job = Job(Path(tempfile.mkdtemp(prefix="supple-fit-")))
        try:
            Job.create(self.job.folder, scene, replace(captured.settings, results=()))
            fits.write_wanted(self.job.folder, request)
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
        if losses := fits.read_losses(self.job.folder):
            self.losses = tuple(loss for loss, _ in losses)
            self._done = min(1.0, losses[-1][1])
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
        return f"{self._tool.label} was cancelled. Nothing was changed."

    def finish(self, context: bpy.types.Context) -> str:
        global latest
        result = fits.read_found(self.job.folder)
        self._remove()
        message = self._tool.apply(self._object(), self._captured, self._index, result)
        latest = Outcome(self._uid, self.losses, message)
        return message

    def _object(self) -> bpy.types.Object:
        obj = self._captured.soft_bodies()[self._index]
        if obj is None:
            name = self._captured.objects[self._index].name
            raise RemovedError(f"{name} is not a soft body anymore.")
        return obj

    def _remove(self) -> None:
        shutil.rmtree(self.job.folder, ignore_errors=True)
