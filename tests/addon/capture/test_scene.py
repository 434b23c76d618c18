# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of a Blender scene that reach the solver: its settings, its frames, its gravity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon.capture.captured import CaptureError, RemovedError
from supple.addon.capture.scene import capture
from supple.addon.capture.surfaces import corner_vertices, polygons, vertex_coordinates
from supple.core import Fluid
from supple.core.job import Settings

from ..conftest import set_linear


def captured() -> Any:
    return capture(bpy.context)


def test_unit_scale_turns_lengths_ground_and_gravity_into_metres(scene, add_body):
    add_body()
    scene.unit_settings.scale_length = 0.01
    described = captured().scene
    assert np.ptp(described.bodies[0].skin.points[:, 0]) == pytest.approx(0.01)
    assert described.bodies[0].mesh.edge_length == pytest.approx(0.005)
    assert described.ground.height == pytest.approx(-0.05)
    assert described.gravity[2] == pytest.approx(-0.0981)


def test_without_a_unit_system_a_unit_is_a_metre(scene, add_body):
    add_body()
    scene.unit_settings.scale_length = 0.01
    scene.unit_settings.system = "NONE"
    assert np.ptp(captured().scene.bodies[0].skin.points[:, 0]) == pytest.approx(1.0)


def test_scene_settings_become_time_gravity_and_frames(scene, add_body):
    add_body()
    scene.render.fps, scene.render.fps_base = 30, 1.001
    scene.gravity = (1.0, 0.0, -2.0)
    scene.frame_start, scene.frame_end = 11, 31
    scene.supple.substeps, scene.supple.integrator = 3, "bdf2"
    now = captured()
    assert (now.settings.substeps, now.settings.integrator) == (3, "bdf2")
    assert now.settings.frame_time == pytest.approx(1.001 / 30)
    assert now.settings.frame_count == 20
    assert now.start_frame == 11
    assert now.scene.gravity == (1.0, 0.0, -2.0)
    scene.use_gravity = False
    assert captured().scene.gravity == (0.0, 0.0, 0.0)


def test_a_hidden_body_is_left_out(scene, add_body):
    add_body()
    hidden = [add_body(name, location=(3 * k, 0, 0)) for k, name in enumerate("ABC", start=1)]
    hidden[0].hide_set(True)
    hidden[1].hide_viewport = True
    away = bpy.data.collections.new("Away")
    scene.collection.children.link(away)
    away.objects.link(hidden[2])
    scene.collection.objects.unlink(hidden[2])
    away.hide_viewport = True
    assert [body.name for body in captured().scene.bodies] == ["Cube"]


def test_a_fluid_is_captured_in_metres_where_it_is_used(scene, add_body):
    add_body()
    scene.unit_settings.scale_length = 0.1
    props = scene.supple
    props.fluid_level, props.fluid_density, props.fluid_drag = -2.0, 900.0, 0.45
    assert captured().scene.forces == []
    props.use_fluid = True
    (fluid,) = captured().scene.forces
    assert fluid.level == pytest.approx(-0.2)
    assert replace(fluid, level=0.0) == Fluid(0.0, 900.0, 0.45, 0.5)
    props.fluid_density = -1.0
    with pytest.raises(CaptureError, match="Fluid: the density"):
        captured()


def test_keyed_gravity_is_captured_frame_by_frame(scene, add_body):
    add_body()
    scene.unit_settings.scale_length = 0.1
    scene.frame_start, scene.frame_end = 2, 5
    for frame, gravity in ((2, (0.0, 1.0, -9.0)), (5, (3.0, 1.0, 0.0))):
        scene.gravity = gravity
        scene.keyframe_insert("gravity", frame=frame)
    set_linear(scene)
    scene.frame_set(4)
    gravity = captured().scene.gravity
    expected = [[0.0, 0.1, -0.9], [0.1, 0.1, -0.6], [0.2, 0.1, -0.3], [0.3, 0.1, 0.0]]
    np.testing.assert_allclose(gravity.samples, expected, atol=1e-6)
    assert scene.frame_current == 4


def test_gravity_that_is_switched_off_and_one_that_is_driven_are_followed(scene, add_body):
    add_body()
    scene.frame_start, scene.frame_end = 1, 4
    for frame, acts in ((1, True), (3, False)):
        scene.use_gravity = acts
        scene.keyframe_insert("use_gravity", frame=frame)
    scene.driver_add("gravity", 0).driver.expression = "2 * frame"
    gravity = captured().scene.gravity
    expected = [[2.0, 0, -9.81], [4.0, 0, -9.81], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(gravity.samples, expected, atol=1e-6)


def test_keyed_gravity_that_stays_the_same_is_a_constant(scene, add_body):
    add_body()
    scene.gravity = (1.0, 0.0, -2.0)
    scene.keyframe_insert("gravity", frame=1)
    scene.keyframe_insert("gravity", frame=9)
    assert captured().scene.gravity == (1.0, 0.0, -2.0)


def test_a_scene_begins_with_the_choice_of_an_integrator(scene):
    assert scene.supple.integrator == "automatic"


def test_the_tolerance_of_adaptive_steps_counts_where_they_are_taken(scene, add_body):
    add_body()
    scene.supple.step_tolerance = 1e-6
    assert captured().settings.step_tolerance == Settings.step_tolerance
    scene.supple.integrator = "adaptive_midpoint"
    assert captured().settings.step_tolerance == pytest.approx(1e-6)


def test_an_own_frame_range_replaces_the_scenes(scene, add_body):
    add_body()
    scene.supple.use_scene_range = False
    scene.supple.frame_start, scene.supple.frame_end = 5, 8
    now = captured()
    assert (now.start_frame, now.settings.frame_count) == (5, 3)


def test_every_soft_body_is_captured_and_no_other_object(add_body):
    add_body("B")
    add_body("A", location=(3, 0, 0))
    add_body("C", location=(6, 0, 0)).supple.enabled = False
    assert sorted(body.name for body in captured().scene.bodies) == ["A", "B"]


def test_unit_scale_reaches_the_tolerance(scene, add_body):
    scene.unit_settings.scale_length = 0.01
    add_body()
    scene.supple.integrator, scene.supple.step_tolerance = "adaptive_midpoint", 1e-3
    assert captured().settings.step_tolerance == pytest.approx(1e-5)


def test_a_body_is_found_by_another_name_and_not_where_it_was_deleted(add_body):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    captured = capture(bpy.context)
    first.name = "Another"
    assert captured.soft_bodies() == [first, second]
    bpy.data.objects.remove(second)
    assert captured.soft_bodies() == [first, None]
    captured.check_left()


def test_it_is_told_when_no_body_is_left(add_body):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    captured = capture(bpy.context)
    first.supple.enabled = False
    # What is unlinked from all collections stays in the file, in no scene.
    bpy.context.collection.objects.unlink(second)
    assert second.name in bpy.data.objects
    with pytest.raises(RemovedError, match=r"^First, Second are not soft bodies anymore\.$"):
        captured.check_left()
    first.supple.enabled = True
    captured.check_left()


@pytest.mark.parametrize("mode", ["OBJECT", "EDIT", "SCULPT", "WEIGHT_PAINT"])
def test_a_mesh_is_read_in_every_mode(add_body, mode):
    mesh = add_body(location=(1, 2, 3)).data
    bpy.ops.object.mode_set(mode=mode)
    assert (mesh.attributes.get("position") is None) == (mode == "EDIT")
    points = [tuple(vertex.co) for vertex in mesh.vertices]
    assert len(points) == 8 and np.ptp(points) == 1.0
    np.testing.assert_array_equal(vertex_coordinates(mesh), points)
    corners = [vertex for polygon in mesh.polygons for vertex in polygon.vertices]
    np.testing.assert_array_equal(corner_vertices(mesh), corners)
    np.testing.assert_array_equal(polygons(mesh), [*range(0, 24, 4), *corners])


def test_an_empty_mesh_has_neither(scene):
    mesh = bpy.data.meshes.new("Empty")
    assert vertex_coordinates(mesh).shape == (0, 3)
    assert len(corner_vertices(mesh)) == 0
