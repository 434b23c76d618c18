# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes since a simulation are named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest

from supple.addon import actions, ids
from supple.addon.bake import shape_keys
from supple.addon.capture import fingerprint
from supple.addon.playback import mesh_cache

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
    name = {"settings": "Stiffness"}.get(what, what)
    assert f"Cube is out of date: {name}." in only(ids.SIMULATE)
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
    assert "out of date: mesh." in only(ids.SIMULATE)


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


POINTED = {
    point_to_another: "B",
    move_what_leads: "Cage",
    bend_what_leads: "Cage",
    set_an_input: "mesh",
}


@pytest.mark.parametrize("is_collider", [False, True])
@pytest.mark.parametrize("edit", POINTED)
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
    named = "Scene is out of date: Plate."
    own = f"Plate is out of date: {POINTED[edit]}."
    expected = named if is_collider else own
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
        (
            lambda scene: setattr(scene.objects["Ball"].supple, "collider", False),
            "collider removed",
        ),
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
    expected = f"Scene is out of date: {what}. Simulate again."
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
    assert any("date: settings, place, animation and 1 more." in n.text for n in shown_notices())


def test_a_setting_changed_after_bake_is_told_of(add_body, play):
    body = add_body()
    play(3)
    actions.bake(bpy.context)
    assert shown_notices() == []
    body.supple.young *= 2.0
    assert "is out of date: Stiffness. Simulate and bake again" in only(ids.SIMULATE)


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
    assert "is out of date: gravity." in only("supple.simulate")


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


Move = Callable[[bpy.types.Object], bpy.types.ID]


def own_keys(obj: bpy.types.Object) -> bpy.types.ID:
    rigs.key(obj, "location", ((0, 0, 0), (1, 0, 0), (0, 0, 0)))
    return obj


def parent(obj: bpy.types.Object) -> bpy.types.ID:
    rigs.uneven_parent(obj)
    return obj.parent


def armature(obj: bpy.types.Object) -> bpy.types.ID:
    rigs.armature(obj)
    return obj.modifiers["Armature"].object


def reached_for(obj: bpy.types.Object) -> bpy.types.ID:
    """A target of a bone that bends a body."""
    rig = armature(obj)
    bpy.ops.object.empty_add()
    target = own_keys(bpy.context.object)
    rig.pose.bones[0].constraints.new("TRACK_TO").target = target
    return target


def keys_of_shapes(obj: bpy.types.Object) -> bpy.types.ID:
    rigs.shape_keys(obj)
    return obj.data.shape_keys


def driving_hand(obj: bpy.types.Object) -> bpy.types.ID:
    rigs.driver(obj)
    return obj.animation_data.drivers[0].driver.variables[0].targets[0].id


def move_a_key(owner: bpy.types.ID) -> None:
    bag = owner.animation_data.action.layers[0].strips[0].channelbags[0]
    bag.fcurves[0].keyframe_points[1].co.y += 0.3


FOLLOWED = [own_keys, parent, armature, reached_for, keys_of_shapes, driving_hand]


@pytest.mark.parametrize("follow", FOLLOWED)
def test_a_changed_key_of_what_a_body_follows_is_told_of(scene, add_body, play, follow: Move):
    body = add_body()
    body.vertex_groups.new(name="Top").add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    owner = follow(body)
    play(3)
    for frame in (3, 1):
        scene.frame_set(frame)
        assert shown_notices() == []
    move_a_key(owner)
    assert "Cube is out of date: animation." in only(ids.SIMULATE)


def test_a_changed_key_of_a_collider_is_told_of(add_body, play):
    add_body()
    plate = add_body("Plate", location=(0, 0, -3))
    plate.supple.enabled, plate.supple.collider = False, True
    own_keys(plate)
    play(3)
    assert shown_notices() == []
    move_a_key(plate)
    assert "Scene is out of date: Plate." in only(ids.SIMULATE)


@pytest.mark.parametrize("follow", [own_keys, keys_of_shapes, armature])
def test_the_keys_of_a_bake_are_no_change(add_body, play, follow: Move):
    body = add_body()
    body.vertex_groups.new(name="Top").add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    follow(body)
    play(3)
    before = body.supple.simulated_as
    actions.bake(bpy.context)
    assert shown_notices() == []
    play(3)
    assert body.supple.simulated_as == before
    shape_keys.free(body)
    mesh_cache.detach(body)
    play(3)
    assert body.supple.simulated_as == before


def move_the_target(obj):
    obj.constraints["Copy Location"].target.location.x += 0.5


def loosen_the_constraint(obj):
    obj.constraints["Copy Location"].influence = 0.5


def turn_the_bone_that_holds(obj):
    obj.constraints["Child Of"].target.pose.bones[0].rotation_euler.x += 0.3


def move_what_the_bone_reaches_for(obj):
    rig = obj.constraints["Child Of"].target
    rig.pose.bones[0].constraints["Track To"].target.location.y += 0.5


def move_it_beside_the_target(obj):
    obj.location.z += 0.5


PLACING = {
    move_the_target: "Handle",
    loosen_the_constraint: "place",
    turn_the_bone_that_holds: "Armature",
    move_what_the_bone_reaches_for: "Handle",
    move_it_beside_the_target: "place",
}


@pytest.mark.parametrize("is_collider", [False, True])
@pytest.mark.parametrize("edit", PLACING)
def test_what_constraints_follow_counts_as_the_place_of_what_stands_still(
    scene, add_body, play, edit, is_collider
):
    scene.supple.use_ground = False
    rig = rigs.bone()
    rig.animation_data_clear()
    bpy.ops.object.empty_add(location=(0, 0, -4))
    target = bpy.context.object
    rig.pose.bones[0].constraints.new("TRACK_TO").target = target
    obj = add_body("Plate", location=(0, 0, -3))
    obj.constraints.new("COPY_LOCATION").target = target
    obj.constraints["Copy Location"].use_offset = True
    holds = obj.constraints.new("CHILD_OF")
    holds.target, holds.subtarget = rig, rig.pose.bones[0].name
    if is_collider:
        add_body()
        obj.supple.enabled, obj.supple.collider = False, True
    play(3)
    target.name = "Handle"
    for frame in (3, 1):
        scene.frame_set(frame)
        assert shown_notices() == []
    edit(obj)
    named = "Scene is out of date: Plate."
    own = f"Plate is out of date: {PLACING[edit]}."
    expected = named if is_collider else own
    assert expected in only(ids.SIMULATE)


def nodes(obj):
    return obj.modifiers["Sway"].node_group.nodes


def set_a_value(obj):
    nodes(obj)["Math"].inputs[1].default_value = 0.2


def choose_another_operation(obj):
    nodes(obj)["Math"].operation = "COSINE"


def cut_a_link(obj):
    tree = obj.modifiers["Sway"].node_group
    tree.links.remove(tree.links[-1])


def edit_a_group(obj):
    nodes(obj)["Group"].node_tree.nodes["Value"].outputs[0].default_value = 2.0


def bend_a_curve(obj):
    nodes(obj)["Float Curve"].mapping.curves[0].points[0].location.y = 0.3
    obj.modifiers["Sway"].node_group.update_tag()


def move_what_a_node_names(obj):
    nodes(obj)["Object Info"].inputs[0].default_value.location.x = 3.0


NODE_EDITS = {
    set_a_value: "Sway",
    choose_another_operation: "Sway",
    cut_a_link: "Sway",
    edit_a_group: "Inside",
    bend_a_curve: "Sway",
    move_what_a_node_names: "Other",
}


@pytest.mark.parametrize("edit", NODE_EDITS)
def test_an_edit_of_geometry_nodes_is_reported_and_how_they_are_drawn_is_not(add_body, play, edit):
    bpy.ops.object.empty_add(location=(0, 0, 2))
    empty = bpy.context.object
    obj = add_body()
    rigs.geometry_nodes(obj)
    tree, inner = (
        obj.modifiers["Sway"].node_group,
        bpy.data.node_groups.new("In", "GeometryNodeTree"),
    )
    inner.nodes.new("ShaderNodeValue")
    tree.nodes.new("GeometryNodeGroup").node_tree = inner
    tree.nodes.new("ShaderNodeFloatCurve")
    info = tree.nodes.new("GeometryNodeObjectInfo")
    info.inputs[0].default_value = empty
    tree.links.new(info.outputs["Geometry"], tree.nodes.new("GeometryNodeJoinGeometry").inputs[0])
    play(3)
    assert shown_notices() == []
    # How nodes are drawn, and what they are called that they name, is no edit.
    info.location, info.select, empty.name, inner.name = (30.0, 4.0), False, "Other", "Inside"
    tree.nodes.new("NodeFrame")
    assert shown_notices() == []
    edit(obj)
    obj.update_tag()
    expected = f"Cube is out of date: {NODE_EDITS[edit]}."
    assert expected in only(ids.SIMULATE)


def test_keyed_values_of_nodes_are_other_ones_at_other_frames_and_count_as_animation(
    scene, add_body, play
):
    obj = add_body()
    rigs.geometry_nodes(obj)
    socket = nodes(obj)["Math"].inputs[1]
    for frame, value in ((1, 0.0), (4, 1.0)):
        socket.default_value = value
        socket.keyframe_insert("default_value", frame=frame)
    play(3)
    for frame in (3, 1):
        scene.frame_set(frame)
        assert shown_notices() == []
    socket.default_value = 5.0
    socket.keyframe_insert("default_value", frame=4)
    assert "Cube is out of date: animation." in only(ids.SIMULATE)


def test_a_cache_of_the_user_whose_time_is_keyed_is_no_change(scene, add_body, play):
    body = add_body()
    rigs.pc2_cache(body)
    play(3)
    for frame in (3, 1):
        scene.frame_set(frame)
        assert shown_notices() == []


def test_two_objects_that_change_places_are_a_change(add_body, play):
    body = add_body()
    for name, size in (("A", 1.0), ("B", 2.0)):
        body.modifiers.new(name, "LATTICE").object = lattice(name, size)
    play(3)
    assert shown_notices() == []
    for modifier, other in zip(body.modifiers, ("B", "A"), strict=False):
        modifier.object = bpy.data.objects[other]
    assert "Cube is out of date: mesh." in only(ids.SIMULATE)


def test_frames_that_are_played_are_not_compared_anew(scene, add_body, play, monkeypatch):
    body = add_body()
    rigs.armature(body)
    play(3)
    assert shown_notices() == []
    monkeypatch.delattr(fingerprint, "_Walk")
    for frame in (2, 3):
        scene.frame_set(frame)
        assert shown_notices() == []


def test_what_a_driver_reads_and_a_constraint_clings_to_counts(add_body, play):
    bpy.ops.object.empty_add()
    hand = bpy.context.object
    hand.name = "Hand"
    plate, body = add_body("Plate", location=(0, 0, -3)), add_body()
    plate.supple.enabled = False
    driven = body.driver_add("rotation_euler", 0).driver
    driven.variables.new().targets[0].id = hand
    driven.variables[0].type = "TRANSFORMS"
    body.constraints.new("SHRINKWRAP").target = plate
    play(3)
    assert shown_notices() == []
    hand.location.x += 0.5
    assert "Cube is out of date: Hand." in only(ids.SIMULATE)
    hand.location.x -= 0.5
    assert shown_notices() == []
    plate.data.vertices[0].co.z += 0.2
    plate.data.update()
    assert "Cube is out of date: Plate." in only(ids.SIMULATE)
