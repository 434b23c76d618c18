# SPDX-License-Identifier: GPL-3.0-or-later
"""Animation that would move pins is reported of a body that has none, however it is animated."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import actions
from supple.addon.bake import shape_keys
from supple.addon.playback import mesh_cache

from .. import rigs
from .ignored_lines import messages, only


def keyed_empty(name: str = "Hand") -> bpy.types.Object:
    bpy.ops.object.empty_add()
    empty = bpy.context.object
    empty.name = name
    rigs.key(empty, "location", ((0, 0, 0), (1, 0, 0), (0, 0, 0)))
    return empty


def child_of_keyed(obj: bpy.types.Object) -> None:
    obj.parent = keyed_empty()


def grandchild_of_keyed(obj: bpy.types.Object) -> None:
    bpy.ops.object.empty_add()
    obj.parent = bpy.context.object
    obj.parent.name = "Arm"
    obj.parent.parent = keyed_empty()


def copies_keyed(obj: bpy.types.Object) -> None:
    obj.constraints.new("COPY_LOCATION").target = keyed_empty()


def child_of_bone(obj: bpy.types.Object) -> None:
    obj.parent = rigs.bone()
    obj.parent.name = "Rig"
    obj.parent_type, obj.parent_bone = "BONE", obj.parent.pose.bones[0].name


def follows_a_bone_that_reaches_for_keys(obj: bpy.types.Object) -> None:
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    rig.pose.bones[0].constraints.new("TRACK_TO").target = keyed_empty()
    follow = obj.constraints.new("COPY_ROTATION")
    follow.target, follow.subtarget = rig, rig.pose.bones[0].name


def armature_of_bones(obj: bpy.types.Object) -> None:
    follow = obj.constraints.new("ARMATURE")
    target = follow.targets.new()
    target.target = rigs.bone()
    target.subtarget = target.target.pose.bones[0].name


@pytest.mark.parametrize(
    ("move", "names"),
    [
        (child_of_keyed, "its parent Hand moves"),
        (grandchild_of_keyed, "its parent Arm moves"),
        (copies_keyed, "its constraint Copy Location moves"),
        (child_of_bone, "its parent Rig moves"),
        (follows_a_bone_that_reaches_for_keys, "its constraint Copy Rotation moves"),
        (armature_of_bones, "its constraint Armature moves"),
        (rigs.constraint, "its constraint Follow Path and its constraint Track To move"),
        (rigs.path_parent, "its parent NurbsPath moves"),
    ],
)
def test_what_carries_a_body_without_pins_is_named(add_body, move, names):
    body = add_body()
    move(body)
    assert only().startswith(f"Cube: {names} its pins, and it has none. Press Jiggle, choose")
    body.supple.start_from_animation = True
    assert messages() == []
    body.supple.start_from_animation = False
    body.vertex_groups.new(name="Top").add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    assert messages() == []


def test_what_stands_still_is_not(add_body):
    body = add_body()
    bpy.ops.object.empty_add()
    body.parent = bpy.context.object
    body.constraints.new("COPY_LOCATION").target = add_body("Other")
    body.supple.keyframe_insert("young", frame=1)
    body.keyframe_insert("hide_render", frame=1)
    assert messages() == []


def test_two_that_follow_each_other_end_the_search(add_body):
    body, other = add_body(), add_body("Other")
    body.constraints.new("COPY_LOCATION").target = other
    other.constraints.new("COPY_LOCATION").target = body
    assert messages() == []


@pytest.mark.parametrize("kind", ["relative", "absolute", "driven"])
def test_shape_keys_that_move_a_body_without_pins_are_named(add_body, kind):
    body = add_body()
    if kind == "driven":
        rigs.driver(body)
        body.driver_remove("rotation_euler")
    else:
        rigs.shape_keys(body)
    if kind == "absolute":
        keys = body.data.shape_keys
        keys.animation_data_clear()
        keys.use_relative = False
        keys.keyframe_insert("eval_time", frame=1)
    assert only().startswith("Cube: it takes its shape at the start from its shape keys, whose")
    assert "Press Jiggle, choose a Pin Group, or apply" in only()
    body.supple.rest_shape = "shape_keys"
    assert not any("its shape at the start" in line for line in messages())


@pytest.mark.parametrize("has_keys", [False, True])
def test_the_keys_of_a_bake_are_no_such_animation(add_body, play, has_keys):
    body = add_body()
    if has_keys:
        rigs.shape_keys(body)
    before = messages()
    assert len(before) == has_keys
    play(3)
    actions.bake(bpy.context)
    assert messages() == before
    shape_keys.free(body)
    mesh_cache.detach(body)
    assert messages() == before
