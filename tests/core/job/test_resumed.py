# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that take the first frames of another run, and go on from there with other settings."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import JobError, Release, Scene, SoftBody
from supple.core.job import Job, Settings, digest
from supple.core.materials import StableNeoHookean
from supple.core.scene.rest_shape import Plasticity

from ..job_runs import simulated

LAST, FRAMES = 10, 13


def _scene(make_block, damping: float = 0.0, young: float = 1e4, cells: int = 1) -> Scene:
    mesh = make_block((cells, 1, 1), (0.4, 0.4, 0.4))
    body = SoftBody(
        mesh,
        StableNeoHookean(young, 0.3),
        pinned=np.flatnonzero(mesh.vertices[:, 2] > 0.39),
        release=Release(4, again=(7,)),
        plasticity=Plasticity(500.0),
        damping=damping,
        name="Block",
    )
    return Scene([body])


@pytest.fixture
def run(make_block, tmp_path: Path) -> Job:
    """A whole run, whose state after frame 10 is kept."""
    settings = Settings(FRAMES, integrator="bdf2", results=("speed",))
    return simulated(Job.create(tmp_path / "run", _scene(make_block), settings))


def _resumed(run: Job, folder: Path, scene: Scene, frame: int = LAST) -> Job:
    settings = replace(run.settings, resumed_run=run.run, resumed_frame=frame)
    job = Job.create(folder, scene, settings)
    shutil.copytree(run.folder, folder / "resumed", dirs_exist_ok=True)
    return job


def test_the_state_of_every_tenth_frame_and_the_newest_is_kept(run):
    assert run.state_frames() == [10, FRAMES]
    assert run.read_state(10)["positions"].shape[0] == 3
    run.truncate_after(9)
    assert run.state_frames() == []


@pytest.mark.parametrize("frame", [LAST, FRAMES])
def test_it_goes_on_to_the_same_bits_where_nothing_has_changed(run, make_block, tmp_path, frame):
    """A body that is plastic, and whose pins have let go and taken hold."""
    longer = replace(run.settings, frame_count=FRAMES + 2)
    whole = simulated(Job.create(tmp_path / "whole", _scene(make_block), longer))
    again = _resumed(run, tmp_path / "again", _scene(make_block), frame)
    Job.create(again.folder, again.scene, replace(again.settings, frame_count=FRAMES + 2))
    again = simulated(Job(again.folder))
    for index in range(FRAMES + 3):
        assert again.read_frame(index).tobytes() == whole.read_frame(index).tobytes()
        assert again.read_fields(index)["speed"].shape == whole.read_fields(index)["speed"].shape
    assert [record["frame"] for record in again.records()] == list(range(FRAMES + 3))


def test_earlier_frames_stay_and_later_ones_have_the_new_settings(run, make_block, tmp_path):
    again = simulated(_resumed(run, tmp_path / "again", _scene(make_block, damping=30.0)))
    same = [
        again.read_frame(index).tobytes() == run.read_frame(index).tobytes()
        for index in range(FRAMES + 1)
    ]
    assert same == [True] * (LAST + 1) + [False] * (FRAMES - LAST)
    assert again.state_frames() == [LAST, FRAMES]


def test_its_name_has_the_run_and_the_frame(run, make_block):
    scene, settings = _scene(make_block), run.settings
    resumed = [replace(settings, resumed_run="abc", resumed_frame=frame) for frame in (10, 20)]
    assert len({digest(scene, each) for each in (settings, *resumed)}) == 3
    assert "resumed_run" not in settings.record()


def test_a_damaged_frame_is_taken_again(run, make_block, tmp_path):
    scene = _scene(make_block, damping=30.0)
    again = simulated(_resumed(run, tmp_path / "again", scene))
    before = again.read_frame(FRAMES).tobytes()
    again.frame_path(3).write_bytes(b"broken")
    job = Job(again.folder)
    Job.create(job.folder, scene, replace(job.settings, frame_count=FRAMES + 1))
    job = simulated(Job(again.folder))
    assert job.read_frame(3).tobytes() == run.read_frame(3).tobytes()
    assert job.read_frame(FRAMES).tobytes() == before


def test_other_tetrahedra_bodies_and_fields_are_refused(run, make_block, tmp_path):
    with pytest.raises(JobError, match="Block has other tetrahedra than in the frames so far"):
        simulated(_resumed(run, tmp_path / "a", _scene(make_block, cells=2)))
    scene = _scene(make_block)
    two = replace(scene, bodies=[*scene.bodies, replace(scene.bodies[0], name="Other")])
    with pytest.raises(JobError, match="The frames so far have 1 bodies, and the scene has 2"):
        simulated(_resumed(run, tmp_path / "b", two))
    job = _resumed(run, tmp_path / "c", scene)
    Job.create(job.folder, scene, replace(job.settings, results=("von_mises",)))
    with pytest.raises(JobError, match="The frames so far have no von_mises"):
        simulated(Job(job.folder))
    free = replace(scene, bodies=[replace(scene.bodies[0], release=None)])
    with pytest.raises(JobError, match="No run can go on from frame 10 with these settings"):
        simulated(_resumed(run, tmp_path / "d", free))
