# SPDX-License-Identifier: GPL-3.0-or-later
"""The time left and the pace of a simulation."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from supple.addon import runs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(runs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_the_time_left_follows_from_the_frames_of_the_last_seconds(clock):
    pace = runs.Pace()
    assert pace.describe(100) == ""
    pace.observe(20)
    assert pace.describe(100) == "", "one frame has no pace"
    for frame in range(21, 41):
        clock[0] += 0.5
        pace.observe(frame)
    assert pace.describe(100) == "30 s left, 2 frames per second"


def test_a_slow_start_is_forgotten(clock):
    pace = runs.Pace()
    pace.observe(0)
    clock[0] += 100.0
    for frame in range(1, 121):
        clock[0] += 0.1
        pace.observe(frame)
    assert pace.describe(130).endswith("10 frames per second")


def test_a_frame_that_does_not_come_lengthens_the_time_left(clock):
    pace = runs.Pace()
    pace.observe(0)
    clock[0] += 1.0
    pace.observe(1)
    clock[0] += 9.0
    pace.observe(1)
    assert pace.describe(11) == "1 min 40 s left, 0.1 frames per second"
