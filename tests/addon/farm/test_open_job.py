# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs in the format Open Job Description: validated, and run to the rendered images."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line
from supple.addon.bake import shape_keys
from supple.addon.farm import flamenco, open_job
from supple.addon.farm.farm_job import FarmJob
from supple.core.errors import SuppleError
from supple.core.job import Job

from ..conftest import empty_file
from ..falling_block import FRAMES, save

model = pytest.importorskip("openjd.model", reason="openjd-cli is for tests alone")


def openjd(*words: object) -> str:
    """Return the output of ``openjd``."""
    command = [sys.executable, "-m", "openjd", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_template_is_valid_and_has_three_steps_in_their_order(addon, tmp_path: Path) -> None:
    save(tmp_path / "shot.blend")
    job = FarmJob.from_scene(bpy.context.scene, 2)
    assert (job.name, job.frame_range, job.chunk) == ("shot", "1-3", 2)
    assert job.cache == tmp_path / "supple_cache" and job.images == tmp_path / "shot_frames"
    content = open_job.template(job)
    decoded = model.decode_job_template(template=content, supported_extensions=["TASK_CHUNKING"])
    steps = {step.name: step for step in decoded.steps}
    assert [*steps] == ["Simulate", "Bake", "Render"]
    assert [each.dependsOn for each in steps["Bake"].dependencies] == ["Simulate"]
    assert [each.dependsOn for each in steps["Render"].dependencies] == ["Bake"]
    known = {each["name"] for each in content["parameterDefinitions"]}
    assert {*open_job.values(job)} <= known


@pytest.mark.usefixtures("solver")
@pytest.mark.skipif(os.name != "posix", reason="a session of openjd needs a POSIX shell")
def test_a_farm_with_other_paths_simulates_bakes_and_renders_in_chunks(
    addon, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = save(tmp_path / "farm" / "shot.blend")
    words = ["submit", str(file), "--chunk", "2", "--output", str(tmp_path / "job")]
    assert command_line.run_with_file(words) == 0
    assert capfd.readouterr().out.splitlines()[-1] == str(tmp_path / "job")
    template = tmp_path / "job" / open_job.TEMPLATE
    openjd("check", template)
    # Of a machine that has the same files elsewhere.
    values = json.loads((tmp_path / "job" / open_job.VALUES).read_text())
    here = str(tmp_path / "farm")
    for name in ("File", "Cache", "Baked", "Images"):
        assert values[name].startswith(here)
        values[name] = values[name].replace(here, "/studio")
    rule = {"source_path_format": "POSIX", "source_path": "/studio", "destination_path": here}
    rules = {"version": "pathmapping-1.0", "path_mapping_rules": [rule]}
    words = ["--run-dependencies", "--step", "Render", "--path-mapping-rules", json.dumps(rules)]
    values["Program"] = sys.executable
    printed = openjd("run", template, "-p", json.dumps(values), *words)
    folder = tmp_path / "farm"
    (job,) = (folder / "supple_cache").iterdir()
    assert Job(job).last_frame() == FRAMES - 1
    images = sorted(path.name for path in (folder / "shot_frames").iterdir())
    assert images == ["0001.png", "0002.png", "0003.png"]
    assert "Rendered frame 2 of 1-2" in printed and "Rendered frame 3 of 3-3" in printed
    bpy.ops.wm.open_mainfile(filepath=str(folder / "shot_baked.blend"))
    assert shape_keys.has_bake(bpy.data.objects["Cube"])
    deadline = json.loads((tmp_path / "job" / open_job.DEADLINE_VALUES).read_text())
    assert {"name": "FramesPerTask", "value": 2} in deadline["parameterValues"]


def test_a_file_that_is_not_saved_is_refused(addon) -> None:
    empty_file()
    with pytest.raises(SuppleError, match="Save it first"):
        FarmJob.from_scene(bpy.context.scene, 1)


@pytest.mark.parametrize("write", [open_job.write, flamenco.write])
def test_a_folder_that_cannot_be_written_is_named(
    addon, tmp_path: Path, write: Callable[[FarmJob, Path], Path]
) -> None:
    save(tmp_path / "shot.blend")
    (tmp_path / "taken").touch()
    job = FarmJob.from_scene(bpy.context.scene, 1)
    with pytest.raises(
        SuppleError, match=r"The job cannot be written into .*taken: File exists\.$"
    ):
        write(job, tmp_path / "taken")


@pytest.mark.parametrize(
    ("write", "name"), [(open_job.write, open_job.TEMPLATE), (flamenco.write, flamenco.SUBMISSION)]
)
def test_a_file_that_cannot_be_written_names_its_folder_and_the_cause(
    addon, tmp_path: Path, write: Callable[[FarmJob, Path], Path], name: str
) -> None:
    save(tmp_path / "shot.blend")
    (tmp_path / "job" / name).mkdir(parents=True)
    job = FarmJob.from_scene(bpy.context.scene, 1)
    with pytest.raises(SuppleError, match=r"^The job cannot be written into .*job: [A-Z][^.]*\.$"):
        write(job, tmp_path / "job")
