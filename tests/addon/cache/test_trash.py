# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that Free removed: undo brings them back, Remove Unused Caches deletes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
import pytest

from supple.addon import actions
from supple.addon.bake import shape_keys
from supple.addon.cache import trash, unused_caches
from supple.addon.modifiers import find_modifier
from supple.core.errors import SuppleError
from supple.core.job import lock

from ..shown_notices import shown_notices
from .saved import assert_moves, opened, save, simulate


def step(message: str) -> None:
    bpy.ops.ed.undo_push(message=message)


def contents(folder: Path) -> dict[Path, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != lock.LOCK)
    return {path.relative_to(folder): path.read_bytes() for path in files}


def simulated_and_freed() -> Path:
    """Two steps to undo; the job folder that was freed."""
    step("before")
    folder = simulate()
    step("Simulate")
    assert "Undo brings them back" in actions.free(bpy.context)
    step("Free")
    assert not folder.exists()
    assert find_modifier(bpy.data.objects["Cube"]) is None
    return folder


@pytest.mark.parametrize("is_saved", [False, True])
def test_undo_of_free_plays_the_same_frames(cube, tmp_path, is_saved):
    if is_saved:
        save(tmp_path / "project" / "drop.blend")
    step("before")
    before = contents(folder := simulate())
    step("Simulate")
    actions.free(bpy.context)
    step("Free")
    bpy.ops.ed.undo()
    assert contents(folder) == before
    assert_moves(bpy.data.objects["Cube"])
    assert shown_notices() == []
    assert not list((folder.parent / trash.NAME).iterdir())


def test_undo_of_free_brings_back_baked_keys_with_the_frames(cube):
    cube.modifiers.clear()
    simulate()
    actions.bake(bpy.context)
    simulate()
    step("Simulate")
    actions.free(bpy.context)
    step("Free")
    bpy.ops.ed.undo()
    cube = bpy.data.objects["Cube"]
    assert shape_keys.has_bake(cube)
    modifier = find_modifier(cube)
    assert modifier is not None and Path(modifier.filepath).is_file()


def test_each_run_that_was_freed_comes_back_with_its_undo(cube):
    first = simulated_and_freed()
    bpy.data.objects["Cube"].supple.density = 900.0
    second = simulated_and_freed()
    bpy.ops.ed.undo()
    assert second.exists() and not first.exists()
    for _ in range(3):
        bpy.ops.ed.undo()
    assert first.exists()
    assert_moves(bpy.data.objects["Cube"])


def test_undo_of_free_past_the_first_save_finds_the_frames(cube, tmp_path):
    simulated_and_freed()
    save(tmp_path / "drop.blend")
    bpy.ops.ed.undo()
    assert_moves(bpy.data.objects["Cube"])


def test_a_file_that_was_freed_and_not_saved_plays_its_frames_again(cube, tmp_path):
    save(tmp_path / "drop.blend")
    folder = simulate()
    bpy.ops.wm.save_mainfile()
    actions.free(bpy.context)
    assert not folder.exists()
    assert_moves(opened(tmp_path / "drop.blend"))


def test_what_is_simulated_again_after_free_is_not_taken_from_the_trash(cube):
    freed = simulated_and_freed()
    assert simulate() == freed
    assert_moves(bpy.data.objects["Cube"])
    actions.free(bpy.context)
    assert [folder.name for folder in trash.folders(freed.parent)] == [freed.name]


@pytest.mark.parametrize("is_saved", [False, True])
def test_remove_unused_caches_empties_the_trash(cube, tmp_path, is_saved):
    if is_saved:
        save(tmp_path / "drop.blend")
    folder = simulated_and_freed()
    (unused,) = unused_caches.find()
    assert unused.folder == folder.parent / trash.NAME / folder.name
    assert unused.user == "" and unused.size > 0
    assert unused_caches.remove() == (1, unused.size)
    assert not unused.folder.exists()
    bpy.ops.ed.undo()
    assert any("does not play its frames" in notice.text for notice in shown_notices())


def test_frames_freed_in_another_file_may_be_used_there(cube, tmp_path):
    save(tmp_path / "first.blend")
    simulate()
    bpy.ops.wm.save_mainfile()
    actions.free(bpy.context)
    save(tmp_path / "second.blend")
    trash.forget()  # as when the file is opened in another session
    (unused,) = unused_caches.find()
    assert unused.user == "first.blend"
    assert unused_caches.remove() == (0, 0)
    assert_moves(opened(tmp_path / "first.blend"))


def test_frames_that_somebody_renders_keep_the_bake_as_well(cube):
    cube.modifiers.clear()
    folder = simulate()
    actions.bake(bpy.context)
    simulate()
    with lock.show(folder), pytest.raises(SuppleError, match="renders from"):
        actions.free(bpy.context)
    assert shape_keys.has_bake(cube)
    assert folder.exists()


def test_the_trash_goes_with_the_folder_of_its_file(cube, tmp_path):
    save(tmp_path / "project" / "drop.blend")
    simulate()
    bpy.ops.wm.save_mainfile()
    actions.free(bpy.context)
    shutil.move(tmp_path / "project", tmp_path / "elsewhere")
    assert_moves(opened(tmp_path / "elsewhere" / "drop.blend"))
