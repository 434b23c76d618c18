# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames go where their .blend file goes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.cache import cache_moves, scene_cache
from supple.addon.cache.scene_cache import OpenedJob
from supple.addon.capture.scene import capture
from supple.addon.modifiers import find_modifier
from supple.addon.paths import users_cache
from supple.addon.playback import mesh_cache
from supple.addon.worker import session
from supple.core.job import Job, lock

from ..conftest import empty_file, evaluated_positions
from ..shown_notices import only, shown_notices
from .saved import assert_moves, opened, path_of, save, simulate

FRAME = Path("frames") / "000002.npy"


def reopened() -> OpenedJob:
    captured = capture(bpy.context)
    return scene_cache.open_job(bpy.context.scene, captured.scene, captured.settings)


@pytest.mark.parametrize("remap", [True, False])
def test_the_first_save_takes_the_frames_along(cube, tmp_path, remap):
    before = simulate()
    earlier, cube.supple.density = cube.supple.density, 900.0
    shown = simulate()
    assert before.parent == shown.parent == users_cache()
    save(tmp_path / "project" / "drop.blend", relative_remap=remap)
    now = tmp_path / "project" / "supple_cache"
    names = {f"drop-Scene-{folder.name[-12:]}" for folder in (before, shown)}
    assert {folder.name for folder in now.iterdir()} == names
    assert list(users_cache().iterdir()) == []
    assert bpy.context.scene.supple.unsaved_name == ""
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")
    assert_moves(cube)
    shutil.move(tmp_path / "project", tmp_path / "elsewhere")
    cube = opened(tmp_path / "elsewhere" / "drop.blend")
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")
    assert_moves(cube)
    cube.supple.density = earlier
    assert simulate().name.endswith(before.name[-12:])


def test_a_moved_file_plays_without_supple_too(cube, tmp_path):
    simulate()
    save(tmp_path / "a" / "drop.blend")
    shutil.move(tmp_path / "a", tmp_path / "b")
    bpy.app.handlers.load_post.clear()
    try:
        cube = opened(tmp_path / "b" / "drop.blend")
        assert_moves(cube)
    finally:
        import supple.addon as addon

        bpy.app.handlers.load_post.append(addon.HANDLERS["load_post"])


def test_saving_again_changes_nothing(cube, tmp_path):
    simulate()
    save(tmp_path / "drop.blend")
    path = path_of(cube)
    folders = sorted((tmp_path / "supple_cache").iterdir())
    bpy.ops.wm.save_mainfile()
    assert path_of(cube) == path
    assert sorted((tmp_path / "supple_cache").iterdir()) == folders


@pytest.mark.parametrize("remap", [True, False])
@pytest.mark.parametrize("place", ["other", "project"])
def test_save_as_leaves_both_files_with_frames_of_their_own(cube, tmp_path, remap, place):
    save(tmp_path / "project" / "drop.blend")
    simulate()
    bpy.ops.wm.save_mainfile()
    save(tmp_path / place / "second.blend", relative_remap=remap)
    assert path_of(cube).startswith("//supple_cache/second-Scene-")
    assert_moves(cube)
    shutil.rmtree(mesh_cache.shown_folder(bpy.context.scene))
    cube = opened(tmp_path / "project" / "drop.blend")
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")
    assert_moves(cube)
    save(tmp_path / place / "second.blend", relative_remap=remap)
    shutil.rmtree(tmp_path / "project" / "supple_cache" / f"drop-Scene-{run_of(cube)}")
    assert_moves(opened(tmp_path / place / "second.blend"))


def run_of(obj: bpy.types.Object) -> str:
    return Path(path_of(obj)).parent.parent.name[-12:]


def test_frames_of_a_second_file_share_the_disk_but_not_what_is_appended(cube, tmp_path):
    save(tmp_path / "drop.blend")
    first = simulate()
    save(tmp_path / "second.blend")
    second = mesh_cache.shown_folder(bpy.context.scene)
    assert (first / FRAME).samefile(second / FRAME)
    shown = (second / "playback" / "0.pc2").read_bytes()
    (first / "playback" / "0.pc2").write_bytes(b"")
    assert (second / "playback" / "0.pc2").read_bytes() == shown


@pytest.mark.parametrize("saved_before", [True, False])
def test_a_copy_has_frames_and_the_open_file_keeps_its_own(cube, tmp_path, saved_before):
    if saved_before:
        save(tmp_path / "project" / "drop.blend")
    folder = simulate()
    save(tmp_path / "copies" / "copy.blend", copy=True)
    assert_moves(cube)
    if saved_before:
        assert mesh_cache.shown_folder(bpy.context.scene) == folder
    empty_file()
    cube = opened(tmp_path / "copies" / "copy.blend")
    assert path_of(cube).startswith("//supple_cache/copy-Scene-")
    assert_moves(cube)


def test_a_renamed_file_plays_and_simulates_on(cube, tmp_path):
    save(tmp_path / "drop.blend")
    folder = simulate()
    bpy.ops.wm.save_mainfile()
    (tmp_path / "drop.blend").rename(tmp_path / "renamed.blend")
    cube = opened(tmp_path / "renamed.blend")
    assert_moves(cube)
    assert simulate() == folder
    bpy.ops.wm.save_mainfile()
    assert path_of(cube).startswith("//supple_cache/renamed-Scene-")
    assert_moves(cube)


def test_a_file_from_another_machine_finds_the_frames_beside_it(cube, tmp_path):
    save(tmp_path / "drop.blend")
    simulate()
    modifier = find_modifier(cube)
    modifier.filepath = modifier.filepath.replace("//", "/home/someone/project/")
    bpy.app.handlers.save_pre.clear()
    try:
        save(tmp_path / "drop.blend", relative_remap=False)
    finally:
        import supple.addon as addon

        bpy.app.handlers.save_pre.append(addon.HANDLERS["save_pre"])
    assert_moves(opened(tmp_path / "drop.blend"))


def test_of_equal_runs_beside_it_a_file_finds_its_own(cube, tmp_path):
    save(tmp_path / "drop.blend")
    simulate()
    bpy.ops.wm.save_mainfile()
    save(tmp_path / "second.blend")
    for name in ("drop", "second"):
        cube = opened(tmp_path / f"{name}.blend")
        modifier = find_modifier(cube)
        modifier.filepath = modifier.filepath.replace("//", "/home/someone/project/")
        cache_moves.reconnect()
        assert path_of(cube).startswith(f"//supple_cache/{name}-Scene-")
        assert_moves(cube)


def test_a_run_that_is_gone_is_not_taken_for_another_one(cube, tmp_path):
    save(tmp_path / "drop.blend")
    gone = simulate()
    bpy.ops.wm.save_mainfile()
    path = path_of(cube)
    cube.supple.density = 900.0
    other = simulate()
    find_modifier(cube).filepath = path
    shutil.rmtree(gone)
    cache_moves.reconnect()
    assert (other / "playback" / "0.pc2").is_file()
    assert path_of(cube) == path


def test_an_undo_past_the_first_save_finds_the_frames(cube, tmp_path):
    bpy.ops.ed.undo_push(message="before")
    simulate()
    bpy.ops.ed.undo_push(message="Simulate")
    bpy.context.scene.frame_set(2)
    bpy.ops.ed.undo_push(message="frame")
    save(tmp_path / "drop.blend")
    bpy.ops.ed.undo()
    cube = bpy.data.objects["Cube"]
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")
    assert_moves(cube)


def test_frames_in_a_folder_that_was_chosen_stay_there_under_the_files_name(cube, scene, tmp_path):
    scene.supple.cache_folder = str(tmp_path / "chosen")
    run = simulate().name[-12:]
    save(tmp_path / "project" / "drop.blend")
    (folder,) = (tmp_path / "chosen").iterdir()
    assert re.fullmatch(rf"drop@[0-9a-f]{{8}}-Scene-{run}", folder.name)
    assert_moves(cube)


def test_files_of_one_name_do_not_remove_each_others_frames(cube, scene, tmp_path):
    scene.supple.cache_folder = str(tmp_path / "chosen")
    save(tmp_path / "first" / "shot.blend")
    folder = simulate()
    bpy.ops.wm.save_mainfile()
    save(tmp_path / "second" / "shot.blend")
    for density in (900.0, 800.0, 700.0):
        cube.supple.density = density
        simulate()
    assert folder.exists()
    assert_moves(opened(tmp_path / "first" / "shot.blend"))


def test_a_file_by_another_path_takes_the_frames_of_the_same_run(cube, scene, tmp_path):
    scene.supple.cache_folder = str(tmp_path / "chosen")
    save(tmp_path / "first" / "shot.blend")
    first = simulate()
    assert not reopened().warning
    bpy.ops.wm.save_mainfile()
    (tmp_path / "second").mkdir()
    shutil.copy(tmp_path / "first" / "shot.blend", tmp_path / "second" / "other.blend")
    cube = opened(tmp_path / "second" / "other.blend")
    cube.modifiers.remove(find_modifier(cube))
    with lock.hold(first):  # where frames may be on their way
        assert reopened().reached == -1
    scene_cache.remove(reopened().job.folder)
    second = reopened()
    assert (second.is_complete, second.warning) == (True, "")
    assert second.job.folder != first and (second.job.folder / FRAME).samefile(first / FRAME)
    assert len(list((tmp_path / "chosen").iterdir())) == 2
    scene_cache.remove(first)
    assert reopened().is_complete
    assert simulate() == second.job.folder
    assert_moves(cube)


def test_what_cannot_be_moved_is_reported_and_plays_on(cube, tmp_path, capsys):
    folder = simulate()
    (tmp_path / "supple_cache").write_text("a file where a folder should be")
    save(tmp_path / "drop.blend")
    assert "were not copied with drop.blend" in cache_moves.problem
    assert cache_moves.problem in capsys.readouterr().out
    assert mesh_cache.shown_folder(bpy.context.scene) == folder
    assert_moves(cube)
    (tmp_path / "supple_cache").unlink()
    bpy.ops.wm.save_mainfile()
    assert cache_moves.problem == ""
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")


def test_the_next_file_is_not_told_what_went_wrong_with_the_last(cube, tmp_path):
    simulate()
    (tmp_path / "supple_cache").write_text("a file where a folder should be")
    save(tmp_path / "drop.blend")
    assert "were not copied with drop.blend" in only("")
    cube = opened(tmp_path / "drop.blend")
    assert shown_notices() == []
    assert_moves(cube)


def test_while_a_simulation_runs_frames_stay_until_the_file_is_saved_again(
    cube, tmp_path, monkeypatch
):
    folder = simulate()
    with monkeypatch.context() as running:
        running.setattr(session, "is_running", lambda: True)
        save(tmp_path / "drop.blend")
        assert "are not copied with drop.blend" in only("")
        bpy.ops.wm.save_mainfile()
        assert "are not copied with drop.blend" in only("")
    assert mesh_cache.shown_folder(bpy.context.scene) == folder
    assert_moves(cube)
    bpy.ops.wm.save_mainfile()
    assert path_of(cube).startswith("//supple_cache/drop-Scene-")
    assert shown_notices() == []
    assert_moves(cube)


def test_each_scene_of_a_file_takes_its_own_frames_along(cube, tmp_path):
    first = simulate().name[-12:]
    bpy.ops.scene.new(type="EMPTY")
    bpy.context.scene.frame_end = 4
    bpy.context.scene.name = "Second"
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, 9))
    bpy.context.object.supple.enabled = True
    bpy.context.object.supple.resolution = 2
    second = simulate().name[-12:]
    save(tmp_path / "drop.blend")
    names = {folder.name for folder in (tmp_path / "supple_cache").iterdir()}
    assert names == {f"drop-Scene-{first}", f"drop-Second-{second}"}


def test_two_scenes_of_one_body_take_its_frames_along_once(cube, tmp_path):
    bpy.data.scenes.new("Other").collection.objects.link(cube)
    save(tmp_path / "drop.blend")
    run = simulate().name[-12:]
    save(tmp_path / "second.blend")
    names = {folder.name for folder in (tmp_path / "supple_cache").iterdir()}
    assert names == {f"drop-Scene-{run}", f"second-Scene-{run}"}


def test_saving_over_a_file_takes_the_place_of_its_frames(cube, tmp_path):
    save(tmp_path / "drop.blend")
    simulate()
    save(tmp_path / "second.blend")
    (mesh_cache.shown_folder(bpy.context.scene) / "playback" / "0.pc2").write_bytes(b"old")
    opened(tmp_path / "drop.blend")
    simulate()
    save(tmp_path / "second.blend")
    assert cache_moves.problem == ""
    assert path_of(bpy.data.objects["Cube"]).startswith("//supple_cache/second-Scene-")
    assert_moves(bpy.data.objects["Cube"])


def test_blenders_startup_file_takes_nothing_along(cube):
    folder = simulate()
    startup = Path(bpy.utils.user_resource("CONFIG")) / "startup.blend"
    cache_moves.before_saving(startup)
    cache_moves.after_saving(startup)
    assert mesh_cache.shown_folder(bpy.context.scene) == folder


@pytest.mark.usefixtures("solver_here")
def test_a_simulation_goes_on_from_frames_that_were_moved(cube, scene, tmp_path):
    actions.simulate(bpy.context)
    positions = evaluated_positions(cube, 3)
    save(tmp_path / "project" / "drop.blend")
    scene.frame_end = 6
    actions.simulate(bpy.context)
    folder = mesh_cache.shown_folder(scene)
    assert folder.parent == tmp_path / "project" / "supple_cache"
    assert Job(folder).last_frame() == 5
    np.testing.assert_array_equal(evaluated_positions(cube, 3), positions)
