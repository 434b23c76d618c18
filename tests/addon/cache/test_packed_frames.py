# SPDX-License-Identifier: GPL-3.0-or-later
"""A file and its simulated frames on their way to another machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions, ids
from supple.addon.cache import packed_frames
from supple.addon.reports.notices import notices
from supple.core.errors import SuppleError

from ..conftest import evaluated_positions

pytestmark = pytest.mark.usefixtures("solver_here")


@pytest.fixture
def file(scene, add_body, tmp_path: Path) -> Path:
    """A saved file whose frames lie in another folder."""
    add_body("Jelly")
    scene.frame_start, scene.frame_end = 1, 4
    (tmp_path / "file").mkdir()
    path = tmp_path / "file" / "drop.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    actions.simulate(bpy.context)
    return path


def on_another_machine(file: Path, tmp_path: Path) -> np.ndarray:
    """The (V, 3) points of Jelly at the last frame, after a copy of the file's folder alone."""
    bpy.ops.wm.save_mainfile()
    shutil.copytree(file.parent, tmp_path / "other")
    shutil.rmtree(file.parent)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "other" / "drop.blend"))
    return evaluated_positions(bpy.data.objects["Jelly"], 4)


def pack_notices() -> list[str]:
    return [each.text for each in notices(bpy.context) if each.operator == ids.PACK_FRAMES]


def test_frames_that_would_stay_behind_are_told_before_saving(file, capfd) -> None:
    (text,) = pack_notices()
    assert text.startswith("Other machines would show Jelly at rest: the frames are in ")
    capfd.readouterr()
    bpy.ops.wm.save_mainfile()
    assert f"Supple: {text}" in capfd.readouterr().out


def test_packed_beside_the_file_they_are_shown_on_another_machine(file, scene, tmp_path) -> None:
    here = evaluated_positions(bpy.data.objects["Jelly"], 4)
    assert bpy.ops.supple.pack_frames() == {"FINISHED"}
    assert pack_notices() == []
    (note,) = actions.pack_notes(bpy.context)
    assert note.startswith("Other machines need drop.blend and supple_cache beside it.")
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects["Jelly"], 4), here)
    np.testing.assert_array_equal(on_another_machine(file, tmp_path), here)


def test_packed_within_the_file_they_need_no_other(file, tmp_path) -> None:
    here = evaluated_positions(bpy.data.objects["Jelly"], 4)
    assert bpy.ops.supple.pack_frames(where="INSIDE") == {"FINISHED"}
    assert pack_notices() == actions.pack_notes(bpy.context) == []
    np.testing.assert_allclose(on_another_machine(file, tmp_path), here, atol=1e-5)


def test_frames_beside_the_file_stay_there(scene, add_body, tmp_path) -> None:
    add_body("Jelly")
    scene.supple.cache_folder = "//frames"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "drop.blend"))
    actions.simulate(bpy.context)
    assert pack_notices() == []
    before = sorted(tmp_path.rglob("*"))
    assert "drop.blend and frames beside it" in actions.pack_frames(bpy.context)
    assert sorted(tmp_path.rglob("*")) == before
    assert scene.supple.cache_folder == "//frames"


def test_a_bake_says_what_another_machine_shows(file) -> None:
    assert "They play on any machine, with or without Supple." in actions.bake(bpy.context)


def test_a_file_that_is_not_saved_has_nothing_beside_it(scene, add_body) -> None:
    add_body()
    actions.simulate(bpy.context)
    with pytest.raises(SuppleError, match="Save the file first"):
        packed_frames.pack_beside([scene])
    assert pack_notices() == []
