# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertices are attached to which object, and what is refused."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.addon.properties.object import can_hold
from supple.core.scene.scene import Scene

from .refusals import refusal


@pytest.fixture
def cube(add_body) -> bpy.types.Object:
    """A soft cube with the vertices 1 and 4 in the group Hold."""
    obj = add_body()
    group = obj.vertex_groups.new(name="Hold")
    group.add([1, 4], 1.0, "REPLACE")
    group.add([2], 0.5, "REPLACE")
    obj.supple.attach_group = "Hold"
    return obj


def add_plate(name: str = "Plate", collider: bool = True) -> bpy.types.Object:
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -2))
    obj = bpy.context.object
    obj.name, obj.supple.collider = name, collider
    return obj


def captured() -> Scene:
    return capture(bpy.context).scene


def test_a_group_without_an_object_is_not_attached(cube):
    assert captured().attachments == []


def test_a_body_is_attached_to_another(cube, add_body):
    cube.supple.attach_to = add_body("A", location=(3, 0, 0))
    now = captured()
    (attachment,) = now.attachments
    names = [body.name for body in now.bodies]
    assert sorted(names) == ["A", "Cube"] and attachment.to == "body"
    assert (names[attachment.body], names[attachment.other]) == ("Cube", "A")
    np.testing.assert_array_equal(attachment.points, [1, 4])
    assert now.contact is not None


def test_a_body_is_attached_to_a_collider(cube):
    add_plate("A")
    cube.supple.attach_to = add_plate("B")
    now = captured()
    (attachment,) = now.attachments
    assert (attachment.body, attachment.to, attachment.other) == (0, "collider", 1)
    assert now.meshes[1].name == "B"


def test_only_soft_bodies_and_colliders_are_offered(cube, add_body):
    offered = [add_body("A"), add_plate("B"), add_plate("C", collider=False), cube]
    assert [can_hold(cube.supple, obj) for obj in offered] == [True, True, False, False]


def test_no_group(cube):
    cube.supple.attach_to, cube.supple.attach_group = add_plate(), ""
    assert refusal().startswith("Cube is attached to Plate and has no vertex group to attach.")


def test_a_group_that_does_not_exist(cube):
    cube.supple.attach_to, cube.supple.attach_group = add_plate(), "Ears"
    assert refusal() == "Cube has no vertex group 'Ears' to attach. Choose another group."


def test_a_group_that_holds_nothing(cube):
    cube.vertex_groups["Hold"].remove([1, 4])
    cube.supple.attach_to = add_plate()
    assert refusal().startswith("Cube: no vertex has a weight above 0.5 in the group 'Hold'")


def test_itself(cube):
    cube.supple.attach_to = cube
    assert refusal() == "Cube is attached to itself. Choose another object."


def test_a_mesh_that_is_no_collider(cube):
    cube.supple.attach_to = add_plate(collider=False)
    assert "attached to Plate, which is not a collider. Tick Collider there" in refusal()


def test_an_object_that_cannot_be_one(cube):
    bpy.ops.object.light_add()
    cube.supple.attach_to = bpy.context.object
    assert "which is neither a soft body nor a mesh" in refusal()


def test_a_hidden_collider(cube):
    cube.supple.attach_to = add_plate()
    cube.supple.attach_to.hide_viewport = True
    assert "attached to Plate, which is hidden. Show it" in refusal()


@pytest.mark.parametrize("by", ["attached", "stitched"])
def test_a_hidden_body(cube, add_body, by):
    other = add_body("Other", location=(3, 0, 0))
    other.hide_set(True)
    cube.supple.attach_to = other
    cube.supple.attach_as = "stitch" if by == "stitched" else "place"
    expected = f"Cube is {by} to Other, which is hidden or left out with its collection. Show it"
    assert expected in refusal()


@pytest.mark.parametrize("setting", [("integrator", "xpbd"), ("contact", "never")])
def test_a_scene_without_contact(scene, cube, setting):
    cube.supple.attach_to = add_plate(collider=False)
    setattr(scene.supple, *setting)
    assert "Cube is attached to Plate, which needs contact. Choose the integrator" in refusal()
