# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is changed after a simulation is told of, whatever it animates that bodies follow."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import pytest

from supple.addon import actions, ids
from supple.addon.bake import shape_keys
from supple.addon.playback import mesh_cache

from .. import rigs
from ..shown_notices import only, shown_notices

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
    """What a bone that bends a body is drawn to."""
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
    assert "Cube was changed since it was simulated: its animation;" in only(ids.SIMULATE)


def test_a_changed_key_of_a_collider_is_told_of(add_body, play):
    add_body()
    plate = add_body("Plate", location=(0, 0, -3))
    plate.supple.enabled, plate.supple.collider = False, True
    own_keys(plate)
    play(3)
    assert shown_notices() == []
    move_a_key(plate)
    assert "Scene was changed since it was simulated: Plate;" in only(ids.SIMULATE)


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
