# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an object stands is told of as changed, also where constraints bring it there."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import ids

from .. import rigs
from ..shown_notices import only, shown_notices


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


@pytest.mark.parametrize("is_collider", [False, True])
@pytest.mark.parametrize(
    "edit",
    [
        move_the_target,
        loosen_the_constraint,
        turn_the_bone_that_holds,
        move_what_the_bone_reaches_for,
        move_it_beside_the_target,
    ],
)
def test_where_constraints_bring_what_stands_still_counts_as_its_place(
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
    named = "Scene was changed since it was simulated: Plate;"
    expected = named if is_collider else "Plate was changed since it was simulated: its place;"
    assert expected in only(ids.SIMULATE)
