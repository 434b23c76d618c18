# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache settings as people write them: frames are shown, or the setting is refused before a run."""

from __future__ import annotations

import os
from pathlib import Path

import bpy
import pytest

from supple.addon import actions, cache_folder
from supple.addon.capture import scene as capture_scene
from supple.core.errors import SuppleError

from .conftest import evaluated_positions

posix = pytest.mark.skipif(os.name == "nt", reason="a whole path there")


@pytest.fixture
def file(scene, add_body, tmp_path: Path) -> Path:
    """A file with a body that falls."""
    add_body()
    scene.frame_start, scene.frame_end = 1, 4
    path = tmp_path / "drop.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@posix
@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(
    ("setting", "folder"),
    [("//sub\\cache\\", "sub/cache"), ("//a\\..\\b", "b"), ("//", "."), ("//%04d/ü", "%04d/ü")],
)
def test_frames_are_shown_from_a_folder_beside_the_file(file, scene, setting, folder) -> None:
    scene.supple.cache_folder = setting
    actions.simulate(bpy.context)
    obj = bpy.context.object
    fall = evaluated_positions(obj, 1)[:, 2] - evaluated_positions(obj, 4)[:, 2]
    assert fall.min() > 0.01
    assert [path.parent.parent for path in file.parent.rglob("scene.json")] == [
        Path(os.path.normpath(file.parent / folder))
    ]


@posix
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("C:\\cache", "on a Windows drive"),
        ("d:/cache", "on a Windows drive"),
        ("\\\\server\\share\\cache", "a Windows network path"),
        ("/tmp/a\\b", "Blender reads as /"),
        ("cache", "is a relative path"),
        ("./cache", "is a relative path"),
        (" //cache", "is a relative path"),
        ("%04d", "is a relative path"),
        ("%TEMP%\\cache", "is a relative path"),
        ("~", "variable or ~, which are not replaced. Write /somewhere instead"),
        ("~/cache", "Write /somewhere/cache instead"),
        ("$HOME/cache", "Write /somewhere/cache instead"),
        ("${HOME}/cache", "Write /somewhere/cache instead"),
        ("/data/$HOME/cache", r"not replaced"),
        ("//$PROJECT/cache", r"\$PROJECT is not replaced"),
        ("//~/cache", "~ is not replaced"),
        ("//" + 300 * "n", "has 300 bytes, and folder names may have 255"),
        ("//" + 130 * "ü", "has 260 bytes"),
        ("//" + 9 * ("n" * 99 + "/"), "is too long"),
        ("//file/cache", "file is a file"),
        ("//file", "file is a file"),
        ("//loop/cache", "loop is not a folder"),
    ],
)
def test_a_setting_that_means_no_folder_is_refused_by_what_is_wrong(
    file, scene, setting, reason, monkeypatch
) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setattr(capture_scene, "capture", lambda *_: pytest.fail("too late"))
    (file.parent / "file").write_text("")
    (file.parent / "loop").symlink_to(file.parent / "loop")
    here = {*Path.cwd().iterdir()}, {*file.parent.iterdir()}
    scene.supple.cache_folder = setting
    with pytest.raises(SuppleError, match=reason):
        actions.simulate(bpy.context)
    assert ({*Path.cwd().iterdir()}, {*file.parent.iterdir()}) == here


@posix
def test_a_file_in_a_folder_that_blender_reads_as_two_is_refused(scene, add_body, tmp_path) -> None:
    add_body()
    (tmp_path / "a\\b").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a\\b" / "drop.blend"))
    scene.supple.cache_folder = ""
    with pytest.raises(SuppleError, match=r"a\\b/supple_cache has a \\ in it"):
        actions.simulate(bpy.context)


def test_folders_that_are_there_may_look_like_variables(tmp_path: Path) -> None:
    (tmp_path / "$HOME").mkdir()
    assert cache_folder.resolved("//$HOME/a", tmp_path / "a.blend") == tmp_path / "$HOME" / "a"
    inside = tmp_path / "$HOME" / "a.blend"
    assert cache_folder.resolved("//cache", inside) == tmp_path / "$HOME" / "cache"


def test_a_setting_that_is_wrong_by_now_takes_no_frames_away(file, scene, request) -> None:
    request.getfixturevalue("solver_here")
    scene.supple.cache_folder = "//cache"
    actions.simulate(bpy.context)
    scene.supple.cache_folder = "relative"
    actions.simulate(bpy.context)
    bpy.ops.wm.save_mainfile()
    obj = bpy.context.object
    fall = evaluated_positions(obj, 1)[:, 2] - evaluated_positions(obj, 4)[:, 2]
    assert fall.min() > 0.01
    assert not (file.parent / "cache" / "trash").exists()
    actions.free(bpy.context)
    assert [path.name for path in (file.parent / "cache").iterdir()] == ["trash"]
