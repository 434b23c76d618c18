# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that cannot be simulated are refused with a message, before anything starts."""

from __future__ import annotations

import math

import bpy
import pytest

from supple.addon.capture.scene import capture

from .refusals import refusal


def test_a_scene_without_soft_bodies(scene):
    assert "no soft body" in refusal()
    assert "Add Soft Body" in refusal()


def test_adding_needs_a_selected_mesh(scene):
    assert not bpy.ops.supple.add.poll()


def test_a_mesh_without_faces(add_body):
    obj = add_body()
    obj.data = bpy.data.meshes.new("Empty")
    assert "Cube has no faces" in refusal()


def test_a_vertex_at_nan(add_body):
    add_body().data.vertices[5].co.y = float("nan")
    assert "Cube: vertex 5 is not at a finite position" in refusal()


@pytest.mark.parametrize("scale", [(1, 1, 0), (0, 0, 0)])
def test_a_scale_of_zero(add_body, scale):
    add_body().scale = scale
    assert "Cube has a scale of zero" in refusal()


def test_a_scale_that_becomes_zero_later(scene, add_body):
    obj = add_body()
    obj.keyframe_insert("scale", frame=1)
    obj.scale = (1, 1, 0)
    obj.keyframe_insert("scale", frame=4)
    assert "Cube has a scale of zero" in refusal()


def test_every_vertex_pinned(add_body):
    obj = add_body()
    obj.vertex_groups.new(name="All").add(range(8), 1.0, "REPLACE")
    obj.supple.pin_group = "All"
    assert "Cube: the group 'All' pins every vertex" in refusal()


def test_a_pin_group_that_does_not_exist(add_body):
    add_body().supple.pin_group = "Ears"
    assert "Cube has no vertex group 'Ears'" in refusal()


@pytest.mark.parametrize("members", [[], [0]], ids=["no vertex", "a weight of 0"])
def test_a_pin_group_that_holds_nothing(add_body, members):
    obj = add_body()
    obj.vertex_groups.new(name="Ears").add(members, 0.0, "REPLACE")
    obj.supple.pin_group = "Ears"
    assert "Cube: no vertex has a weight above 0 in the group" in refusal()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("yield_stress", 0.0, "Cube: The yield stress must be above 0 Pa, not 0"),
        ("plastic_limit", 0.0, "Cube: The limit of the plastic strain must be above 0, not 0"),
        ("model", "linear", "Cube: the linear model has a constant matrix and cannot be plastic"),
    ],
)
def test_a_plasticity_that_does_not_exist(add_body, setting, value, message):
    props = add_body().supple
    setattr(props, setting, value)
    assert capture(bpy.context).scene.bodies
    props.use_plasticity = True
    assert refusal().startswith(message)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("poisson", 0.5, "Cube: Poisson's ratio must lie above -1 and below 0.5, not 0.5"),
        ("density", 0.0, "Cube: the density must be above 0 kg/m³, not 0"),
        ("young", 0.0, "Cube: Stiffness (Young's modulus) must be above 0 Pa, not 0"),
        ("viscosity", math.nan, "Cube: the viscosity must be 0 Pa s or more, not nan"),
    ],
)
def test_a_material_that_does_not_exist(add_body, setting, value, message):
    setattr(add_body().supple, setting, value)
    assert refusal().startswith(message)


def test_an_end_frame_before_the_start_frame(scene, add_body):
    add_body()
    scene.supple.use_scene_range = False
    scene.supple.frame_start, scene.supple.frame_end = 10, 9
    assert "end frame 9 does not come after the start frame 10" in refusal()


def test_a_body_below_the_ground(scene, add_body):
    add_body()
    scene.supple.ground_height = 0.0
    assert "Cube starts 0.5 m below the ground; raise it or lower the ground." in refusal()


def test_a_body_that_stands_on_the_ground_is_fine(scene, add_body):
    add_body()
    scene.supple.ground_height = -0.5
    ground = capture(bpy.context).scene.ground
    assert ground is not None and ground.height == -0.5


def test_an_object_in_edit_mode(add_body):
    add_body()
    bpy.ops.object.mode_set(mode="EDIT")
    assert "Cube is being edited" in refusal()


def test_nothing_but_hidden_objects(add_body):
    add_body().hide_viewport = True
    assert refusal().startswith("Cube is a hidden soft body and is not simulated. Show it")


def test_the_scene_is_as_it_was_after_a_refusal(scene, add_body):
    add_body().supple.pin_group = "Ears"
    scene.frame_set(3)
    refusal()
    assert scene.frame_current == 3
    assert len(bpy.data.objects["Cube"].modifiers) == 0


def test_a_simulation_that_cannot_begin_is_an_error_of_the_operator(scene, add_body, solver):
    add_body().supple.density = 0.0
    with pytest.raises(RuntimeError, match="the density must be above 0"):
        bpy.ops.supple.simulate()


def dense_cube(add_body) -> bpy.types.Object:
    """16 squares a side, whose top has goals."""
    obj = add_body(location=(0.0, 0.0, 2.0))
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=3)
    bpy.ops.object.mode_set(mode="OBJECT")
    for name, weight, end in (("Top", 0.6, 0.49), ("Low", 1.0, -0.49)):
        group = obj.vertex_groups.new(name=name)
        group.add([v.index for v in obj.data.vertices if v.co.z * end > 0.24], weight, "REPLACE")
    obj.supple.pin_group = "Top"
    return obj


def test_a_goal_on_a_vertex_that_a_modifier_removes(add_body) -> None:
    obj = dense_cube(add_body)
    obj.modifiers.new("Faceted", "TRIANGULATE")
    mask = obj.modifiers.new("Half", "MASK")
    mask.vertex_group = "Low"
    obj.modifiers.new("Faceted Again", "TRIANGULATE")
    first = next(v.index for v in obj.data.vertices if v.co.z > 0.49)
    assert refusal() == (
        f"Cube: the modifier Half leaves no solid at vertex {first} (and 24 more) of the Pin "
        "Group 'Top'. Remove the vertex from the group, or change or apply the modifier."
    )
    assert all(modifier.show_viewport for modifier in obj.modifiers)
    mask.invert_vertex_group = True
    capture(bpy.context)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("SUBSURF", {"levels": 3}),
        ("DECIMATE", {"ratio": 0.5}),
        ("BEVEL", {}),
        ("ARRAY", {}),
        ("SOLIDIFY", {"thickness": 1.0, "offset": 0.0}),
    ],
)
def test_what_changes_vertices_and_keeps_the_solid_is_fine_with_goals(
    add_body, kind, settings
) -> None:
    modifier = dense_cube(add_body).modifiers.new("Changing", kind)
    for name, value in settings.items():
        setattr(modifier, name, value)
    capture(bpy.context)


def test_the_corners_of_a_subdivided_cube_can_be_pinned(add_body) -> None:
    obj = add_body(location=(0.0, 0.0, 2.0))
    obj.vertex_groups.new(name="Corners").add([0, 1], 1.0, "REPLACE")
    obj.supple.pin_group = "Corners"
    obj.modifiers.new("Smooth", "SUBSURF").levels = 4
    capture(bpy.context)
