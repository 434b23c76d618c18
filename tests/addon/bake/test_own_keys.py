# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of meshes that have, or get, shape keys of their own."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.core.errors import SuppleError

from .played import (
    START,
    TOLERANCE,
    Positions,
    add_own_keys,
    assert_plays,
    move_keys,
    rest,
    seen,
    state,
)

# A mesh with keys of its own


def test_own_keys_at_work_are_not_counted_twice(obj: bpy.types.Object, frames: Positions) -> None:
    add_own_keys(obj)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    expected = 0.5 * (frames[3] + frames[4])
    np.testing.assert_allclose(seen(obj, START + 3, 0.5), expected, atol=TOLERANCE)


def test_own_keys_can_still_be_moved_on_top(obj: bpy.types.Object, frames: Positions) -> None:
    add_own_keys(obj)
    smile = obj.data.shape_keys.key_blocks["Smile"]
    shape_keys.bake(obj, frames, START)
    before = seen(obj, START)
    smile.value = 0.0
    assert not np.allclose(seen(obj, START), before)


@pytest.mark.parametrize("how", ["animated", "driven", "nla"])
def test_the_motion_of_own_keys_does_not_add_to_the_frames(
    obj: bpy.types.Object, frames: Positions, how: str
) -> None:
    add_own_keys(obj)
    move_keys(obj, how)
    before = state(obj)
    mixes = [seen(obj, START + index) for index in range(12)]
    assert not np.allclose(mixes[0], mixes[4])
    bpy.context.scene.frame_set(START + 5)
    assert shape_keys.bake(obj, frames, START) == [
        f"Muted shape keys until Free, since the frames hold all motion of {obj.name}: Smile."
    ]
    assert_plays(obj, frames)
    halfway = 0.5 * (frames[3] + frames[4])
    np.testing.assert_allclose(seen(obj, START + 3, 0.5), halfway, atol=TOLERANCE)
    with shape_keys.suspended(obj):
        np.testing.assert_allclose(seen(obj, START + 4), mixes[4], atol=TOLERANCE)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    bpy.context.scene.frame_set(START)
    np.testing.assert_allclose(seen(obj, START + 3), mixes[3], atol=TOLERANCE)
    assert state(obj)[1:3] == before[1:3]
    assert not obj.data.shape_keys.key_blocks["Smile"].mute


def test_own_keys_that_were_muted_stay_so_after_freeing(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    move_keys(obj, "animated")
    obj.data.shape_keys.key_blocks["Smile"].mute = True
    assert shape_keys.bake(obj, frames, START) == []
    shape_keys.free(obj)
    assert obj.data.shape_keys.key_blocks["Smile"].mute


def test_a_key_that_is_switched_by_its_animation_is_refused(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj).keyframe_insert("mute", frame=START)
    before = state(obj)
    with pytest.raises(SuppleError, match=r"Wink .* switched on and off.*Clear that keyframe"):
        shape_keys.bake(obj, frames, START)
    assert state(obj) == before


@pytest.mark.parametrize("how", ["still", "animated", "driven"])
def test_own_absolute_keys_come_back_with_their_time(
    obj: bpy.types.Object, frames: Positions, how: str
) -> None:
    add_own_keys(obj)
    keys = obj.data.shape_keys
    keys.use_relative, keys.eval_time = False, 13.0
    for frame, time in ((START, 5.0), (START + 6, 17.0)) if how == "animated" else ():
        keys.eval_time = time
        keys.keyframe_insert("eval_time", frame=frame)
    if how == "driven":
        keys.driver_add("eval_time").driver.expression = "frame"
    before, mix = state(obj), seen(obj, START + 2)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    np.testing.assert_allclose(seen(obj, START + 2), mix, atol=TOLERANCE)
    assert state(obj) == before


def test_a_curve_of_the_time_that_the_user_made_outlives_a_bake(
    obj: bpy.types.Object, frames: Positions
) -> None:
    obj.shape_key_add(name="Basis")
    keys = obj.data.shape_keys
    for frame in (1, 9):
        keys.eval_time = 3.0 * frame
        keys.keyframe_insert("eval_time", frame=frame)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    for frame in (1, 9):
        bpy.context.scene.frame_set(frame)
        assert keys.eval_time == pytest.approx(3.0 * frame)


def test_the_time_of_the_keys_is_what_it_was_after_freeing(
    obj: bpy.types.Object, frames: Positions
) -> None:
    obj.shape_key_add(name="Basis")
    obj.data.shape_keys.eval_time = 7.0
    shape_keys.bake(obj, frames, START)
    assert not obj.data.shape_keys.use_relative
    shape_keys.free(obj)
    assert obj.data.shape_keys.eval_time == 7.0


def test_a_key_shown_alone_does_not_hide_the_bake(obj: bpy.types.Object, frames: Positions) -> None:
    add_own_keys(obj)
    obj.active_shape_key_index, obj.show_only_shape_key = 1, True
    before = state(obj)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    assert state(obj) == before


# Keys added after a bake


@pytest.mark.parametrize("frame", [1, START + 3, START + 40])
def test_a_key_added_after_a_bake_works_once_the_bake_is_relative(
    obj: bpy.types.Object, frames: Positions, frame: int
) -> None:
    shape_keys.bake(obj, frames, START)
    assert not shape_keys.has_idle_keys(obj)
    bpy.context.scene.frame_set(frame)
    correction = obj.shape_key_add(name="Correction", from_mix=False)
    shift = np.random.default_rng(5).normal(size=rest(obj).shape).astype(np.float32)
    correction.points.foreach_set("co", (rest(obj) + shift).ravel())
    correction.value = 0.5
    assert shape_keys.has_idle_keys(obj)
    shape_keys.make_relative(obj)
    assert not shape_keys.has_idle_keys(obj)
    assert len(bpy.data.actions) == 1
    assert_plays(obj, frames + 0.5 * shift)
    obj.data.shape_keys.key_blocks["Correction"].value = 0.0
    assert_plays(obj, frames)
    shape_keys.free(obj)
    assert [block.name for block in obj.data.shape_keys.key_blocks] == ["Basis", "Correction"]


def test_own_keys_beside_a_relative_bake_are_not_idle(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    shape_keys.bake(obj, frames, START)
    obj.shape_key_add(name="Correction", from_mix=False)
    assert not shape_keys.has_idle_keys(obj)
