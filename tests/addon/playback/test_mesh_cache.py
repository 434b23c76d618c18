# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames, read back from Blender as it draws them."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import modifiers
from supple.addon.capture.scene import capture
from supple.addon.playback import mesh_cache, pc2
from supple.core.errors import SuppleError
from supple.core.job import lock

from ..conftest import STEP, evaluated_positions, world_positions, write_frames


def test_each_scene_frame_shows_its_simulated_frame(scene, add_body, play):
    scene.frame_start, scene.frame_end = 11, 14
    obj = add_body(location=(1, 2, 3), rotation=(0.1, 0.2, 0.3), scale=(1, 2, 0.5))
    rest = world_positions(obj, 11)
    play(3)
    for index in range(4):
        np.testing.assert_allclose(world_positions(obj, 11 + index), rest + index * STEP, atol=1e-5)


def test_before_the_start_and_after_the_end_the_mesh_keeps_still(scene, add_body, play):
    obj = add_body()
    play(3)
    np.testing.assert_array_equal(evaluated_positions(obj, -5), evaluated_positions(obj, 1))
    np.testing.assert_array_equal(evaluated_positions(obj, 50), evaluated_positions(obj, 4))


def test_between_two_frames_lies_the_middle(scene, add_body, play):
    obj = add_body()
    rest = world_positions(obj, 1)
    play(3)
    scene.frame_set(2, subframe=0.5)
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    shown = np.array([tuple(vertex.co) for vertex in mesh.vertices])
    np.testing.assert_allclose(shown, rest + 1.5 * STEP, atol=1e-5)


def test_frames_that_arrive_later_are_seen(add_body, play):
    obj = add_body()
    rest = world_positions(obj, 1)
    job, shown = play(1)
    np.testing.assert_allclose(world_positions(obj, 4), rest + STEP, atol=1e-5)
    write_frames(job, 3)
    assert shown.extend(3, 1.0)
    np.testing.assert_allclose(world_positions(obj, 4), rest + 3 * STEP, atol=1e-5)


def test_frames_that_another_process_writes_just_now_are_taken_over_when_it_has(add_body, play):
    obj = add_body()
    job, shown = play(1)
    path = job.folder / "playback" / "0.pc2"
    before = path.read_bytes()
    write_frames(job, 3)
    with lock.hold(path.parent):
        assert not shown.extend(3, 1.0)
        assert (shown.last_frame, path.read_bytes()) == (1, before)
    assert shown.extend(3, 1.0)
    assert (mesh_cache.last_frame(obj), pc2.frame_count(path)) == (4, 4)


def test_an_object_that_moves_by_itself_shows_the_simulation_in_the_world(scene, add_body, play):
    obj = add_body()
    rest = world_positions(obj, 1)
    for frame, place in ((1, (0, 0, 0)), (4, (5, -3, 1))):
        obj.location = place
        obj.keyframe_insert("location", frame=frame)
    play(3)
    for index in range(4):
        np.testing.assert_allclose(world_positions(obj, 1 + index), rest + index * STEP, atol=1e-5)


def test_unit_scale_is_undone(scene, add_body, play):
    scene.unit_settings.scale_length = 0.1
    obj = add_body()
    rest = world_positions(obj, 1)
    play(3)
    np.testing.assert_allclose(world_positions(obj, 3), rest + 2 * STEP / 0.1, atol=1e-4)


def test_the_users_modifiers_act_on_top_of_what_was_simulated(add_body, play):
    obj = add_body()
    obj.modifiers.new("Copies", "ARRAY").count = 2
    play(3)
    assert [m.name for m in obj.modifiers] == ["Supple", "Copies", "Supple Refined"]
    assert len(evaluated_positions(obj, 3)) == 16


def test_a_modifier_of_the_users_called_supple_is_left_alone(add_body, play):
    obj = add_body()
    own = obj.modifiers.new("Supple", "SUBSURF")
    play(3)
    assert {modifier.type for modifier in obj.modifiers} == {"MESH_CACHE", "SUBSURF"}
    assert mesh_cache.detach(obj)
    assert list(obj.modifiers) == [own]


def test_playing_changes_neither_the_mesh_nor_what_is_captured(add_body, play):
    obj = add_body()
    before = [tuple(vertex.co) for vertex in obj.data.vertices]
    play(3)
    bpy.context.scene.frame_set(4)
    assert [tuple(vertex.co) for vertex in obj.data.vertices] == before
    skin = capture(bpy.context).scene.bodies[0].skin
    assert skin is not None
    np.testing.assert_allclose(skin.points, before, atol=1e-6)


def test_a_renamed_object_goes_on_playing_and_a_deleted_one_is_reported(add_body, play):
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    job, shown = play(1)
    first.name = "Renamed"
    bpy.data.objects.remove(second)
    write_frames(job, 3)
    shown.extend(3, 1.0)
    shown.attach()
    assert shown.missing() == ["Second"]
    assert np.ptp(evaluated_positions(first, 4)[:, 0]) == pytest.approx(1.0)
    assert evaluated_positions(first, 4)[:, 2].mean() == pytest.approx(0.9)


def test_an_edited_mesh_is_told_apart(add_body, play):
    obj = add_body()
    play(3)
    obj.data.vertices.add(1)
    assert "Cube has 9 vertices and had 8" in mesh_cache.why_not_playing(obj)
    with pytest.raises(SuppleError, match="9 vertices and had 8"):
        mesh_cache.read(obj)


def test_what_is_played_can_be_read_back(scene, add_body, play):
    scene.frame_start, scene.frame_end = 7, 10
    obj = add_body()
    play(3)
    frames, start = mesh_cache.read(obj)
    assert (frames.shape, start) == ((4, 8, 3), 7)
    np.testing.assert_array_equal(frames[2], evaluated_positions(obj, 9))


def test_a_playback_file_that_is_gone_or_cut_off_is_reported(add_body, play, tmp_path):
    obj = add_body()
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(SuppleError, match="is incomplete"):
        mesh_cache.read(obj)
    path.write_bytes(b"")
    with pytest.raises(SuppleError, match="is not a point cache"):
        mesh_cache.read(obj)
    path.unlink()
    with pytest.raises(SuppleError, match="is missing"):
        mesh_cache.read(obj)


def test_no_bit_of_a_playback_file_can_change_unnoticed(add_body, play):
    obj = add_body()
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    whole = path.read_bytes()
    before, _ = mesh_cache.read(obj)
    # Three numbers of the header say nothing here: the version, the first frame, and the step.
    silent = {*range(12, 16), *range(20, 28)}
    for place in {*range(0, len(whole), 7), *range(40)} - silent:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(SuppleError, match=r"0\.pc2 is .*Simulate again"):
            mesh_cache.read(obj)
    path.write_bytes(whole)
    np.testing.assert_array_equal(mesh_cache.read(obj)[0], before)


def test_a_playback_file_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "playback").write_text("a file where a folder should be")
    with pytest.raises(SuppleError, match="cannot be written"):
        pc2.create(tmp_path / "playback" / "0.pc2", 8)


def test_the_frame_that_was_shown_last_counts_from_the_start(scene, add_body, play):
    scene.frame_start, scene.frame_end = 11, 14
    add_body()
    _, shown = play(2)
    assert (shown.last_frame, shown.last_shown) == (2, 13)


def test_a_run_that_starts_elsewhere_is_shown_from_there(scene, add_body, play):
    obj = add_body()
    rest = world_positions(obj, 1)
    play(3)
    scene.frame_start, scene.frame_end = 21, 24
    play(3)
    for index in range(4):
        np.testing.assert_allclose(world_positions(obj, 21 + index), rest + index * STEP, atol=1e-5)
    assert mesh_cache.read(obj)[1] == 21


def test_no_frame_is_taken_over_twice(add_body, play):
    add_body()
    job, shown = play(2)
    assert not shown.extend(2, 1.0)
    write_frames(job, 3)
    assert shown.extend(3, 1.0)
    assert len(pc2.read(job.folder / "playback" / "0.pc2")) == 4


def test_what_is_played_already_is_left_to_others_that_show_it(add_body, play):
    add_body()
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    whole, before = path.read_bytes(), path.stat().st_mtime_ns
    play(1)  # a shorter part of the same run
    play(3)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (whole, before)


def test_a_shorter_range_plays_what_it_bakes_and_leaves_the_longer_to_others(scene, add_body, play):
    obj = add_body()
    rest = world_positions(obj, 1)
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    whole, before = path.read_bytes(), path.stat().st_mtime_ns
    scene.frame_end = 2
    play(1)
    frames, start = mesh_cache.read(obj)
    assert (len(frames), start) == (2, 1)
    np.testing.assert_allclose(world_positions(obj, 4), rest + STEP, atol=1e-5)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (whole, before)
    assert mesh_cache.folder_of(Path(modifiers.find_modifier(obj).filepath)) == job.folder
    scene.frame_end = 4
    play(3)
    np.testing.assert_allclose(world_positions(obj, 4), rest + 3 * STEP, atol=1e-5)


def test_a_part_that_is_rendered_plays_from_the_file_of_all(scene, add_body, play):
    add_body()
    job, _ = play(3)
    scene.frame_end = 2
    shown = mesh_cache.Playback(job, capture(bpy.context), may_go_on=True)
    assert shown.extend(1, 1.0)
    assert [path.name for path in job.folder.glob("playback*")] == ["playback"]


def test_from_the_first_other_frame_on_playback_is_made_anew(tmp_path):
    path = tmp_path / "playback" / "0.pc2"
    frames = np.random.default_rng(1).normal(size=(6, 4, 3)).astype(np.float32)
    pc2.begin(path, 4)
    pc2.put(path, 0, frames[:4])
    pc2.put(path, 2, frames[[2, 5]])
    np.testing.assert_array_equal(pc2.read(path), frames[[0, 1, 2, 5]])
    pc2.put(path, 1, frames[[3]])
    np.testing.assert_array_equal(pc2.read(path), frames[[0, 3]])
    pc2.begin(path, 4)
    pc2.put(path, 2, frames[:1])
    np.testing.assert_array_equal(pc2.read(path), frames[[0, 3, 0]])
    with pytest.raises(SuppleError, match="Another process has restarted"):
        pc2.put(path, 4, frames[:1])
    pc2.begin(path, 5)
    assert pc2.read(path).shape == (0, 5, 3)


def test_a_damaged_playback_file_is_made_anew(add_body, play):
    add_body()
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + b"\0" + whole[-39:])
    play(1)
    assert len(pc2.read(path)) == 2
