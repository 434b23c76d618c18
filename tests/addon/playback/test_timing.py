# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed and Offset play the frames otherwise, and bakes keep it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.modifiers import find_modifier, find_refined, simulated_start
from supple.addon.playback import mesh_cache
from supple.addon.playback.mesh_cache import Playback
from supple.addon.reports import outdated

from .test_playback_is_the_bake import subdivide
from .views import seen

LAST = 3


@pytest.mark.parametrize(("speed", "offset"), [(1.0, 4), (0.5, 0), (2.0, -3), (0.3, 7)])
def test_frames_play_by_speed_and_offset(scene, add_body, play, speed, offset):
    obj = add_body()
    play(LAST, wobble=True)
    simulated = [seen(obj, 1 + time) for time in range(LAST + 1)]
    obj.supple.play_speed, obj.supple.play_offset = speed, offset
    for frame in range(-4, 20):
        time = min(max(speed * (frame - 1 - offset), 0.0), LAST)
        before = min(int(time), LAST - 1)
        expected = simulated[before] + (time - before) * (simulated[before + 1] - simulated[before])
        np.testing.assert_allclose(seen(obj, frame), expected, atol=1e-5)


@pytest.mark.parametrize(("speed", "offset"), [(1.0, 4), (0.5, 2)])
def test_a_bake_keeps_them(scene, add_body, play, speed, offset):
    scene.frame_end = 16
    obj = add_body()
    play(LAST, wobble=True)
    obj.supple.play_speed, obj.supple.play_offset = speed, offset
    frames = range(-2, 20)
    expected = [seen(obj, frame) for frame in frames]
    actions.bake(bpy.context)
    assert find_modifier(obj) is None
    for frame, points in zip(frames, expected, strict=True):
        np.testing.assert_allclose(seen(obj, frame), points, atol=1e-6)


def test_the_refined_mesh_plays_alike(scene, add_body, play):
    obj = add_body()
    subdivide(obj)
    play(LAST)
    obj.supple.play_speed, obj.supple.play_offset = 0.5, 3
    modifiers = [find_modifier(obj), *find_refined(obj)]
    assert len(modifiers) > 1
    assert {(each.frame_scale, each.frame_start) for each in modifiers} == {(0.5, 2.0)}


def test_they_are_no_change_of_the_simulation_and_stay_after_the_next_one(scene, add_body, play):
    obj = add_body()
    _, playback = play(LAST)
    obj.supple.play_speed, obj.supple.play_offset = 0.5, 3
    assert outdated.changed(obj) == []
    again = Playback(playback._job, playback._captured)
    again.extend(LAST, 1.0)
    again.attach()
    modifier = find_modifier(obj)
    assert (modifier.frame_scale, modifier.frame_start) == (0.5, 2.0)
    obj.supple.play_speed, obj.supple.play_offset = 1.0, 0
    assert (modifier.frame_scale, modifier.frame_start) == (1.0, 1.0)
    assert simulated_start(modifier) == 1


def test_a_body_starts_from_the_frame_that_is_shown(scene, add_body, play):
    obj = add_body()
    play(LAST)
    obj.supple.play_speed, obj.supple.play_offset = 0.5, 3
    assert actions.take_start(obj, obj, 8) == ("Cube starts as Cube is at frame 8. Simulate again.")
    assert obj.supple.start_run_frame == 2


def test_a_file_of_an_older_version_knows_where_its_frames_began(scene, add_body, play):
    obj = add_body()
    play(LAST)
    obj.supple.property_unset("simulated_first")
    assert mesh_cache.frames_of(obj).first == 1
    obj.supple.play_offset = 4
    assert find_modifier(obj).frame_start == 5.0
    assert mesh_cache.frames_of(obj).first == 1
