# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple sweep``: the scene of a file with many settings, in the solver's Python."""

from __future__ import annotations

import csv
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line
from supple.core.job import Job

from .conftest import empty_file


@pytest.fixture
def file(addon: None, tmp_path: Path) -> Path:
    empty_file()
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 2.0))
    bpy.context.object.supple.enabled = True
    bpy.context.object.supple.resolution = 2
    path = tmp_path / "block.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.mark.usefixtures("solver")
def test_the_scene_of_the_file_is_planned_with_all_settings(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "soft.toml"
    listed.write_text('frames = 5\n[grid]\n"Cube.young" = [1e4, 2e4]\nground.friction = [0, 1]')
    words = ["sweep", str(file), str(listed), "--dry-run", "--set", "ground_height=0.5"]
    assert command_line.run_with_file(words) == 0
    out = capfd.readouterr().out.splitlines()
    folder = tmp_path / "soft_sweep"
    assert out[-2:] == ["Supple: 4 runs, 0 of them done", str(folder / "plan.csv")]
    rows = [*csv.DictReader((folder / "plan.csv").open())]
    assert [float(row["Cube.young"]) for row in rows] == [1e4, 2e4, 1e4, 2e4]
    job = Job(folder / "scene")
    assert job.settings.frame_count == 5 and job.scene.ground is not None
    assert job.scene.ground.height == 0.5


@pytest.mark.usefixtures("solver")
def test_the_reason_of_a_sweep_that_cannot_be_is_the_last_line(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "soft.toml"
    for text, said in (
        (
            '[grid]\n"Cube.yuong" = [1]',
            "supple: soft.toml, line 2: Cube.yuong: there is no 'yuong'. Did you mean",
        ),
        ("[gird]\na = 1", "supple: soft.toml, line 1: The sweep has no key 'gird'. Did you mean"),
    ):
        listed.write_text(text)
        assert command_line.run_with_file(["sweep", str(file), str(listed), "--dry-run"]) == 1
        assert capfd.readouterr().err.splitlines()[-1].startswith(said)
