# SPDX-License-Identifier: GPL-3.0-or-later
"""Loop: the last frames are blended into the first."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.modifiers import find_modifier, find_refined
from supple.addon.paths import absolute
from supple.addon.playback import loop, mesh_cache, pc2
from supple.addon.reports import outdated
from supple.core.errors import SuppleError

from .test_playback_is_the_bake import subdivide
from .views import seen

LAST = 11


@pytest.fixture
def obj(scene, add_body, play):
    scene.frame_end = LAST + 1
    obj = add_body()
    play(LAST, wobble=True)
    return obj


def test_the_frame_after_the_last_is_the_first(obj):
    frames = [seen(obj, 1 + index) for index in range(LAST + 1)]
    message = loop.make(bpy.context, [obj], 4)
    looped = [seen(obj, 1 + index) for index in range(8)]
    np.testing.assert_allclose(looped[0], frames[8], atol=1e-6)
    np.testing.assert_allclose(looped[2], 0.5 * (frames[10] + frames[2]), atol=1e-6)
    for index in range(4, 8):
        np.testing.assert_allclose(looped[index], frames[index], atol=1e-6)
    gap = np.linalg.norm(frames[8] - frames[0], axis=1).max()
    size = np.linalg.norm(np.ptp(frames[0], axis=0))
    assert f"loop after 8 frames. Before blending, first and last frame were {gap / size:.1%} " in (
        message
    )
    assert message.endswith("Set the end of the scene to 8.")
    assert outdated.message(bpy.context) == ""


def test_a_bake_is_the_loop(obj):
    loop.make(bpy.context, [obj], 3)
    expected = [seen(obj, frame) for frame in range(1, 13)]
    actions.bake(bpy.context)
    for frame, points in enumerate(expected, 1):
        np.testing.assert_allclose(seen(obj, frame), points, atol=1e-6)


def test_another_loop_is_made_of_the_simulated_frames(obj):
    path = absolute(find_modifier(obj).filepath)
    frames = pc2.read(path)
    loop.make(bpy.context, [obj], 5)
    loop.make(bpy.context, [obj], 2)
    looped = pc2.read(absolute(find_modifier(obj).filepath))
    np.testing.assert_array_equal(looped, loop.blended(frames, 2))
    assert mesh_cache.shown_folder(bpy.context.scene) == mesh_cache.folder_of(path)


def test_the_refined_mesh_loops_too(scene, add_body, play):
    scene.frame_end = LAST + 1
    obj = add_body()
    subdivide(obj)
    play(LAST)
    loop.make(bpy.context, [obj], 4)
    for modifier in (find_modifier(obj), *find_refined(obj)):
        assert pc2.frame_count(absolute(modifier.filepath)) == 8


def test_too_few_frames_are_refused(obj):
    path = find_modifier(obj).filepath
    with pytest.raises(SuppleError, match=r"Cube has 12 frames, too few to blend 7\."):
        loop.make(bpy.context, [obj], 7)
    assert find_modifier(obj).filepath == path


def test_the_button_needs_frames(scene, add_body):
    add_body()
    with pytest.raises(RuntimeError, match=r"Nothing is simulated yet\. Press Simulate first"):
        bpy.ops.supple.loop()
