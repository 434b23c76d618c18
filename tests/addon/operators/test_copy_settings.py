# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy Settings to Selected gives other objects the settings of the active one."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.properties import suited
from supple.addon.settings.object import OBJECT


def select(*objects: bpy.types.Object) -> None:
    """Select objects; the first one is active."""
    bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[0]


def test_every_setting_is_copied(add_body):
    source, target = add_body("Source"), add_body("Target")
    wall = add_body("Wall")
    for obj in (source, target):
        obj.vertex_groups.new(name="Top")
    settings = source.supple
    bpy.ops.supple.apply_preset(preset="clay")
    settings.pin_group = settings.jiggle_group = "Top"
    settings.attach_to, settings.contact_surface, settings.smooth = wall, "tetrahedra", 3
    settings.start_velocity = 1.0, 2.0, 3.0
    settings.attachments.add().attach_to = wall
    select(source, target)
    assert bpy.ops.supple.copy_settings() == {"FINISHED"}
    for row in OBJECT:
        if row.label and row.name != "attachments":
            there, here = getattr(target.supple, row.name), getattr(settings, row.name)
            is_list = hasattr(here, "__len__") and not isinstance(here, str)
            assert (list(there) == list(here)) if is_list else there == here, row.name
    assert [row.attach_to for row in target.supple.attachments] == [wall]


def test_a_mesh_becomes_soft_and_a_group_that_it_lacks_is_left_out(add_body):
    source = add_body("Source")
    source.vertex_groups.new(name="Top")
    source.supple.pin_group = "Top"
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    select(source, cube)
    bpy.ops.supple.copy_settings()
    assert cube.supple.enabled and cube.supple.pin_group == ""


def test_an_automatic_stiffness_suits_the_size_of_the_other_body(scene):
    def soft(size: float) -> bpy.types.Object:
        bpy.ops.mesh.primitive_cube_add(size=size)
        bpy.ops.supple.add()
        return bpy.context.object

    small, large = soft(0.1), soft(2.0)
    before = large.supple.young
    assert small.supple.young < before
    select(small, large)
    bpy.ops.supple.copy_settings()
    assert large.supple.young == small.supple.young
    suited.refresh(bpy.context, 1)
    assert large.supple.young == before


def test_a_collider_gives_another_mesh_its_settings(scene):
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    plane.supple.collider, plane.supple.collider_friction = True, 0.9
    bpy.ops.object.empty_add(type="SPHERE")
    ball = bpy.context.object
    select(plane, ball)
    bpy.ops.supple.copy_settings()
    assert ball.supple.collider and ball.supple.collider_friction == pytest.approx(0.9)


def test_it_needs_a_body_and_others(add_body):
    body = add_body()
    select(body)
    with pytest.raises(RuntimeError, match="Select other meshes"):
        bpy.ops.supple.copy_settings()
