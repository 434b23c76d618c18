# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked shape keys, judged by what Blender makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from supple.addon.bake import shape_keys
from supple.core.errors import SuppleError

Positions = NDArray[np.float32]

START = 10
TOLERANCE = 2e-6


@pytest.fixture(autouse=True)
def scene() -> Iterator[bpy.types.Scene]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    yield bpy.context.scene
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture
def obj() -> bpy.types.Object:
    bpy.ops.mesh.primitive_uv_sphere_add(segments=8, ring_count=5)
    return bpy.context.object


@pytest.fixture
def frames(obj: bpy.types.Object) -> Positions:
    """Twelve frames, no two alike and no motion along a line."""
    random = np.random.default_rng(1)
    return random.normal(size=(12, len(obj.data.vertices), 3)).astype(np.float32)


def rest(obj: bpy.types.Object) -> Positions:
    positions = np.empty((len(obj.data.vertices), 3), dtype=np.float32)
    obj.data.vertices.foreach_get("co", positions.ravel())
    return positions


def seen(obj: bpy.types.Object, frame: int, subframe: float = 0.0) -> Positions:
    """Where Blender draws the vertices at a frame."""
    bpy.context.scene.frame_set(frame, subframe=subframe)
    return rest(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))


def assert_plays(obj: bpy.types.Object, frames: Positions) -> None:
    for index, frame in enumerate(frames):
        np.testing.assert_allclose(seen(obj, START + index), frame, atol=TOLERANCE)


def add_own_keys(obj: bpy.types.Object) -> bpy.types.ShapeKey:
    """Two keys at work: one relative to the other, and limited to a vertex group."""
    group = obj.vertex_groups.new(name="Half")
    group.add(list(range(len(obj.data.vertices) // 2)), 0.5, "REPLACE")
    obj.shape_key_add(name="Basis")
    for name, value in (("Smile", 0.75), ("Wink", 0.5)):
        key = obj.shape_key_add(name=name, from_mix=False)
        shift = np.random.default_rng(len(name)).normal(size=rest(obj).shape)
        key.points.foreach_set("co", (rest(obj) + shift).astype(np.float32).ravel())
        key.value = value
    key.relative_key = obj.data.shape_keys.key_blocks["Smile"]
    key.vertex_group = "Half"
    return key


def state(obj: bpy.types.Object) -> list[object]:
    """All that a bake could disturb."""
    keys = obj.data.shape_keys
    found: list[object] = [rest(obj).tolist(), obj.show_only_shape_key, len(bpy.data.actions)]
    if keys is None:
        return found
    data = keys.animation_data
    for block in keys.key_blocks:
        points = np.empty(3 * len(block.points), dtype=np.float32)
        block.points.foreach_get("co", points)
        relative = block.relative_key.name
        found += [block.name, block.value, block.mute, relative, block.frame, points.tolist()]
    paths = [driver.data_path for driver in data.drivers] if data else []
    return [*found, keys.use_relative, obj.active_shape_key.name, data is not None, paths]


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


def move_keys(obj: bpy.types.Object, how: str) -> None:
    """Lets the own key Smile move over the frames."""
    keys = obj.data.shape_keys
    smile = keys.key_blocks["Smile"]
    if how == "driven":
        smile.driver_add("value").driver.expression = "frame / 20"
        return
    for frame, value in ((START, 0.25), (START + 5, 1.0)):
        smile.value = value
        smile.keyframe_insert("value", frame=frame)
    if how == "nla":
        data = keys.animation_data
        action, slot = data.action, data.action_slot
        data.action = None
        data.nla_tracks.new().strips.new("Smiling", START, action).action_slot = slot


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
        f"Muted until Free, since the frames hold all motion of {obj.name}: shape keys Smile."
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
    wrote = shape_keys._add_block

    def fail_at_six(obj: bpy.types.Object, name: str, shape: Positions) -> bpy.types.ShapeKey:
        if name.endswith("15"):
            monkeypatch.setattr(shape_keys, "_add_block", wrote)
            raise MemoryError
        return wrote(obj, name, shape)

    monkeypatch.setattr(shape_keys, "_add_block", fail_at_six)
    with pytest.raises(MemoryError):
        shape_keys.bake(obj, frames[::-1], START)
    assert state(obj) == before
    if baked_before:
        assert_plays(obj, frames)


# What cannot be baked


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


def test_a_shared_mesh_is_copied_with_its_animation(
    obj: bpy.types.Object, frames: Positions
) -> None:
    add_own_keys(obj)
    move_keys(obj, "animated")
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.collection.objects.link(twin)
    alone = seen(twin, START + 4)
    notes = shape_keys.bake(obj, frames, START)
    assert notes[0] == f"{obj.name} has a mesh of its own now."
    assert twin.data != obj.data
    assert shape_keys.bake(twin, frames[::-1], START)[0].startswith("Muted")
    assert_plays(obj, frames)
    assert_plays(twin, frames[::-1])
    shape_keys.free(twin)
    assert_plays(obj, frames)
    np.testing.assert_allclose(seen(twin, START + 4), alone, atol=TOLERANCE)


def test_a_shared_mesh_is_shared_again_after_a_bake_that_fails(
    obj: bpy.types.Object, frames: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = bpy.data.objects.new("Twin", obj.data)

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(shape_keys, "_add_block", fail)
    with pytest.raises(MemoryError):
        shape_keys.bake(obj, frames, START)
    assert obj.data == twin.data
    assert list(bpy.data.meshes) == [obj.data]
    assert obj.data.shape_keys is None


def test_a_linked_object_is_refused_with_the_cure_and_an_override_baked(
    obj: bpy.types.Object, frames: Positions, tmp_path: Path
) -> None:
    library = tmp_path / "library.blend"
    name = obj.name
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = [name]
    linked = bpy.data.objects[name]
    bpy.context.collection.objects.link(linked)
    with pytest.raises(SuppleError, match=r"linked from another file.*Library Override"):
        shape_keys.bake(linked, frames, START)
    linked.override_create(remap_local_usages=True)
    shape_keys.bake(bpy.context.collection.objects[0], frames, START)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "baked.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "baked.blend"))
    assert_plays(bpy.context.collection.objects[0], frames)


def test_a_mesh_in_edit_mode_is_refused(obj: bpy.types.Object, frames: Positions) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(SuppleError, match="Object Mode"):
        shape_keys.bake(obj, frames, START)


def test_only_meshes_can_be_baked() -> None:
    empty = bpy.data.objects.new("Empty", None)
    assert not shape_keys.has_bake(empty)
    with pytest.raises(SuppleError, match="Empty is not a mesh"):
        shape_keys.bake(empty, np.zeros((1, 1, 3), dtype=np.float32), START)
