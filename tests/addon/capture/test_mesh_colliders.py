# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders of any shape, still or moving, as contact meets them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.core.scene.contact_settings import Collider

from ..conftest import AddBody, world_positions
from .refusals import refusal

AddPlate = Callable[..., bpy.types.Object]


@pytest.fixture
def add_plate(add_body: AddBody) -> AddPlate:
    """Makes a square to land on, 2 m wide, below a soft cube."""
    add_body()

    def add(name: str = "Plate", **settings: Any) -> bpy.types.Object:
        bpy.ops.mesh.primitive_plane_add(**{"size": 2.0, "location": (0, 0, -2), **settings})
        obj = bpy.context.object
        obj.name, obj.supple.collider = name, True
        return obj

    return add


def captured() -> list[Collider]:
    return capture(bpy.context).scene.meshes


def normals(collider: Collider) -> np.ndarray:
    a, b, c = collider.at(0)[collider.triangles].swapaxes(0, 1)
    return np.cross(b - a, c - a)


def check_follows(obj: bpy.types.Object) -> None:
    """The captured mesh is the one that Blender shows, in metres, at every frame."""
    (collider,) = captured()
    assert len(collider.vertices.samples) == 4
    for index, frame in enumerate(range(1, 5)):
        shown = world_positions(obj, frame)
        np.testing.assert_allclose(collider.at(index), shown, atol=1e-6)
    assert np.ptp(collider.vertices.samples, axis=0).max() > 0.1


# As what


def test_a_still_mesh_is_stored_once_in_the_world_and_in_metres(scene, add_plate):
    bpy.ops.object.empty_add(location=(0, 0, -9), rotation=(0, 0, math.pi / 2))
    parent = bpy.context.object
    add_plate(location=(2, 0, 0)).parent = parent
    scene.unit_settings.scale_length = 0.1
    (collider,) = captured()
    assert collider.name == "Plate"
    assert collider.vertices.samples.shape == (1, 4, 3)
    assert collider.triangles.shape == (2, 3)
    np.testing.assert_allclose(collider.at(0).mean(axis=0), (0.0, 0.2, -0.9), atol=1e-6)
    np.testing.assert_allclose(np.ptp(collider.at(0), axis=0), (0.2, 0.2, 0.0), atol=1e-6)


def test_friction_sliding_and_thickness_reach_the_solver_as_they_were_typed(scene, add_plate):
    props = add_plate().supple
    (collider,) = captured()
    assert (collider.friction, collider.kinetic_friction, collider.thickness) == (0.5, None, 0.0)
    scene.unit_settings.scale_length = 0.1
    props.collider_friction, props.collider_sliding_friction = 0.8, 0.5
    props.collider_thickness = 0.03
    (collider,) = captured()
    assert (collider.friction, collider.kinetic_friction) == (0.8, 0.4)
    assert collider.thickness == pytest.approx(0.003)


def test_a_mirrored_object_keeps_its_outside(add_plate):
    plate = add_plate()
    assert (normals(captured()[0])[:, 2] > 0).all()
    plate.scale.x = -1.0
    assert (normals(captured()[0])[:, 2] > 0).all()


def test_modifiers_count(add_plate):
    add_plate().modifiers.new("Thick", "SOLIDIFY").thickness = 0.5
    (collider,) = captured()
    assert np.ptp(collider.at(0)[:, 2]) == pytest.approx(0.5)
    assert collider.vertices.is_constant


def test_points_in_no_face_are_left_out(add_plate):
    plate = add_plate()
    plate.data.vertices.add(1)
    plate.data.vertices[4].co = (0.0, 0.0, 9.0)
    assert captured()[0].vertices.samples.shape == (1, 4, 3)


def test_an_empty_that_shows_a_sphere_is_one_and_may_be_uneven(add_body):
    add_body()
    bpy.ops.object.empty_add(type="SPHERE", radius=0.5, location=(0, 1, -3))
    empty = bpy.context.object
    empty.supple.collider, empty.scale = True, (1.0, 2.0, 1.0)
    (collider,) = captured()
    from_center = (collider.at(0) - (0, 1, -3)) / (0.5, 1.0, 0.5)
    np.testing.assert_allclose(np.linalg.norm(from_center, axis=1), 1.0, atol=1e-5)
    assert len(bpy.data.meshes) == 1


def test_the_triangles_of_a_box_may_lie_anywhere(add_plate):
    plate = add_plate()
    mesh = bpy.data.meshes.new("Flat and open")
    corners = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2), (0, 2, 3)])
    plate.data = mesh
    assert len(captured()[0].triangles) == 2


# Which


def test_every_shown_one_counts_in_the_order_of_names(add_plate):
    add_plate("B")
    add_plate("A").hide_render = True
    add_plate("Hidden").hide_viewport = True
    add_plate("Eye closed").hide_set(True)
    add_plate("Not ticked").supple.collider = False
    assert [collider.name for collider in captured()] == ["A", "B"]


# Moving


def test_an_animated_object(scene, add_plate):
    plate = add_plate()
    for frame, turn, width in ((1, 0.0, 1.0), (4, 1.0, 2.0)):
        plate.rotation_euler.y, plate.scale.x = turn, width
        plate.keyframe_insert("rotation_euler", frame=frame)
        plate.keyframe_insert("scale", frame=frame)
    scene.frame_set(2)
    check_follows(plate)
    scene.frame_set(2)
    captured()
    assert scene.frame_current == 2


def test_time_stretching_is_left_to_what_is_played(scene, add_plate):
    plate = add_plate()
    for frame, height in ((1, -2.0), (4, -1.0)):
        plate.location.z = height
        plate.keyframe_insert("location", frame=frame)
    check_follows(plate)
    (before,) = captured()
    scene.frame_set(3)
    scene.render.frame_map_new = 200
    (after,) = captured()
    # The frames 0 to 2 of the animation are played as 1 to 4; before its first key it stands still.
    np.testing.assert_array_equal(after.vertices.samples, before.vertices.samples[[0, 0, 1]])
    assert (scene.render.frame_map_old, scene.render.frame_map_new) == (100, 200)
    assert (scene.frame_current, scene.frame_current_final) == (3, 1.5)


def test_an_animated_parent(add_plate):
    plate = add_plate()
    bpy.ops.object.empty_add()
    plate.parent = bpy.context.object
    for frame, x in ((1, 0.0), (4, 1.0)):
        plate.parent.location.x = x
        plate.parent.keyframe_insert("location", frame=frame)
    check_follows(plate)


def test_shape_keys(add_plate):
    plate = add_plate()
    plate.shape_key_add(name="Basis")
    key = plate.shape_key_add(name="Up", from_mix=False)
    key.points[0].co.z += 1.0
    for frame, value in ((1, 0.0), (4, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    check_follows(plate)


def test_a_face_that_is_bent_so_that_blender_splits_it_the_other_way(add_plate):
    plate = add_plate()
    plate.shape_key_add(name="Basis")
    corners, splits = [0, 1, 3, 2], set()
    for corner in corners:
        # Drawn in beyond the middle: a dart.
        key = plate.shape_key_add(name=f"Dart {corner}", from_mix=False)
        key.points[corner].co *= -0.5
    for frame, corner in enumerate(corners, 1):
        for each in corners:
            key = plate.data.shape_keys.key_blocks[f"Dart {each}"]
            key.value = float(each == corner)
            key.keyframe_insert("value", frame=frame)
    for frame in (1, 2):
        bpy.context.scene.frame_set(frame)
        seen = plate.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        splits.add(str([tuple(each.vertices) for each in seen.loop_triangles]))
    assert len(splits) == 2
    check_follows(plate)


def test_an_armature(add_plate):
    plate = add_plate()
    bpy.ops.object.armature_add(location=(0, 0, -2))
    armature = bpy.context.object
    plate.modifiers.new("Armature", "ARMATURE").object = armature
    plate.vertex_groups.new(name="Bone").add([0, 1], 1.0, "REPLACE")
    bone = armature.pose.bones["Bone"]
    for frame, z in ((1, 0.0), (4, 1.0)):
        bone.location.z = z
        bone.keyframe_insert("location", frame=frame)
    check_follows(plate)


def test_a_modifier_with_a_driver(add_plate):
    plate = add_plate()
    modifier = plate.modifiers.new("Bend", "SIMPLE_DEFORM")
    modifier.deform_method = "STRETCH"
    modifier.driver_add("factor").driver.expression = "frame / 4"
    check_follows(plate)


def test_what_could_move_but_stands_still_is_stored_once(add_plate):
    plate = add_plate()
    plate.constraints.new("LIMIT_LOCATION")
    plate.modifiers.new("Wave", "WAVE").height = 0.0
    plate.keyframe_insert("location", frame=1)
    assert captured()[0].vertices.is_constant


def test_bodies_and_colliders_are_read_in_one_pass(scene, add_plate):
    plate, cube = add_plate(), bpy.data.objects["Cube"]
    cube.vertex_groups.new(name="Pin").add([0], 1.0, "REPLACE")
    cube.supple.pin_group = "Pin"
    for obj in (plate, cube):
        for frame in (1, 4):
            obj.location.x = 0.1 * frame
            obj.keyframe_insert("location", frame=frame)
            scene.gravity[0] = 0.1 * frame
            scene.keyframe_insert("gravity", frame=frame)
    seen: list[int] = []

    def note(scene: bpy.types.Scene, *_: object) -> None:
        seen.append(scene.frame_current)

    bpy.app.handlers.frame_change_post.append(note)
    try:
        now = capture(bpy.context).scene
    finally:
        bpy.app.handlers.frame_change_post.remove(note)
    assert seen == [1, *(1, 1), *(2, 2), *(3, 3), 4, 1]
    assert now.meshes[0].vertices.samples.shape == (4, 4, 3)
    assert now.bodies[0].skin.pin_path.samples.shape == (7, 1, 3)
    assert now.gravity.samples.shape == (4, 3)


# What is refused


def test_faces_that_change(add_plate):
    array = add_plate().modifiers.new("Array", "ARRAY")
    array.driver_add("count").driver.expression = "1 + (frame > 2)"
    message = (
        "Plate has other faces at frame 3 than at frame 1, and a collider must keep its "
        "faces. Remove the"
    )
    assert refusal().startswith(message)


def test_a_mesh_without_faces(add_plate):
    add_plate().data = bpy.data.meshes.new("Empty")
    assert refusal().startswith("Plate is a collider without faces. Add faces, or untick Collider.")


def test_a_vertex_at_nan(add_plate):
    add_plate().data.vertices[2].co.y = float("nan")
    assert "Plate: vertex 2 is not at a finite position at frame 1. Check its mesh" in refusal()
