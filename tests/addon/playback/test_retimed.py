# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake is what the Mesh Cache modifier shows, however it was changed after the simulation."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.modifiers import find_modifier, find_refined
from supple.addon.playback import mesh_cache, retimed
from supple.addon.reports import ignored, outdated
from supple.core.errors import SuppleError

from ..conftest import set_linear
from ..shown_notices import shown_notices
from .test_playback_is_the_bake import bend, subdivide
from .views import seen

Change = Callable[[bpy.types.Modifier], object]

FRAMES = range(-3, 25)
TOLERANCE = 1e-6


def _key(modifier: bpy.types.Modifier, name: str, *points: tuple[int, float]) -> None:
    for frame, value in points:
        setattr(modifier, name, value)
        modifier.keyframe_insert(name, frame=frame)
    set_linear(modifier.id_data)


def shift(modifier: bpy.types.Modifier) -> None:
    modifier.frame_start += 5


def shift_by_a_part(modifier: bpy.types.Modifier) -> None:
    modifier.frame_start += 2.25


def slow_down(modifier: bpy.types.Modifier) -> None:
    modifier.frame_scale = 0.3


def speed_up(modifier: bpy.types.Modifier) -> None:
    modifier.frame_scale = 1.5


def play_backwards(modifier: bpy.types.Modifier) -> None:
    modifier.frame_scale, modifier.frame_start = -1.0, -8.0


def play_by_seconds(modifier: bpy.types.Modifier) -> None:
    # Blender divides seconds by the frame rate.
    modifier.time_mode, modifier.frame_start, modifier.frame_scale = "TIME", 3.0, 100.0


def play_by_factor(modifier: bpy.types.Modifier) -> None:
    modifier.time_mode = "FACTOR"


def key_a_frame(modifier: bpy.types.Modifier) -> None:
    modifier.play_mode = "CUSTOM"
    _key(modifier, "eval_frame", (-2, 3.0), (4, 0.5), (21, 3.0))


def key_a_time(modifier: bpy.types.Modifier) -> None:
    modifier.play_mode, modifier.time_mode = "CUSTOM", "TIME"
    _key(modifier, "eval_time", (1, 0.0), (12, 3.0 / 24.0))


def key_a_factor(modifier: bpy.types.Modifier) -> None:
    modifier.play_mode, modifier.time_mode = "CUSTOM", "FACTOR"
    _key(modifier, "eval_factor", (2, 1.0), (9, 0.0))


def drive_a_frame(modifier: bpy.types.Modifier) -> None:
    modifier.play_mode = "CUSTOM"
    modifier.driver_add("eval_frame").driver.expression = "3 * sin(frame / 3) ** 2"


def stand_still(modifier: bpy.types.Modifier) -> None:
    modifier.play_mode, modifier.eval_frame = "CUSTOM", 1.5


def key_the_start(modifier: bpy.types.Modifier) -> None:
    _key(modifier, "frame_start", (1, 1.0), (20, 18.0))


def weaken(modifier: bpy.types.Modifier) -> None:
    modifier.factor = 0.4


def fade_in(modifier: bpy.types.Modifier) -> None:
    _key(modifier, "factor", (1, 0.0), (10, 1.0))


def flip(modifier: bpy.types.Modifier) -> None:
    modifier.flip_axis = (True, False, True)


def turn_axes(modifier: bpy.types.Modifier) -> None:
    modifier.forward_axis, modifier.up_axis = "POS_X", "NEG_Z"


def integrate(modifier: bpy.types.Modifier) -> None:
    modifier.deform_mode = "INTEGRATE"


def limit_to_a_group(modifier: bpy.types.Modifier) -> None:
    modifier.id_data.vertex_groups.new(name="Half").add([0, 3, 5], 0.5, "REPLACE")
    modifier.vertex_group = "Half"


CHANGES = [
    *(shift, shift_by_a_part, slow_down, speed_up, play_backwards, play_by_seconds),
    *(play_by_factor, key_a_frame, key_a_time, key_a_factor, drive_a_frame, stand_still),
    *(key_the_start, weaken, fade_in, flip, turn_axes, integrate, limit_to_a_group),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_bake_moves_as_its_modifier_showed_the_frames(scene, add_body, play, change: Change):
    obj = add_body(location=(0.3, 0.2, 0.1), scale=(1, 2, 0.5))
    scene.frame_end = 20
    play(3, wobble=True)
    change(find_modifier(obj))
    scene.frame_set(2, subframe=0.5)
    # A driver never ends: it is taken over the frames of the scene.
    frames = range(1, 21) if change is drive_a_frame else FRAMES
    shown = [seen(obj, frame) for frame in frames]
    scene.frame_set(2, subframe=0.5)
    actions.bake(bpy.context)
    assert (scene.frame_current, scene.frame_subframe) == (2, 0.5)
    assert find_modifier(obj) is None
    for frame, expected in zip(frames, shown, strict=True):
        np.testing.assert_allclose(seen(obj, frame), expected, rtol=0, atol=TOLERANCE)


def test_other_settings_and_drivers_come_back_and_do_not_act_twice(scene, add_body, play):
    obj = add_body()
    bend(obj)
    play(3, wobble=True)
    weaken(find_modifier(obj))
    shown = [seen(obj, frame) for frame in FRAMES]
    message = actions.bake(bpy.context)
    assert "Baked with the edited settings of the Mesh Cache modifier: Cube." in message
    for frame, expected in zip(FRAMES, shown, strict=True):
        np.testing.assert_allclose(seen(obj, frame), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("change", [slow_down, key_a_frame, flip])
def test_what_modifiers_make_of_frames_is_taken_as_it_is_shown(scene, add_body, play, change):
    obj = add_body()
    subdivide(obj)
    scene.frame_end = 20
    play(3, wobble=True)
    own, start = mesh_cache.read(obj)
    playback, refined = find_modifier(obj), find_refined(obj)[0]
    change(refined)
    files = playback.filepath, refined.filepath
    expected = [seen(obj, frame) - np.array(obj.location) for frame in FRAMES]
    shown = retimed.shown_frames(bpy.context, [obj])[obj]
    assert (playback.filepath, refined.filepath) == files
    end = shown.start + len(shown.frames)
    visible = expected[FRAMES.index(shown.start) : FRAMES.index(end)]
    np.testing.assert_allclose(shown.refined, visible, atol=TOLERANCE)
    assert shown.frames.shape == (len(visible), len(obj.data.vertices), 3)
    # The vertices are those of the same moment.
    if change is slow_down:
        times = 0.3 * np.arange(shown.start, end) - start
        times = np.clip(times, 0.0, 3.0)
        before = np.minimum(times.astype(int), 2)
        parts = (times - before)[:, None, None]
        mixed = own[before] + parts * (own[before + 1] - own[before])
        np.testing.assert_allclose(shown.frames, mixed, atol=1e-5)


def test_frames_that_are_retimed_where_it_is_not_seen_are_reported(scene, add_body, play):
    obj = add_body()
    subdivide(obj)
    play(3)
    assert shown_notices() == []
    slow_down(find_modifier(obj))
    (notice,) = shown_notices()
    assert notice.text.startswith("Cube shows the frames of its modifier Supple Refined, which")


@pytest.mark.parametrize("change", [key_a_frame, drive_a_frame, fade_in, slow_down])
def test_a_retimed_modifier_is_no_change_of_what_was_simulated(scene, add_body, play, change):
    obj = add_body()
    scene.frame_end = 4
    play(3)
    said = ignored.messages(bpy.context)
    change(find_modifier(obj))
    scene.frame_set(2)
    assert shown_notices() == []
    assert ignored.messages(bpy.context) == said
    scene.frame_end = 30
    assert outdated.message(bpy.context) == ""
    obj.location.x += 1.0
    assert any("is out of date: place" in n.text for n in shown_notices())


def test_an_action_strip_on_the_modifier_is_no_change_either(scene, add_body, play):
    obj = add_body()
    play(3)
    key_a_frame(find_modifier(obj))
    data = obj.animation_data
    action, slot = data.action, data.action_slot
    data.action = None
    data.nla_tracks.new().strips.new("Retime", 1, action).action_slot = slot
    assert shown_notices() == []
    shown = [seen(obj, frame) for frame in FRAMES]
    actions.bake(bpy.context)
    for frame, expected in zip(FRAMES, shown, strict=True):
        np.testing.assert_allclose(seen(obj, frame), expected, rtol=0, atol=TOLERANCE)


def test_a_hidden_body_that_is_retimed_has_to_be_shown_first(scene, add_body, play):
    obj = add_body()
    play(3)
    slow_down(find_modifier(obj))
    obj.hide_set(True)
    with pytest.raises(SuppleError, match=r"Cube is hidden, .*Show the object, then bake"):
        actions.bake(bpy.context)
    assert find_modifier(obj) is not None
