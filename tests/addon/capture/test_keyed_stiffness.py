# SPDX-License-Identifier: GPL-3.0-or-later
"""A stiffness that is keyed or driven, as the solver gets it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture import fingerprint
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.reports import ignored

from ..conftest import set_linear


def key(obj, *values):
    """A value at each of the frames 1, 4, …"""
    for index, value in enumerate(values):
        obj.supple.young = value
        obj.supple.keyframe_insert("young", frame=1 + 3 * index)
    set_linear(obj)


def body():
    return capture(bpy.context).scene.bodies[0]


def test_keys_become_factors_on_the_stiffness_of_the_start(scene, add_body):
    obj = add_body()
    key(obj, 2e4, 8e4)
    scene.frame_set(3)
    found = body()
    assert found.material.young == 2e4
    np.testing.assert_allclose(found.stiffness.samples, [1.0, 2.0, 3.0, 4.0], rtol=1e-5)
    assert scene.frame_current == 3


def test_keys_of_one_value_are_a_number(add_body):
    key(add_body(), 3e4, 3e4)
    found = body()
    assert (found.material.young, found.stiffness) == (3e4, None)


def test_a_driver_counts_as_well(scene, add_body):
    obj = add_body()
    driver = obj.driver_add("supple.young").driver
    driver.type, driver.expression = "SCRIPTED", "1000 * frame"
    found = body()
    assert found.material.young == pytest.approx(1e3)
    np.testing.assert_allclose(found.stiffness.samples, [1.0, 2.0, 3.0, 4.0], rtol=1e-5)


def test_the_guard_keeps_its_ratio(add_body):
    obj = add_body()
    obj.supple.model, obj.supple.guard = "st_venant_kirchhoff", 10.0
    key(obj, 2e4, 8e4)
    assert body().material.compression_resistance == pytest.approx(2e5)


def test_a_stiffness_that_vanishes_is_refused_with_when(add_body):
    key(add_body(), 3e3, 0.0)
    with pytest.raises(CaptureError, match="Cube: Stiffness must be above 0 Pa, and is 0 3 frames"):
        body()


def test_its_keys_are_not_ignored_and_no_change_of_a_setting(scene, add_body):
    obj = add_body()
    key(obj, 2e4, 8e4)
    assert ignored.messages(bpy.context) == []
    marks = []
    for frame in (1, 3):
        scene.frame_set(frame)
        marks.append(fingerprint.body_fingerprint(obj)["settings"])
    assert marks[0] == marks[1]
    obj.supple.density = 500.0
    assert fingerprint.body_fingerprint(obj)["settings"] != marks[0]
