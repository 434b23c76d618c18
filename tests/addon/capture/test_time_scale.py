# SPDX-License-Identifier: GPL-3.0-or-later
"""The time scale and the frames of a simulation, as artists set them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.captured import CaptureError
from supple.addon.capture.fingerprint import scene_fingerprint
from supple.addon.capture.scene import capture
from supple.addon.reports import ignored
from supple.core.job import digest
from supple.core.scene.channel import Channel

from ..conftest import set_linear


def captured():
    return capture(bpy.context)


def key_time_scale(scene, values, **key):
    for frame, value in values.items():
        scene.supple.time_scale = value
        scene.keyframe_insert("supple.time_scale", frame=frame)
    set_linear(scene)


def test_time_is_real_unless_it_is_said_otherwise(scene, add_body):
    add_body()
    plain = captured()
    assert plain.scene.time_scale == 1.0
    scene.supple.time_scale = 0.45
    slow = captured()
    assert slow.scene.time_scale == 0.45
    assert slow.settings == plain.settings
    names = {digest(each.scene, each.settings) for each in (plain, slow)}
    assert len(names) == 2


def test_keys_are_taken_frame_by_frame_and_within_frames(scene, add_body):
    add_body()
    scene.frame_start, scene.frame_end = 11, 15
    scene.supple.motion_samples = 2
    key_time_scale(scene, {11: 1.0, 12: 0.5, 15: 0.2})
    scale = captured().scene.time_scale
    assert isinstance(scale, Channel)
    np.testing.assert_allclose(scale.samples, [1.0, 0.5, 0.4, 0.3, 0.2], rtol=1e-5)
    for curve in _curves(scene):
        for point in curve.keyframe_points:
            point.interpolation = "BEZIER"
    bent = captured().scene.time_scale
    assert bent.per_frame == 2
    assert len(bent.samples) == 9


def _curves(scene):
    action = scene.animation_data.action
    return action.layers[0].strips[0].channelbag(scene.animation_data.action_slot).fcurves


def test_keys_that_stand_still_are_a_number(scene, add_body):
    add_body()
    key_time_scale(scene, {1: 0.5, 4: 0.5})
    assert captured().scene.time_scale == 0.5


@pytest.mark.parametrize(
    ("values", "told"), [({1: 0.0}, "is 0 at frame 1"), ({2: 1.0, 4: 0.0}, "is 0 at frame 4")]
)
def test_time_that_stands_still_or_runs_back_is_told_with_its_frame(scene, add_body, values, told):
    add_body()
    key_time_scale(scene, values)
    with pytest.raises(CaptureError, match=f"Time Scale must be above 0, and {told}"):
        captured()


def test_a_start_from_animation_is_as_fast_as_time_passes(scene, add_body):
    """Ten units in as many frames at 24 a second; at half the scale half the time passes."""
    body = add_body()
    scene.frame_start, scene.frame_end = 11, 13
    for frame, x in ((1, 0.0), (11, 10.0)):
        body.location = (x, 0.0, 0.0)
        body.keyframe_insert("location", frame=frame)
    set_linear(body)
    body.supple.start_from_animation = True
    scene.supple.time_scale = 0.5
    assert captured().scene.bodies[0].velocity == pytest.approx((48.0, 0.0, 0.0), rel=1e-4)


def test_whatever_is_keyed_does_not_make_a_simulation_look_out_of_date(scene, add_body):
    add_body()
    key_time_scale(scene, {1: 1.0, 4: 0.5})
    scene.frame_set(1)
    mark = scene_fingerprint(scene)
    scene.frame_set(3)
    assert scene_fingerprint(scene) == mark
    scene.animation_data_clear()
    assert scene_fingerprint(scene) != mark


def test_the_pre_roll_is_captured_with_the_animation_of_its_frames(scene, add_body):
    body = add_body()
    group = body.vertex_groups.new(name="Held")
    group.add([0, 1], 1.0, "REPLACE")
    body.supple.pin_group = "Held"
    for frame, x in ((35, 0.0), (37, 2.0)):
        body.location = (x, 0.0, 0.0)
        body.keyframe_insert("location", frame=frame)
    set_linear(body)
    scene.supple.use_scene_range = False
    scene.supple.frame_start, scene.supple.frame_end, scene.supple.pre_roll = 37, 40, 4
    found = captured()
    assert (found.start_frame, found.first_shown, found.end_frame) == (33, 37, 40)
    assert (found.settings.frame_count, found.settings.pre_roll) == (7, 4)
    path = found.scene.bodies[0].skin.pin_path
    np.testing.assert_allclose(
        path.samples[:, 0, 0] - path.samples[0, 0, 0], [0, 0, 0, 1, 2, 2, 2, 2], atol=1e-6
    )


def test_a_pre_roll_before_frame_0_is_read_from_there(scene, add_body):
    add_body()
    scene.supple.pre_roll = 3
    scene.driver_add("gravity", 2).driver.expression = "frame"
    found = captured()
    assert (found.start_frame, found.first_shown) == (-2, 1)
    np.testing.assert_allclose(found.scene.gravity.samples[:, 2], range(-2, 5), atol=1e-6)


def test_a_range_that_ends_before_it_starts_is_told_whatever_the_pre_roll(scene, add_body):
    add_body()
    scene.frame_start, scene.frame_end, scene.supple.pre_roll = 9, 9, 3
    with pytest.raises(CaptureError, match="end frame 9 does not come after the start frame 9"):
        captured()
    scene.supple.pre_roll = -5
    assert scene.supple.pre_roll == 0


def test_keys_that_are_all_before_or_after_the_range_are_told(scene, add_body):
    body = add_body()
    key_time_scale(scene, {1: 1.0, 4: 0.5})
    assert not ignored.messages(bpy.context)
    scene.frame_start, scene.frame_end = 5, 9
    (message,) = ignored.messages(bpy.context)
    assert "all keys of Time Scale are before the start frame 5" in message
    scene.supple.pre_roll = 2
    assert not ignored.messages(bpy.context)
    body.supple.keyframe_insert("young", frame=12)
    body.supple.young *= 2.0
    body.supple.keyframe_insert("young", frame=14)
    (message,) = ignored.messages(bpy.context)
    assert "Cube: all keys of Stiffness are after the end frame 9" in message
