# SPDX-License-Identifier: GPL-3.0-or-later
"""Making soft bodies of meshes, and meshes of soft bodies."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.capture.objects import soft_bodies
from supple.addon.capture.scene import capture
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.properties import selection

from ..layout import drawn


@pytest.fixture
def cube(scene: bpy.types.Scene) -> bpy.types.Object:
    scene.supple.ground_height = 0.0
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 3))
    return bpy.context.object


def test_add_makes_every_selected_mesh_a_soft_body_and_nothing_else(scene, cube):
    bpy.ops.object.camera_add()
    bpy.context.object.select_set(True)
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, 3))
    other = bpy.context.object
    cube.select_set(True)
    assert bpy.ops.supple.add() == {"FINISHED"}
    assert set(soft_bodies(bpy.context)) == {cube, other}
    assert scene.supple.ground_height == 0.0


def test_the_ground_goes_half_a_height_below_a_first_body_that_lies_under_it(scene, cube):
    cube.location.z = 0.0
    cube.scale = (1, 1, 3)
    bpy.context.view_layer.update()
    bpy.ops.supple.add()
    assert scene.supple.ground_height == pytest.approx(-3.0)
    capture(bpy.context)


def test_the_ground_stays_under_what_is_below_it_by_rounding_alone(scene, cube):
    cube.location.z = 0.5 - 1e-7
    bpy.context.view_layer.update()
    bpy.ops.supple.add()
    assert scene.supple.ground_height == 0.0
    capture(bpy.context)


def test_the_ground_stays_once_there_is_a_soft_body(scene, cube):
    bpy.ops.supple.add()
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, -9))
    bpy.ops.supple.add()
    assert scene.supple.ground_height == 0.0


def test_a_soft_body_is_not_added_twice(cube):
    bpy.ops.supple.add()
    assert not bpy.ops.supple.add.poll()


@pytest.mark.parametrize(
    ("add", "kind"),
    [
        (lambda: bpy.ops.object.text_add(), "text"),
        (lambda: _add_tube(), "curve"),
        (lambda: bpy.ops.surface.primitive_nurbs_surface_sphere_add(), "surface"),
        (lambda: bpy.ops.object.metaball_add(), "metaball"),
    ],
)
def test_what_can_be_converted_says_how(scene, add, kind):
    add()
    name = bpy.context.object.name
    cure = f"{name} is a {kind}, not a mesh. Choose Object › Convert › Mesh first."
    assert selection.why_none(bpy.context) == cure
    assert ("INFO", cure) in drawn(SUPPLE_PT_main, bpy.context.object).texts
    assert not bpy.ops.supple.simulate.poll()
    bpy.ops.object.convert(target="MESH")
    assert selection.candidates(bpy.context) == [bpy.context.object]


def _add_tube() -> None:
    bpy.ops.curve.primitive_bezier_circle_add()
    bpy.context.object.data.bevel_depth = 0.1


def test_a_hidden_mesh_is_told_to_be_hidden(cube):
    cube.hide_set(True)
    cure = "Cube is hidden and cannot be selected. Show it first."
    assert ("INFO", cure) in drawn(SUPPLE_PT_main, cube).texts
    assert not bpy.ops.supple.add.poll() and not bpy.ops.supple.simulate.poll()


def test_a_mesh_becomes_one_where_its_modifiers_leave_it_faces(scene):
    bpy.ops.mesh.primitive_circle_add(vertices=8)
    ring = bpy.context.object
    cure = f"{ring.name} has no faces, and a soft body needs a surface to fill. Add faces first."
    assert selection.why_none(bpy.context) == cure
    assert not bpy.ops.supple.add.poll() and not bpy.ops.supple.simulate.poll()
    screw = ring.modifiers.new("Screw", "SCREW")
    bpy.context.view_layer.update()
    assert selection.candidates(bpy.context) == [ring]
    screw.show_viewport = False
    bpy.ops.mesh.primitive_monkey_add()
    monkey = bpy.context.object
    ring.select_set(True)
    assert selection.candidates(bpy.context) == [monkey]


def test_remove_keeps_the_settings_for_the_next_time(cube):
    bpy.ops.supple.add()
    cube.supple.density = 77.0
    assert bpy.ops.supple.remove() == {"FINISHED"}
    assert not cube.supple.enabled
    assert cube.supple.density == 77.0
    assert not bpy.ops.supple.remove.poll()


def test_bake_and_free_wait_for_a_simulation(cube):
    bpy.ops.supple.add()
    assert not bpy.ops.supple.bake.poll()
    assert not bpy.ops.supple.free.poll()


def test_all_selected_objects_become_colliders(scene, add_body):
    body = add_body()
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    bpy.ops.object.empty_add(type="SPHERE")
    ball = bpy.context.object
    bpy.ops.mesh.primitive_cube_add()
    left = bpy.context.object
    for obj in (body, plane, ball):
        obj.select_set(True)
    left.select_set(False)
    assert bpy.ops.supple.add_collider() == {"FINISHED"}
    colliders = {obj.name for obj in scene.objects if obj.supple.collider}
    assert colliders == {plane.name, ball.name}


def test_no_collider_is_made_of_a_soft_body(add_body):
    add_body()
    with pytest.raises(RuntimeError, match="Select a mesh or an empty sphere"):
        bpy.ops.supple.add_collider()
