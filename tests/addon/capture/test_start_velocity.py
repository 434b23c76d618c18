# SPDX-License-Identifier: GPL-3.0-or-later
"""The velocity of bodies at the start."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.addon.capture.start_velocity import centre_of_volume

from ..conftest import set_linear

FPS = 24


@pytest.fixture(autouse=True)
def frames(scene):
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    scene.frame_start, scene.frame_end = 11, 13


def captured():
    (body,) = capture(bpy.context).scene.bodies
    return body


def key(obj, path, values):
    for frame, value in values.items():
        setattr(obj, path, value)
        obj.keyframe_insert(path, frame=frame)
    set_linear(obj)


def test_a_body_starts_at_rest_unless_it_is_said_otherwise(add_body):
    body = captured_body = add_body()
    assert captured().velocity == captured().angular_velocity == (0.0, 0.0, 0.0)
    captured_body.supple.start_velocity = (1.0, -2.0, 0.5)
    body.supple.start_spin = (0.0, 0.25, 3.0)
    assert captured().velocity == pytest.approx((1.0, -2.0, 0.5))
    assert captured().angular_velocity == pytest.approx((0.0, 0.25, 3.0))


def test_velocities_are_in_metres_and_spins_are_not(scene, add_body):
    body = add_body()
    scene.unit_settings.scale_length = 0.1
    body.supple.start_velocity, body.supple.start_spin = (1.0, 0.0, 0.0), (0.0, 0.0, 3.0)
    assert captured().velocity == pytest.approx((0.1, 0.0, 0.0))
    assert captured().angular_velocity == pytest.approx((0.0, 0.0, 3.0))


def test_an_animation_up_to_the_start_says_how_fast_it_is(scene, add_body):
    """Ten units in ten frames, at a tenth of a metre a unit, and a quarter turn about z."""
    body = add_body()
    scene.unit_settings.scale_length = 0.1
    key(body, "location", {1: (0.0, 0.0, 0.0), 11: (10.0, 0.0, 5.0)})
    key(body, "rotation_euler", {1: (0.0, 0.0, 0.0), 11: (0.0, 0.0, math.pi / 2)})
    body.supple.start_from_animation = True
    body.supple.start_velocity = (9.0, 9.0, 9.0)
    scene.frame_set(7)
    found = captured()
    assert found.velocity == pytest.approx((0.1 * FPS, 0.0, 0.05 * FPS), rel=1e-3, abs=1e-3)
    assert found.angular_velocity == pytest.approx((0.0, 0.0, 0.05 * math.pi * FPS), abs=1e-2)
    assert scene.frame_current == 7


def test_what_comes_after_the_start_does_not_count(add_body):
    body = add_body()
    key(body, "location", {11: (0.0, 0.0, 0.0), 21: (10.0, 0.0, 0.0)})
    body.supple.start_from_animation = True
    assert captured().velocity == pytest.approx((0.0, 0.0, 0.0), abs=1e-5)


def test_an_accelerated_animation_has_the_speed_it_has_reached(scene, add_body):
    body = add_body()
    body.driver_add("location", 2).driver.expression = "0.01 * frame * frame"
    body.supple.start_from_animation = True
    assert captured().velocity[2] == pytest.approx(0.02 * 11 * FPS, rel=1e-3)


def test_the_centre_of_mass_is_what_the_velocity_is_of(add_body):
    """It goes round an origin beside it: at ω r, across."""
    body = add_body()
    for vertex in body.data.vertices:
        vertex.co.x += 4.0
    key(body, "rotation_euler", {1: (0.0, 0.0, -1.0), 11: (0.0, 0.0, 0.0)})
    body.supple.start_from_animation = True
    found = captured()
    turning = 0.1 * FPS
    assert found.angular_velocity == pytest.approx((0.0, 0.0, turning), rel=1e-3, abs=1e-3)
    assert found.velocity == pytest.approx((0.0, 4.0 * turning, 0.0), rel=1e-2, abs=0.05)


def test_a_body_without_an_animation_starts_at_rest(add_body):
    add_body().supple.start_from_animation = True
    assert captured().velocity == (0.0, 0.0, 0.0)


def test_the_centre_of_volume_is_not_that_of_the_vertices() -> None:
    """The mesh is a tetrahedron with an additional vertex on a face."""
    vertices = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.0)])
    triangles = np.array(
        [(0, 4, 1), (1, 4, 2), (2, 4, 0), (0, 1, 3), (0, 3, 2), (1, 2, 3)], dtype=np.int32
    )
    np.testing.assert_allclose(centre_of_volume(vertices, triangles), [0.25, 0.25, 0.25])
