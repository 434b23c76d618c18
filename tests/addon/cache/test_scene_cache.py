# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of simulated frames."""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import pytest

from supple.addon.cache import scene_cache
from supple.addon.capture.scene import capture
from supple.core.errors import SuppleError


def new_folder() -> Path:
    captured = capture(bpy.context)
    return scene_cache.open_job(bpy.context.scene, captured.scene, captured.settings).job.folder


@pytest.fixture
def scene_without_choice(scene, add_body):
    add_body()
    scene.supple.cache_folder = ""
    return scene


def test_beside_a_saved_file(scene_without_choice, tmp_path):
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    folder = new_folder()
    assert folder.parent == tmp_path / "supple_cache"
    assert folder.name.startswith("drop-Scene-")


def test_files_and_scenes_of_names_that_are_alike_keep_apart(scene_without_choice, tmp_path):
    found = []
    for file, scene in (("bär", "A"), ("bür", "A"), ("b_r", "A"), ("b_r", "A.1"), ("b_r", "A_1")):
        bpy.context.scene.name = scene
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{file}.blend"))
        found.append(scene_cache.prefix(bpy.context.scene))
    assert len(set(found)) == 5
    assert found[2] == "b_r-A-"


def test_the_longest_names_of_files_and_scenes_have_room(scene_without_choice, tmp_path):
    bpy.context.scene.name = "Scene" * 12
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{'drop' * 60}.blend"))
    first = new_folder()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{'drop' * 61}.blend"))
    assert first.is_dir() and new_folder().name != first.name


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="another folder there")
def test_in_the_users_cache_while_the_file_is_not_saved(scene_without_choice, tmp_path):
    first = new_folder()
    assert first.parent == tmp_path / "user cache" / "supple"
    assert new_folder() == first


def test_where_the_scene_says(scene, add_body, tmp_path):
    add_body()
    assert new_folder().parent == tmp_path / "cache"


def test_beside_a_file_that_is_not_saved_is_nowhere(scene, add_body):
    add_body()
    scene.supple.cache_folder = "//frames"
    with pytest.raises(SuppleError, match="is not saved yet"):
        new_folder()


def test_a_folder_that_cannot_be_made_is_reported(scene, add_body, tmp_path):
    add_body()
    (tmp_path / "file").write_text("")
    scene.supple.cache_folder = str(tmp_path / "file" / "cache")
    with pytest.raises(SuppleError, match="file is a file"):
        new_folder()


def test_another_setting_is_another_folder(scene, add_body):
    obj = add_body()
    first = new_folder()
    obj.supple.damping = 3.0
    assert new_folder() != first
