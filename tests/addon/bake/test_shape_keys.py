# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked shape keys, judged by what Blender makes of them."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.bake import shape_keys
from supple.core.errors import SuppleError

from .played import START, TOLERANCE, Positions, add_own_keys, assert_plays, rest, seen, state

# A mesh without keys of its own


def test_every_frame_is_where_it_was_simulated(obj: bpy.types.Object, frames: Positions) -> None:
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)


def test_the_frame_shown_while_baking_is_right_at_once(
    obj: bpy.types.Object, frames: Positions
) -> None:
    bpy.context.scene.frame_set(START + 4)
    shape_keys.bake(obj, frames, START)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    np.testing.assert_allclose(rest(evaluated), frames[4], atol=TOLERANCE)


def test_between_frames_vertices_move_straight(obj: bpy.types.Object, frames: Positions) -> None:
    shape_keys.bake(obj, frames, START)
    expected = 0.75 * frames[3] + 0.25 * frames[4]
    np.testing.assert_allclose(seen(obj, START + 3, 0.25), expected, atol=TOLERANCE)


@pytest.mark.parametrize("own_keys", [False, True])
@pytest.mark.parametrize(("step", "indices"), [(2, [0, 2, 4, 6, 8, 10, 11]), (4, [0, 4, 8, 11])])
def test_with_a_step_there_are_fewer_keys_and_straight_lines_between(
    obj: bpy.types.Object, frames: Positions, step: int, indices: list[int], own_keys: bool
) -> None:
    if own_keys:
        add_own_keys(obj)
    shape_keys.bake(obj, frames, START, step)
    baked = [block for block in obj.data.shape_keys.key_blocks if shape_keys.is_supple_key(block)]
    assert len(baked) == len(indices)
    for time in np.arange(0.0, 11.5, 0.5):
        expected = [
            np.interp(time, indices, line) for line in frames[indices].reshape(len(indices), -1).T
        ]
        found = seen(obj, START + int(time), time % 1.0).ravel()
        np.testing.assert_allclose(found, expected, atol=2.0 * TOLERANCE)


def test_a_bake_with_a_step_can_be_replaced_made_relative_and_freed(
    obj: bpy.types.Object, frames: Positions
) -> None:
    before = state(obj)
    shape_keys.bake(obj, frames, START, 4)
    shape_keys.make_relative(obj)
    expected = 0.25 * frames[4] + 0.75 * frames[8]
    np.testing.assert_allclose(seen(obj, START + 7), expected, atol=TOLERANCE)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    assert state(obj) == before


def test_a_bake_of_an_earlier_build_can_be_made_relative(
    obj: bpy.types.Object, frames: Positions
) -> None:
    shape_keys.bake(obj, frames, START)
    record = obj.data.shape_keys[shape_keys.RECORD]
    del record["frames"]
    record["start"] = START
    shape_keys.make_relative(obj)
    assert_plays(obj, frames)


@pytest.mark.parametrize("own_keys", [False, True])
def test_outside_its_frames_it_holds_the_first_and_the_last(
    obj: bpy.types.Object, frames: Positions, own_keys: bool
) -> None:
    if own_keys:
        add_own_keys(obj)
    shape_keys.bake(obj, frames, START)
    for before, after in ((1, 1), (START - 1, 12), (-50, 500)):
        np.testing.assert_allclose(seen(obj, before), frames[0], atol=TOLERANCE)
        np.testing.assert_allclose(seen(obj, START + 11 + after), frames[-1], atol=TOLERANCE)


@pytest.mark.parametrize("own_keys", [False, True])
@pytest.mark.parametrize("start", [-20, 0, 1])
def test_a_single_frame_can_be_baked(
    obj: bpy.types.Object, frames: Positions, start: int, own_keys: bool
) -> None:
    if own_keys:
        add_own_keys(obj)
    shape_keys.bake(obj, frames[:1], start)
    for frame in (start - 3, start, start + 3):
        np.testing.assert_allclose(seen(obj, frame), frames[0], atol=TOLERANCE)


def test_a_thousand_frames_do_not_drift(obj: bpy.types.Object) -> None:
    shifts = np.arange(1000, dtype=np.float32)[:, None, None]
    frames = rest(obj) + shifts
    shape_keys.bake(obj, frames, START)
    for frame in (0, 499, 998, 999):
        np.testing.assert_array_equal(seen(obj, START + frame), frames[frame])


def test_a_mesh_with_only_a_basis_plays_absolute_keys_too(
    obj: bpy.types.Object, frames: Positions
) -> None:
    obj.shape_key_add(name="Rest")
    before = state(obj)
    shape_keys.bake(obj, frames, START)
    assert not obj.data.shape_keys.use_relative
    assert_plays(obj, frames)
    shape_keys.free(obj)
    assert state(obj) == before


def test_it_plays_after_saving_and_opening(
    obj: bpy.types.Object, frames: Positions, tmp_path: Path
) -> None:
    name = obj.name
    shape_keys.bake(obj, frames, START)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    opened = bpy.data.objects[name]
    assert_plays(opened, frames)
    assert shape_keys.free(opened)
    assert opened.data.shape_keys is None


# Freeing


def test_freeing_leaves_a_mesh_without_keys_as_it_was(
    obj: bpy.types.Object, frames: Positions
) -> None:
    before = state(obj)
    shape_keys.bake(obj, frames, START)
    assert shape_keys.has_bake(obj)
    assert shape_keys.free(obj)
    assert state(obj) == before
    assert not shape_keys.has_bake(obj)
    assert not shape_keys.free(obj)


@pytest.mark.parametrize("animated", [False, True])
def test_freeing_leaves_own_keys_as_they_were(
    obj: bpy.types.Object, frames: Positions, animated: bool
) -> None:
    key = add_own_keys(obj)
    if animated:
        key.keyframe_insert("value", frame=3)
        obj.data.shape_keys.key_blocks["Smile"].driver_add("value")
    before = state(obj)
    shape_keys.bake(obj, frames, START)
    baked = [block for block in obj.data.shape_keys.key_blocks if shape_keys.is_supple_key(block)]
    assert len(baked) == len(frames)
    shape_keys.free(obj)
    assert state(obj) == before


def test_a_key_that_is_named_like_a_baked_one_is_kept(
    obj: bpy.types.Object, frames: Positions
) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name=f"Supple {START:04d}", from_mix=False).value = 1.0
    before = state(obj)
    shape_keys.bake(obj, frames, START)
    assert_plays(obj, frames)
    shape_keys.free(obj)
    assert state(obj) == before


def test_freeing_a_copy_leaves_the_original_baked(obj: bpy.types.Object, frames: Positions) -> None:
    shape_keys.bake(obj, frames, START)
    copy = obj.copy()
    copy.data = obj.data.copy()
    bpy.context.collection.objects.link(copy)
    shape_keys.free(copy)
    assert copy.data.shape_keys is None
    assert_plays(obj, frames)


# Baking again


@pytest.mark.parametrize("own_keys", [False, True])
def test_a_second_bake_replaces_the_first(
    obj: bpy.types.Object, frames: Positions, own_keys: bool
) -> None:
    if own_keys:
        add_own_keys(obj)
    before = state(obj)
    shape_keys.bake(obj, frames[::-1], START - 7)
    shape_keys.bake(obj, frames[:8], START)
    assert_plays(obj, frames[:8])
    assert len(bpy.data.actions) == 1
    shape_keys.free(obj)
    assert state(obj) == before


@pytest.mark.parametrize("own_keys", [False, True])
@pytest.mark.parametrize("baked_before", [False, True])
def test_a_bake_that_fails_midway_leaves_no_trace(
    obj: bpy.types.Object,
    frames: Positions,
    own_keys: bool,
    baked_before: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if own_keys:
        add_own_keys(obj)
    if baked_before:
        shape_keys.bake(obj, frames, START)
    before = state(obj)
    wrote = shape_keys.add_block

    def fail_at_six(obj: bpy.types.Object, name: str, shape: Positions) -> bpy.types.ShapeKey:
        if name.endswith("15"):
            monkeypatch.setattr(shape_keys, "add_block", wrote)
            raise MemoryError
        return wrote(obj, name, shape)

    monkeypatch.setattr(shape_keys, "add_block", fail_at_six)
    with pytest.raises(MemoryError):
        shape_keys.bake(obj, frames[::-1], START)
    assert state(obj) == before
    if baked_before:
        assert_plays(obj, frames)


def test_what_is_hidden_is_baked_where_it_has_frames(scene, add_body, play):
    scene.supple.use_ground = False
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    play(3)
    third = add_body("Third", location=(6, 0, 0))
    second.hide_set(True)
    third.hide_set(True)
    message = actions.bake(bpy.context)
    assert "shape keys: First, Second." in message
    assert [shape_keys.has_bake(obj) for obj in (first, second, third)] == [True, True, False]


@pytest.mark.parametrize("wrong", [(0, 34, 3), (5, 34, 2), (34, 3)])
def test_frames_of_a_wrong_shape_are_refused(obj: bpy.types.Object, wrong: tuple[int, ...]) -> None:
    with pytest.raises(SuppleError, match="no frames"):
        shape_keys.bake(obj, np.zeros(wrong, dtype=np.float32), START)


def test_another_vertex_count_is_refused_in_numbers(
    obj: bpy.types.Object, frames: Positions
) -> None:
    count = len(obj.data.vertices)
    with pytest.raises(SuppleError, match=f"{obj.name} has {count} vertices, but had {count - 1}"):
        shape_keys.bake(obj, frames[:, 1:], START)


def test_a_vertex_that_is_not_finite_is_named_and_an_earlier_bake_kept(
    obj: bpy.types.Object, frames: Positions
) -> None:
    shape_keys.bake(obj, frames, START)
    broken = frames.copy()
    broken[4, 7, 1] = np.nan
    with pytest.raises(SuppleError, match=f"{obj.name}: vertex 7 .* frame 4"):
        shape_keys.bake(obj, broken, START)
    assert_plays(obj, frames)


def test_a_mesh_in_edit_mode_is_refused(obj: bpy.types.Object, frames: Positions) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(SuppleError, match="Object Mode"):
        shape_keys.bake(obj, frames, START)


def test_only_meshes_can_be_baked() -> None:
    empty = bpy.data.objects.new("Empty", None)
    assert not shape_keys.has_bake(empty)
    with pytest.raises(SuppleError, match="Empty is not a mesh"):
        shape_keys.bake(empty, np.zeros((1, 1, 3), dtype=np.float32), START)
