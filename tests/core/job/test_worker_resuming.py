# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker goes on from frames that are there: its own to the same bytes, others not."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Release, Scene, Simulator, Skin, SoftBody
from supple.core.integrators import NAMES
from supple.core.job import Job, Settings, settings, worker
from supple.core.job import folder as job_folder
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import Collider, Contact
from supple.core.version import version
from supple.tests.core import apart

from ..box_job import box, box_job, copied, run


def test_a_job_killed_at_random_and_resumed_has_the_same_bytes(whole: Job, tmp_path: Path) -> None:
    job = box_job(tmp_path, 100)
    last = random.Random().randrange(1, 95)
    for target in (last // 2, last):
        apart.killed_at(job, target)
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    for index in range(101):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    assert [r["frame"] for r in job.records()] == list(range(101))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    "integrator", ["implicit_euler", "bdf2", "symplectic_euler", "adaptive_runge_kutta4"]
)
def test_a_longer_run_goes_on_from_a_shorter_one_with_the_same_bytes(
    tmp_path: Path, integrator: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once = box_job(tmp_path / "at once", 6, integrator)
    in_parts = box_job(tmp_path / "in parts", 3, integrator)
    for job in (at_once, in_parts):
        work(job.folder)
    box_job(in_parts.folder, 6, integrator)
    capsys.readouterr()
    work(in_parts.folder)
    assert NAMES[integrator] in capsys.readouterr().out
    assert at_once.frame_path(6).read_bytes() == in_parts.frame_path(6).read_bytes()


def test_a_run_goes_on_with_the_names_that_its_bodies_have_by_then(tmp_path: Path) -> None:
    surface = box()
    body = SoftBody(
        surface,
        StableNeoHookean(3e4, 0.4),
        skin=Skin(surface.vertices, pinned=[0]),
        release=Release(frame=4),
        name="Cube",
    )
    Job.create(tmp_path, Scene([body]), Settings(3, device="cpu"))
    work(tmp_path)
    renamed = replace(body, name="Hero")
    job = Job.create(tmp_path, Scene([renamed]), Settings(6, device="cpu"))
    work(tmp_path)
    told = [name for record in job.records() for name in record["let_go"]]
    assert told == ["the pins of Hero"]


def test_a_finished_job_run_again_changes_nothing(whole: Job) -> None:
    before = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert run(whole.folder).returncode == 0
    after = {path: path.stat().st_mtime_ns for path in (whole.folder / "frames").iterdir()}
    assert after == before


def _worked_by_another_version(folder: Path, mesh_only: bool = False) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (job_folder, settings, worker):
            patch.setattr(module, "version", lambda: "0.0.9")
        work(folder, mesh_only)


def test_frames_of_another_version_are_kept_and_not_gone_on_from(tmp_path: Path) -> None:
    job = box_job(tmp_path, 2)
    _worked_by_another_version(tmp_path)
    assert job.version == "0.0.9"
    finished = run(tmp_path)
    assert finished.returncode == 0
    assert "all frames up to 2 are there, simulated by Supple 0.0.9" in finished.stdout
    box_job(tmp_path, 4)
    done = run(tmp_path)
    assert done.returncode == 1
    assert f"were simulated by Supple 0.0.9; this is {version()}, whose" in done.stderr
    assert job.last_frame() == 2


def test_tetrahedra_of_another_version_are_made_again(tmp_path: Path) -> None:
    box_job(tmp_path, 2)
    _worked_by_another_version(tmp_path, mesh_only=True)
    assert Job(tmp_path).version == "0.0.9"
    assert run(tmp_path).returncode == 0
    assert Job(tmp_path).version == version()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"results": ("speed",)}, "results"),
        ({"integrator": "bdf2", "substeps": 2}, "integrator, substeps"),
    ],
)
def test_frames_with_other_settings_are_not_gone_on_from(
    whole: Job, tmp_path: Path, changes: dict, names: str
) -> None:
    job = copied(whole, tmp_path)
    Job.create(job.folder, whole.scene, replace(whole.settings, **changes))
    done = run(job.folder)
    assert done.returncode == 1
    assert f"holds frames simulated with other settings ({names}); simulate into" in done.stderr
    assert job.last_frame() == 100


def test_frames_of_another_scene_are_not_gone_on_from(whole: Job, tmp_path: Path) -> None:
    job = copied(whole, tmp_path)
    Job.create(job.folder, replace(whole.scene, gravity=(0.0, 0.0, -1.0)), whole.settings)
    done = run(job.folder)
    assert done.returncode == 1
    assert "holds frames of another scene; simulate into another folder" in done.stderr
    assert job.last_frame() == 100


def _touching(folder: Path) -> Job:
    """A box that falls on a plate that rises."""
    surface = box()
    plate = np.array([[-1.0, -1, 0.45], [2, -1, 0.45], [2, 2, 0.45], [-1, 2, 0.45]])
    rising = plate + np.linspace(0.0, 0.05, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    scene = Scene(
        [SoftBody(surface, StableNeoHookean(3e4, 0.4), velocity=(0.5, 0.0, -1.0), name="Jelly")],
        colliders=[Collider(rising, [[0, 1, 2], [0, 2, 3]])],
        contact=Contact(distance=0.02),
    )
    return Job.create(folder, scene, Settings(12, device="cpu"))


def test_a_job_with_contact_killed_and_resumed_has_the_same_bytes(tmp_path: Path) -> None:
    whole, job = _touching(tmp_path / "whole"), _touching(tmp_path / "killed")
    done = run(whole.folder)
    assert done.returncode == 0, done.stderr
    apart.killed_at(job, 4)
    assert run(job.folder).returncode == 0
    for index in range(13):
        assert job.frame_path(index).read_bytes() == whole.frame_path(index).read_bytes(), index
    records = whole.records()
    assert records[-1]["contacts"] > 0
    assert 0.0 < records[-1]["minimum_distance"] < 0.02
    assert [r["contacts"] for r in job.records()] == [r["contacts"] for r in records]


def test_what_contact_searched_before_leaves_no_trace_in_any_later_frame(tmp_path: Path) -> None:
    job = _touching(tmp_path)
    work(job.folder, mesh_only=True)
    whole = Simulator(job.tet_scene)
    for index in range(12):
        saved = {name: values.copy() for name, values in whole.state.to_arrays().items()}
        resumed = Simulator(job.tet_scene)
        resumed.state = resumed.state.restored(index, saved)
        for simulator in (whole, resumed):
            next(simulator.run(1))
        assert torch.equal(resumed.state.positions, whole.state.positions), index
