# SPDX-License-Identifier: GPL-3.0-or-later
"""What was changed since a simulation is named, and what was not is not."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import actions, ids

from .. import rigs
from ..shown_notices import only, shown_notices

CHANGES = {
    "settings": lambda obj: setattr(obj.supple, "young", 3e4),
    "place": lambda obj: setattr(obj.location, "x", 2.0),
    "mesh": lambda obj: setattr(obj.data.vertices[0].co, "x", 3.0),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_of_a_body_was_changed_is_reported_until_it_is_changed_back(add_body, play, what):
    obj = add_body()
    obj.supple.young = 1e5
    play(3)
    before = obj.data.vertices[0].co.x
    CHANGES[what](obj)
    obj.data.update()
    name = {"settings": "Stiffness (Pa)"}.get(what, what)
    assert f"Cube was changed since it was simulated: its {name};" in only(ids.SIMULATE)
    obj.supple.young, obj.location.x, obj.data.vertices[0].co.x = 1e5, 0.0, before
    obj.data.update()
    assert shown_notices() == []


def edit_key(obj):
    obj.data.shape_keys.key_blocks["Tall"].points[0].co.z += 1.0


def paint_pins(obj):
    obj.vertex_groups["Pin"].add([3], 0.8, "REPLACE")


@pytest.mark.parametrize(
    "edit",
    [
        edit_key,
        paint_pins,
        lambda obj: setattr(obj.data.shape_keys.key_blocks["Tall"], "value", 0.3),
        lambda obj: obj.modifiers.new("Round", "SUBSURF"),
    ],
)
def test_keys_pins_and_modifiers_count_as_the_mesh(add_body, play, edit):
    obj = add_body()
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Tall")
    obj.vertex_groups.new(name="Pin").add([1], 1.0, "REPLACE")
    obj.supple.pin_group = "Pin"
    play(3)
    assert shown_notices() == []
    edit(obj)
    obj.data.update()
    assert "its mesh;" in only(ids.SIMULATE)


def lattice(name, size):
    bpy.ops.object.add(type="LATTICE", location=(0, 0, 9))
    bpy.context.object.name, bpy.context.object.scale = name, (size, size, size)
    return bpy.context.object


def point_to_another(obj):
    obj.modifiers["Led"].object = lattice("B", 2.0)


def move_what_leads(obj):
    obj.modifiers["Led"].object.location.x = 3.0


def bend_what_leads(obj):
    obj.modifiers["Led"].object.data.points[0].co_deform.x -= 0.2


def amount(obj):
    return obj.modifiers["Sway"].node_group.interface.items_tree["Amount"]


def set_an_input(obj):
    obj.modifiers["Sway"][amount(obj).identifier] = 0.7


@pytest.mark.parametrize("is_collider", [False, True])
@pytest.mark.parametrize("edit", [point_to_another, move_what_leads, bend_what_leads, set_an_input])
def test_what_modifiers_point_to_and_inputs_of_nodes_count(add_body, play, edit, is_collider):
    obj = add_body("Plate", location=(0, 0, -3))
    obj.modifiers.new("Led", "LATTICE").object = lattice("A", 1.0)
    rigs.geometry_nodes(obj)
    tree = obj.modifiers["Sway"].node_group
    tree.interface.new_socket("Amount", in_out="INPUT", socket_type="NodeSocketFloat")
    if is_collider:
        add_body()
        obj.supple.enabled, obj.supple.collider = False, True
    play(3)
    assert shown_notices() == []
    obj.modifiers["Led"].object.name = "Cage"
    assert shown_notices() == []
    edit(obj)
    obj.update_tag()
    named = "Scene was changed since it was simulated: Plate;"
    expected = named if is_collider else "Plate was changed since it was simulated: its mesh;"
    assert expected in only(ids.SIMULATE)


def edit_ball(scene):
    scene.objects["Ball"].data.vertices[0].co.z += 0.3
    scene.objects["Ball"].data.update()


def round_ball(scene):
    scene.objects["Ball"].modifiers["Round"].width = 0.2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda scene: setattr(scene, "gravity", (0, 0, -1)), "gravity"),
        (lambda scene: setattr(scene.render, "fps", 30), "frame rate"),
        (lambda scene: setattr(scene.supple, "use_ground", False), "Ground"),
        (lambda scene: setattr(scene, "frame_start", -3), "start frame"),
        (lambda scene: setattr(scene.objects["Ball"].supple, "collider_friction", 0.9), "Ball"),
        (lambda scene: setattr(scene.objects["Ball"].location, "z", -7), "Ball"),
        (lambda scene: setattr(scene.objects["Ball"].supple, "collider", False), "a collider less"),
        (edit_ball, "Ball"),
        (round_ball, "Ball"),
    ],
)
def test_changes_to_the_scene_are_reported(scene, add_body, play, change, what):
    ball = add_body("Ball", location=(0, 0, -3))
    ball.supple.enabled, ball.supple.collider = False, True
    ball.modifiers.new("Round", "BEVEL")
    add_body()
    play(3)
    assert shown_notices() == []
    change(scene)
    expected = f"Scene was changed since it was simulated: {what}; simulate again."
    assert only(ids.SIMULATE) == expected


def test_renamed_objects_and_scenes_are_not_called_changed(scene, add_body, play):
    body, ball = add_body(), add_body("Ball", location=(0, 0, -3))
    ball.supple.enabled, ball.supple.collider = False, True
    body.supple.attach_to = ball
    body.vertex_groups.new(name="Rim").add([1], 1.0, "REPLACE")
    body.supple.attach_group = "Rim"
    bpy.ops.object.effector_add(type="WIND")
    wind = bpy.context.object
    scene.supple.effector_collection = bpy.data.collections.new("Fans")
    scene.supple.effector_collection.objects.link(wind)
    play(3)
    scene.supple.effector_collection.name = "Weather"
    body.name, ball.name, wind.name, scene.name = "Zebra", "Apple", "Breeze", "Shot"
    assert shown_notices() == []


def test_marks_of_an_earlier_build_count_as_changed(scene, add_body, play):
    body = add_body()
    play(3)
    scene.supple.simulated_as = "0123456789abcdef"
    body.supple.simulated_as = '{"settings": "01", "place": "02", "mesh": "03"}'
    assert any("its settings, place, mesh and 1 more;" in n.text for n in shown_notices())


def test_a_setting_changed_after_bake_is_told_of(add_body, play):
    body = add_body()
    play(3)
    actions.bake(bpy.context)
    assert shown_notices() == []
    body.supple.young *= 2.0
    assert "simulated and baked: its Stiffness (Pa); its keys stay" in only(ids.SIMULATE)


def test_gravity_that_is_keyed_is_another_at_another_frame_and_not_reported(scene, add_body, play):
    add_body()
    for frame, pull in ((1, -9.0), (4, -3.0)):
        scene.gravity[2] = pull
        scene.keyframe_insert("gravity", frame=frame)
    play(3)
    for frame in (1, 3):
        scene.frame_set(frame)
        assert shown_notices() == []
    scene.use_gravity = False
    assert "since it was simulated: gravity;" in only("supple.simulate")


def test_changes_to_the_scene_are_not_reported_of_what_is_baked(scene, add_body, play):
    add_body()
    play(3)
    actions.bake(bpy.context)
    scene.gravity = (0, 0, -1)
    assert shown_notices() == []


def test_an_animated_body_is_not_called_moved(scene, add_body, play):
    obj = add_body()
    for frame, x in ((1, 0.0), (4, 1.0)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    play(3)
    scene.frame_set(3)
    assert shown_notices() == []


def test_what_a_script_moved_just_before_was_simulated_where_it_is(add_body, play):
    plate = add_body("Plate", location=(0, 0, -3))
    plate.supple.enabled, plate.supple.collider = False, True
    add_body().location.x = plate.location.x = 2.0
    play(3)
    assert shown_notices() == []


def test_an_edit_that_blender_was_not_told_of_is_part_of_the_next_simulation(add_body, play):
    obj = add_body()
    play(3)
    assert shown_notices() == []
    obj.data.vertices[0].co.x -= 0.5
    play(3)
    obj.data.update()
    assert shown_notices() == []
