# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from supple.addon.reports.timeline import on_timeline


@pytest.mark.parametrize(
    ("message", "seen"),
    [
        ("Cube: frame 3 needs steps below 1e-6 s.", "Cube: frame 103 needs steps below 1e-6 s."),
        (
            "At frame 0 moving pins brought them there.",
            "At frame 100 moving pins brought them there.",
        ),
        ("how frames 3, 14, 5 … went is lost", "how frames 103, 114, 105 … went is lost"),
        ("frames/000003.npy is damaged.", "frames/000003.npy is damaged."),
        (
            "It ended after 3 frames; no frame is left.",
            "It ended after 3 frames; no frame is left.",
        ),
    ],
)
def test_frames_of_the_solver_are_reported_as_the_timeline_counts_them(message, seen):
    assert on_timeline(message, 100) == seen
