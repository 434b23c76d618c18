# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that are simulated here, at once and in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from supple.core.job import Job
from supple.core.job.run import simulate


def simulated(job: Job) -> Job:
    """The job, all its frames there."""
    if not job.has_tet_scene():
        job.write_tet_scene(job.scene, [])
    simulate(job)
    return job


def check_same_bytes_in_parts(make_job: Callable[[Path, int], Job], folder: Path) -> None:
    """Four frames are those of two, and then two more.

    Args:
        make_job: a job of so many frames in a folder.
    """
    at_once = simulated(make_job(folder / "at once", 4))
    in_parts = simulated(make_job(folder / "in parts", 2))
    in_parts = simulated(make_job(in_parts.folder, 4))
    for index in range(5):
        first, second = (job.frame_path(index).read_bytes() for job in (at_once, in_parts))
        assert first == second
