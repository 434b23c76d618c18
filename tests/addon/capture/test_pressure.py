# SPDX-License-Identifier: GPL-3.0-or-later
"""The pressure inside of a body, which can be keyed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture import fingerprint
from supple.addon.capture.scene import capture

from ..conftest import set_linear


def captured_pressure():
    (body,) = capture(bpy.context).scene.bodies
    return body.pressure


def test_a_pressure_that_is_not_keyed_is_a_number(add_body):
    body = add_body()
    assert captured_pressure() == 0.0
    body.supple.pressure = 1234.5
    assert captured_pressure() == pytest.approx(1234.5)


def test_a_keyed_pressure_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 3, 6
    for frame, pressure in ((3, 0.0), (6, 300.0)):
        body.supple.pressure = pressure
        body.keyframe_insert("supple.pressure", frame=frame)
    set_linear(body)
    scene.frame_set(5)
    np.testing.assert_allclose(captured_pressure().samples, [0.0, 100.0, 200.0, 300.0], rtol=1e-5)
    assert scene.frame_current == 5
    assert body.supple.pressure == pytest.approx(200.0)


def test_a_driven_pressure_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 1, 3
    body.driver_add("supple.pressure").driver.expression = "10 * frame"
    np.testing.assert_allclose(captured_pressure().samples, [10.0, 20.0, 30.0], rtol=1e-5)


def test_another_frame_of_a_keyed_pressure_is_no_change_and_another_pressure_is(scene, add_body):
    body = add_body()
    body.supple.pressure = 5.0
    before = fingerprint.body_fingerprint(body)
    body.supple.pressure = 6.0
    assert fingerprint.body_fingerprint(body) != before
    for frame, pressure in ((1, 0.0), (9, 300.0)):
        body.supple.pressure = pressure
        body.keyframe_insert("supple.pressure", frame=frame)
    scene.frame_set(1)
    keyed = fingerprint.body_fingerprint(body)
    scene.frame_set(7)
    assert fingerprint.body_fingerprint(body) == keyed
