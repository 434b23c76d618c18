# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs whose bodies start settled."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from supple.core import Ground, Scene, SoftBody
from supple.core.job import Job, Settings
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

from ..job_runs import check_same_bytes_in_parts, simulated


def settled_job(folder: Path, frames: int) -> Job:
    mesh = block((2, 2, 2), (1.0, 1.0, 1.0))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), name="Block", starts_settled=True)
    return Job.create(folder, Scene([body], ground=Ground()), Settings(frames, device="cpu"))


def test_the_first_frame_is_settled_and_the_log_says_so(tmp_path: Path, capsys) -> None:
    job = simulated(settled_job(tmp_path, 2))
    said = capsys.readouterr().out.splitlines()
    assert said.index("settling 1 bodies") < said.index("Block settled before the first frame")
    first, last = (job.read_frame(index) for index in (0, 2))
    assert 0.9 < first[:, 2].max() < 0.97
    assert np.abs(last - first).max() < 2e-3


def test_a_settled_run_in_parts_has_the_same_bytes(tmp_path: Path) -> None:
    check_same_bytes_in_parts(settled_job, tmp_path)


def test_a_damaged_first_frame_comes_out_settled_again(tmp_path: Path) -> None:
    job = simulated(settled_job(tmp_path, 2))
    before = [job.frame_path(index).read_bytes() for index in range(3)]
    job.frame_path(0).write_bytes(before[0][:-8] + bytes(8))
    simulated(job)
    assert [job.frame_path(index).read_bytes() for index in range(3)] == before
