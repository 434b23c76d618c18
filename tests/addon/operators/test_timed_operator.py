# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in the background of a window, without a window."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.addon import runs
from supple.addon.capture.captured import RemovedError
from supple.addon.operators.base import TimedOperator, _why_busy
from supple.core.errors import SuppleError


def around(is_playing: bool = False) -> Any:
    return SimpleNamespace(
        workspace=None,
        window_manager=SimpleNamespace(progress_end=lambda: None),
        screen=SimpleNamespace(is_animation_playing=is_playing),
    )


CONTEXT = around()


class Work:
    """Two steps, or an error in the first."""

    cancelling = "Esc cancels."

    def __init__(self, error: BaseException | None = None) -> None:
        self.error, self.left, self.is_cancelled = error, 2, False

    def step(self) -> bool:
        if self.error is not None:
            raise self.error
        self.left -= 1
        return self.left > 0

    def progress(self) -> float:
        return 0.5

    def describe(self) -> str:
        return "Working"

    def cancel(self) -> str:
        self.is_cancelled = True
        return "Cancelled."

    def finish(self, context: Any) -> str:
        return "Done."


class Operator(TimedOperator):
    """An operator that was invoked."""

    changes_meanwhile = lets_others_act = False

    def __init__(self, work: Work) -> None:
        self._run = work
        self.said: list[tuple[str, ...]] = []
        runs.current = work

    def report(self, kind: set[str], message: str) -> None:
        self.said.append((*kind, message))

    def _report_progress(self, context: Any) -> None:
        """Needs a window."""


def event(kind: str) -> Any:
    return SimpleNamespace(type=kind, value="PRESS")


def test_steps_are_taken_by_a_timer_until_the_last(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    operator = Operator(Work())
    assert _why_busy() == "Working. Press Esc to cancel."
    assert operator.modal(CONTEXT, event("X")) == {"RUNNING_MODAL"}
    assert operator.modal(CONTEXT, event("TIMER")) == {"RUNNING_MODAL"}
    assert operator.modal(CONTEXT, event("TIMER")) == {"FINISHED"}
    assert operator.said == [("INFO", "Done.")]
    assert runs.current is None and _why_busy() == ""


def test_esc_cancels(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work()
    operator = Operator(work)
    assert operator.modal(CONTEXT, event("ESC")) == {"CANCELLED"}
    assert work.is_cancelled and runs.current is None
    assert operator.said == [("INFO", "Cancelled.")]


def test_esc_stops_the_animation_before_it_cancels(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work()
    operator = Operator(work)
    operator.lets_others_act = True
    assert operator.modal(around(is_playing=True), event("ESC")) == {"PASS_THROUGH"}
    assert not work.is_cancelled
    operator.modal(CONTEXT, event("ESC"))
    assert work.is_cancelled


def test_esc_cancels_what_lets_nothing_else_happen_while_the_animation_plays(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work()
    Operator(work).modal(around(is_playing=True), event("ESC"))
    assert work.is_cancelled


def test_what_there_is_nothing_left_for_ends_and_leaves_redo_what_it_has(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work(RemovedError("Cube is not a soft body anymore."))
    operator = Operator(work)
    operator.changes_meanwhile = True
    assert operator.modal(CONTEXT, event("TIMER")) == {"CANCELLED"}
    assert operator.said == [("INFO", "Cube is not a soft body anymore. Cancelled.")]
    assert work.is_cancelled and runs.current is None


def test_an_error_is_reported_and_a_fault_raised_and_both_end_it(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work(SuppleError("Why."))
    operator = Operator(work)
    assert operator.modal(CONTEXT, event("TIMER")) == {"CANCELLED"}
    assert operator.said == [("ERROR", "Why.")]
    assert work.is_cancelled and runs.current is None
    broken = Work(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        Operator(broken).modal(CONTEXT, event("TIMER"))
    assert broken.is_cancelled and runs.current is None


def test_the_button_cancels_at_the_next_step(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    work = Work()
    operator = Operator(work)
    assert bpy.ops.supple.cancel() == {"FINISHED"}
    # Before the next step nothing happens.
    states = [work.is_cancelled, operator.modal(CONTEXT, event("TIMER")), work.is_cancelled]
    assert states == [False, {"CANCELLED"}, True]
    assert not runs.is_cancelling
    assert not bpy.ops.supple.cancel.poll()


def test_only_a_simulation_can_be_paused(monkeypatch) -> None:
    monkeypatch.setattr(runs, "current", None)
    Operator(Work())
    assert not bpy.ops.supple.pause.poll()
