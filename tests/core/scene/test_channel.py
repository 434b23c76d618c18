# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Channel, Collider, Scene, SceneError, Skin, SoftBody
from supple.core.assembly.tensor_channel import TensorChannel
from supple.core.scene.channel import FrameTimes, vector
from supple.verification.meshes import block

#: Two points at the start and after two frames.
PATH = np.array(
    [
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        [[1.0, 1.0, 2.0], [3.0, 8.0, 5.0]],
        [[1.0, 1.0, -2.0], [7.0, 8.0, 5.0]],
    ]
)


@pytest.mark.parametrize("samples", [PATH, PATH[:, 0], PATH[:, 0, 0]], ids=["points", "(3,)", "()"])
@pytest.mark.parametrize("read", [Channel, lambda samples: TensorChannel(torch.tensor(samples))])
def test_between_frames_it_changes_linearly_and_stays_after_the_last(samples, read) -> None:
    channel = read(samples)
    for frame, fraction in [(0, 0.0), (0, 0.25), (1, 0.75), (1, 1.0)]:
        expected = (1.0 - fraction) * samples[frame] + fraction * samples[frame + 1]
        np.testing.assert_allclose(channel.at(frame, fraction), expected, rtol=1e-15)
    for frame, fraction in [(2, 0.0), (2, 0.3), (9, 0.7)]:
        np.testing.assert_array_equal(channel.at(frame, fraction), samples[-1])


def test_a_constant_is_the_same_at_all_times() -> None:
    channel = Channel.constant([1.0, 2.0])
    assert channel.is_constant
    assert not Channel(PATH).is_constant
    np.testing.assert_array_equal(channel.at(3, 0.5), [1.0, 2.0])


def read_on_the_device(samples, per_frame: int) -> TensorChannel:
    return TensorChannel(torch.tensor(samples), per_frame)


@pytest.mark.parametrize("read", [Channel, read_on_the_device])
def test_of_several_samples_a_frame_each_has_its_time(read) -> None:
    samples = np.array([0.0, 1.0, 5.0, 2.0, 4.0, 4.5, 9.0])
    channel = read(samples, 3)
    for frame, fraction, expected in [
        *((0, 0.0, 0.0), (0, 1 / 3, 1.0), (0, 0.5, 3.0), (0, 2 / 3, 5.0), (0, 1.0, 2.0)),
        *((1, 0.0, 2.0), (1, 0.5, 4.25), (1, 1.0, 9.0), (2, 0.0, 9.0), (7, 0.4, 9.0)),
    ]:
        assert float(channel.at(frame, fraction)) == pytest.approx(expected, rel=1e-14)


def test_rates_are_those_of_a_second() -> None:
    channel = read_on_the_device(np.array([0.0, 1.0, 5.0, 2.0, 4.0]), 2)
    rates = [(0, 0.0, 2.0), (0, 0.4, 2.0), (0, 0.5, 8.0), (0, 1.0, 8.0), (1, 0.0, -6.0)]
    for frame, fraction, expected in [*rates, (1, 0.9, 4.0), (2, 0.0, 0.0)]:
        assert float(channel.rate(frame, fraction, 1.0)) == expected
        assert float(channel.rate(frame, fraction, 0.25)) == 4.0 * expected


def test_side_by_side_are_channels_of_any_rate() -> None:
    two, three = Channel(PATH[:, :1], 2), Channel(PATH[:, 1:], 3)
    both = Channel.side_by_side([two, three, Channel(PATH[:1])])
    assert both.per_frame == 6
    for frame, fraction in [(0, 0.0), (0, 1 / 6), (0, 1 / 3), (0, 0.5), (0, 1.0), (4, 0.0)]:
        at = both.at(frame, fraction)
        np.testing.assert_allclose(at[:1], two.at(frame, fraction), rtol=1e-12)
        np.testing.assert_allclose(at[1:2], three.at(frame, fraction), rtol=1e-12)
        np.testing.assert_array_equal(at[2:], PATH[0])


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(SceneError, match="1 sample a frame or more, not 0"):
        Channel(PATH, 0)


@pytest.mark.parametrize(
    "given", [PATH, PATH.tolist(), Channel(PATH)], ids=["array", "list", "own"]
)
def test_samples_become_a_channel(given) -> None:
    np.testing.assert_array_equal(Channel.of(given, "the path", None, 3).samples, PATH)


@pytest.mark.parametrize(("given", "shape"), [(5.0, ()), ([1.0, 2, 3], (3,)), (PATH[0], (2, 3))])
def test_what_is_of_the_shape_becomes_a_constant(given, shape) -> None:
    channel = Channel.of(given, "it", *shape)
    assert channel.is_constant
    np.testing.assert_array_equal(channel.at(0), given)


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        (PATH, (3, 3)),
        (PATH[:, :, :2], (None, 3)),
        (PATH[None], (None, 3)),
        (PATH[:0], (None, 3)),
        (1.0, (3,)),
        (Channel(PATH[0]), (None, 3)),
        (Channel(np.array(1.0)), ()),
    ],
)
def test_another_shape_is_refused_by_name(given, shape) -> None:
    with pytest.raises(SceneError, match="the path must be "):
        Channel.of(given, "the path", *shape)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_not_finite_is_named_with_its_frame(make_block, wrong: float) -> None:
    path = PATH.copy()
    path[2, 1, 0] = wrong
    with pytest.raises(SceneError, match="the path must be finite; number 1 is not at frame 2"):
        Channel.of(Channel(path), "the path", 2, 3)
    body = SoftBody(make_block((1, 1, 1)))
    with pytest.raises(SceneError, match="Gravity must be finite; it is not at frame 2"):
        Scene([body], gravity=path[:, 1])
    with pytest.raises(SceneError, match=r"Jelly: the pin path must be .*; number 1 .* frame 2"):
        SoftBody(make_block((1, 1, 1)), pinned=[3, 5], pin_path=path, name="Jelly")
    with pytest.raises(SceneError, match=r"Plate: the vertices must be .*; number 1 .* frame 2"):
        Collider(path, [[0, 1, 1]], name="Plate")


def test_a_path_of_other_points_than_are_pinned_is_refused(make_block) -> None:
    with pytest.raises(SceneError, match=r"pin path must be \(1, 3\) or \(frames, 1, 3\) .*2, 3\)"):
        Skin(PATH[0], pinned=[0], pin_path=PATH)
    with pytest.raises(SceneError, match="pin path must be"):
        SoftBody(make_block((1, 1, 1)), pinned=[0, 1, 2], pin_path=Channel(PATH))


def test_side_by_side_what_ends_earlier_waits() -> None:
    both = Channel.side_by_side([Channel(PATH[:2, :1]), Channel(PATH[:, 1:]), Channel(PATH[:1])])
    assert both.samples.shape == (3, 4, 3)
    np.testing.assert_array_equal(both.samples[:, 0], PATH[[0, 1, 1], 0])
    np.testing.assert_array_equal(both.samples[:, 1], PATH[:, 1])
    np.testing.assert_array_equal(both.samples[:, 2:], PATH[[0, 0, 0]])


def test_a_vector_that_does_not_change_stays_three_numbers() -> None:
    assert vector([0, 1, -2], "Gravity") == (0.0, 1.0, -2.0)
    assert vector(Channel.constant([0, 1, -2]), "Gravity") == (0.0, 1.0, -2.0)
    keyed = vector(PATH[:, 0], "Gravity")
    assert isinstance(keyed, Channel)
    np.testing.assert_array_equal(keyed.at(2), PATH[2, 0])


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
