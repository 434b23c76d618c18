# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the simulated time of frames: the integral of the time scale."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.errors import SceneError
from supple.core.scene.channel import Channel, FrameTimes
from supple.core.scene.scene import Scene
from supple.core.scene.soft_body import SoftBody
from supple.verification.meshes import block

FRAME = 1.0 / 24.0


def test_frames_of_a_constant_scale_are_all_that_long():
    times = FrameTimes(FRAME, 0.5)
    assert times.longest == times.of(0) == times.of(99) == 0.5 * FRAME
    assert times.until(7) == pytest.approx(3.5 * FRAME, rel=1e-15)


def test_a_ramp_has_the_time_of_its_integral_and_then_goes_on():
    """1 to 0.25 over three frames: ∫ (1 − t/4) dt = t − t²/8."""
    times = FrameTimes(FRAME, Channel(np.array([1.0, 0.75, 0.5, 0.25])))
    for frame in range(4):
        assert times.until(frame) == pytest.approx((frame - frame**2 / 8) * FRAME, rel=1e-14)
    assert times.until(8) == pytest.approx((3 - 9 / 8 + 5 * 0.25) * FRAME, rel=1e-14)
    assert times.longest == pytest.approx(0.875 * FRAME)


def test_samples_between_frames_count_in_the_frame_that_they_are_in():
    """Two a frame, the last frame of which ends with half of it: 1, 3, 1 and 1, 1 (then 1)."""
    times = FrameTimes(FRAME, Channel(np.array([1.0, 3.0, 1.0, 2.0]), 2))
    assert times.of(0) == pytest.approx(2.0 * FRAME)
    assert times.of(1) == pytest.approx((0.75 + 1.0) * FRAME)
    assert times.of(2) == 2.0 * FRAME


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        (0.0, "is 0 at frame 0"),
        (-1.0, "is -1 at frame 0"),
        ([1.0, 0.5, -0.25], "is -0.25 at frame 2"),
        ([1.0, np.nan], "is not at frame 1"),
        ([[1.0, 1.0]], "must be a number, or one a frame"),
    ],
)
def test_time_that_stands_still_or_runs_back_is_refused(scale, told):
    with pytest.raises(SceneError, match=told):
        Scene([SoftBody(block((1, 1, 1)))], time_scale=scale)
