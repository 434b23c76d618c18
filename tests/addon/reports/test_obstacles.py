# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes in the way of soft bodies that are neither soft bodies nor colliders."""

from __future__ import annotations

import time

import bpy
import pytest

from supple.addon import ids
from supple.addon.reports import notices, obstacles
from supple.addon.reports.obstacles import Obstacle

from ..shown_notices import press, shown_notices


@pytest.fixture
def scene(scene: bpy.types.Scene) -> bpy.types.Scene:
    """A range of a few seconds, which is long enough to fall to the ground."""
    scene.frame_end = 60
    return scene


def add_mesh(name: str, **options: object) -> bpy.types.Object:
    bpy.ops.mesh.primitive_cube_add(size=1.0, **options)
    bpy.context.object.name = name
    return bpy.context.object


def add_floor(name: str = "Table", size: float = 4.0, z: float = -1.0) -> bpy.types.Object:
    bpy.ops.mesh.primitive_plane_add(size=size, location=(0, 0, z))
    bpy.context.object.name = name
    return bpy.context.object


def in_the_way() -> list[str]:
    bpy.context.view_layer.update()
    obstacles._latest.clear()
    found = obstacles.find(bpy.context)
    assert obstacles.find(bpy.context, is_redraw=True) == found
    return [each.name for each in found]


def test_a_table_below_a_body_is_reported_with_a_button_that_makes_it_a_collider(add_body):
    add_body("Jelly")
    table = add_floor()
    (notice,) = shown_notices()
    assert (notice.operator, notice.name) == (ids.ADD_COLLIDER, "Table")
    assert notice.text.startswith("Jelly passes through Table, which is not a collider.")
    assert notice.text in notices.before_a_run(bpy.context)
    assert press(notice) == {"FINISHED"}
    assert table.supple.collider
    assert shown_notices() == []


def test_the_hint_can_be_dismissed_for_good(add_body):
    add_body()
    add_floor()
    (notice,) = shown_notices()
    assert notice.hint_of == "Table"
    assert bpy.ops.supple.dismiss_hint(object_name="Table") == {"FINISHED"}
    assert shown_notices() == []
    assert in_the_way() == []


@pytest.mark.parametrize("z", [-0.5, -3.0, 0.0])
def test_a_mesh_that_is_touched_or_far_below_or_intersected_is_in_the_way(add_body, z):
    add_body()
    add_floor(z=z)
    assert in_the_way() == ["Table"]


def test_a_small_mesh_below_the_middle_of_a_large_face_is_in_the_way(add_body):
    add_body(scale=(3, 3, 1))
    add_mesh("Peg", location=(0.2, 0.1, -2.0), scale=(0.05, 0.05, 0.3))
    assert in_the_way() == ["Peg"]


def test_bars_that_cross_between_their_vertices_are_in_each_others_way(add_body):
    add_body(scale=(4, 0.3, 0.3))
    add_mesh("Bar", location=(0, 0, -2), scale=(0.3, 4, 0.3))
    assert in_the_way() == ["Bar"]


@pytest.mark.parametrize(
    "place",
    [
        {"location": (3, 0, 0)},  # beside it
        {"location": (0, 0, 2)},  # above it
        {"location": (1.0, 0, -0.5)},  # along one of its sides
        {"location": (0, 0, -7)},  # below the ground
    ],
)
def test_a_mesh_that_is_not_met_is_not_in_the_way(add_body, place):
    add_body()
    add_mesh("Decor", **place)
    assert in_the_way() == []


def test_a_floor_at_the_height_of_the_ground_is_not_in_the_way(scene, add_body):
    add_body()
    add_floor(z=scene.supple.ground_height)
    assert in_the_way() == []
    scene.supple.use_ground = False
    assert in_the_way() == ["Table"]


def test_a_mesh_that_is_met_after_the_last_frame_is_not_in_the_way(scene, add_body):
    add_body()
    add_floor(z=-1.5)
    scene.frame_end = 8  # it falls 0.44 m
    assert in_the_way() == []
    scene.frame_end = 12  # it falls 0.98 m, but for a frame
    assert in_the_way() == ["Table"]


def test_what_lies_under_a_collider_is_not_in_the_way(add_body):
    add_body()
    add_floor("Shelf", z=-1).supple.collider = True
    add_floor("Rug", z=-2)
    assert in_the_way() == []
    bpy.data.objects["Shelf"].scale = (0.1, 0.1, 1)
    assert in_the_way() == ["Rug"]


def test_a_wall_is_in_the_way_of_what_is_thrown_at_it(scene, add_body):
    body = add_body()
    add_mesh("Wall", location=(6, 0, 0), scale=(0.1, 4, 9))
    assert in_the_way() == []
    body.supple.start_velocity = (9, 0, 3)
    assert in_the_way() == ["Wall"]
    body.supple.start_velocity = (-9, 0, 3)
    assert in_the_way() == []


def key_places(obj, *keys):
    for frame, place in keys:
        obj.location = place
        obj.keyframe_insert("location", frame=frame)


def test_what_is_animated_into_a_body_is_in_its_way(scene, add_body):
    add_body(location=(0, 0, -4.5))  # at rest on the ground
    hammer = add_mesh("Hammer", scale=(0.3, 0.3, 0.3))
    key_places(hammer, (1, (5, 0, -2)), (30, (5, 0, -4.5)), (33, (-5, 0, -4.5)), (40, (-5, 0, 3)))
    for frame in (1, 31, 60):
        scene.frame_set(frame)
        assert in_the_way() == ["Hammer"]
    hammer.animation_data_clear()
    key_places(hammer, (1, (5, 2, -2)), (30, (5, 2, -4.5)), (33, (-5, 2, -4.5)), (40, (-5, 2, 3)))
    for frame in (1, 31, 60):
        scene.frame_set(frame)
        assert in_the_way() == []


def test_what_an_animated_parent_carries_into_a_body_is_in_its_way(scene, add_body):
    add_body(location=(0, 0, -4.5))
    hammer = add_mesh("Hammer", location=(0, 0, 2), scale=(0.3, 0.3, 0.3))
    bpy.ops.object.empty_add(rotation=(0, 1.5707964, 0))
    arm = bpy.context.object
    hammer.parent = arm
    key_places(arm, (1, (0, 0, 0)), (50, (-2, 0, -4.5)))
    assert in_the_way() == ["Hammer"]
    arm.animation_data_clear()
    arm.location = (0, 0, -4.5)
    # The parent's z axis is the world's x axis.
    key_places(hammer, (1, (0, 0, 2)), (50, (0, 0, 0)))
    assert in_the_way() == ["Hammer"]
    hammer.animation_data_clear()
    key_places(hammer, (1, (0, 0, 2)), (50, (0, 0, 4)))
    assert in_the_way() == []


def test_a_platform_that_has_gone_before_the_body_falls_there_is_not_in_the_way(scene, add_body):
    add_body()
    table = add_floor(size=2.0, z=-4.0)
    key_places(table, (1, (0, 0, -4)), (5, (9, 0, -4)))
    assert in_the_way() == []
    table.animation_data_clear()
    table.location = (0, 0, -4)
    assert in_the_way() == ["Table"]


def test_gravity_to_the_side_and_units_count(scene, add_body):
    add_body()
    add_mesh("Wall", location=(6, 0, 0), scale=(0.1, 4, 4))
    scene.gravity = (9.81, 0, 0)
    assert in_the_way() == ["Wall"]
    scene.gravity = (-9.81, 0, 0)
    assert in_the_way() == []
    scene.use_gravity = False
    assert in_the_way() == []


def test_what_is_pinned_meets_only_what_it_can_reach(add_body):
    body = add_body(scale=(4, 0.5, 0.5))
    # By its left end; the other is 4 m away, and sinks by no more than 1.8 m.
    left = [k for k, vertex in enumerate(body.data.vertices) if vertex.co.x < 0.0]
    body.vertex_groups.new(name="Held").add(left, 1.0, "REPLACE")
    table = add_floor(z=-1.5)
    for name, is_held in (("", True), ("Held", True), ("", False)):
        body.supple.pin_group = name
        table.location.z = -1.5 if is_held else -3.0
        assert in_the_way() == ["Table"]
    body.supple.pin_group = "Held"
    assert in_the_way() == []
    bpy.data.objects.remove(table)
    # Below the end that is held.
    add_mesh("Stand", location=(-2.0, 0, -1.0), scale=(0.5, 1, 1))
    assert in_the_way() == []


def test_what_stands_on_other_bodies_does_not_meet_the_floor(add_body):
    add_body("Lower", location=(0, 0, 0))
    add_body("Upper", location=(0, 0, 1.01))
    add_floor()
    bpy.context.view_layer.update()
    assert obstacles.find(bpy.context) == [Obstacle("Table", ("Lower",))]


def test_what_jiggles_is_not_told_of_what_it_lies_in(add_body):
    body = add_body()
    body.vertex_groups.new(name="Wobble").add(range(8), 1.0, "REPLACE")
    body.supple.jiggle_group = "Wobble"
    add_mesh("Bone", scale=(0.2, 0.2, 2))
    assert in_the_way() == []


def _hide(table, body):
    table.hide_set(True)


def _hide_in_renders(table, body):
    table.hide_render = True


def _draw_as_wire(table, body):
    table.display_type = "WIRE"


def _parent(table, body):
    table.parent = body
    table.matrix_parent_inverse = body.matrix_world.inverted()


def _follow(table, body):
    table.modifiers.new("Follow", "SURFACE_DEFORM").target = body


def _bend(table, body):
    body.modifiers.new("Wrap", "SHRINKWRAP").target = table
    body.modifiers["Wrap"].show_viewport = False


def _let_pass(table, body):
    bpy.context.scene.supple.contact = "never"


@pytest.mark.parametrize(
    "change", [_hide, _hide_in_renders, _draw_as_wire, _parent, _follow, _bend, _let_pass]
)
def test_what_is_hidden_or_goes_with_the_body_is_not_in_the_way(add_body, change):
    body = add_body()
    table = add_floor()
    bpy.context.view_layer.update()
    assert in_the_way() == ["Table"]
    change(table, body)
    assert in_the_way() == []


def test_a_body_that_plays_its_frames_is_judged_by_where_it_starts(scene, add_body, play):
    body = add_body()
    add_floor()
    play(3)
    scene.frame_set(4)
    assert in_the_way() == ["Table"]
    body.location.x = 9.0
    assert in_the_way() == []


def test_each_mesh_is_named_once_with_all_bodies_that_meet_it(add_body):
    add_body("A", location=(-1, 0, 0))
    add_body("B", location=(1, 0, 0))
    add_floor()
    bpy.context.view_layer.update()
    assert obstacles.find(bpy.context) == [Obstacle("Table", ("A", "B"))]
    (notice,) = shown_notices()
    assert notice.text.startswith("A, B pass through Table")


def test_panels_look_seldom_where_looking_takes_long(add_body, monkeypatch):
    add_body()
    table = add_floor()
    assert in_the_way() == ["Table"]
    look = obstacles._obstacles

    def slow(*args: object) -> list[Obstacle]:
        time.sleep(0.05)
        return list(look(*args))

    monkeypatch.setattr(obstacles, "_obstacles", slow)
    assert obstacles.find(bpy.context, is_redraw=True)
    table.location.x = 9.0
    bpy.context.view_layer.update()
    assert obstacles.find(bpy.context, is_redraw=True)
    assert obstacles.find(bpy.context) == []
    table.supple.collider = True
    assert obstacles.find(bpy.context, is_redraw=True) == []
