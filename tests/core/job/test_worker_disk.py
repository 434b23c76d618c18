# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker where the disk is full, or nothing can be written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.core.job import Job
from supple.core.job.worker import work

from .. import disks
from ..box_job import COMMAND, box_job, run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small(tmp_path / "disk") as folder:
        yield folder


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_is_named_and_the_job_resumes_once_there_is_room(
    small_disk: Path, whole: Job
) -> None:
    job = box_job(small_disk, 100)
    done = run(small_disk)
    assert done.returncode == 1
    assert "The disk is full" in done.stderr
    assert not list(small_disk.rglob("*.part"))
    reached = job.last_frame()
    assert 0 < reached < 100
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert run(small_disk).returncode == 0
    assert job.frame_path(100).read_bytes() == whole.frame_path(100).read_bytes()
    assert [record["frame"] for record in job.records()] == list(range(101))


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_finished_job_on_a_full_disk_is_fine(small_disk: Path) -> None:
    box_job(small_disk, 2)
    work(small_disk)
    disks.fill(small_disk)
    done = run(small_disk)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="needs mount")
def test_a_full_disk_for_compiled_loops_is_named(small_disk: Path, tmp_path: Path) -> None:
    box_job(tmp_path / "job", 2)
    disks.fill(small_disk)
    done = subprocess.run(
        [*COMMAND, str(tmp_path / "job")],
        env=os.environ | {"NUMBA_CACHE_DIR": str(small_disk)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: The disk is full: {small_disk}")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="needs mount or permissions")
def test_a_finished_job_is_read_where_nothing_can_be_written_and_another_is_refused(
    tmp_path: Path,
) -> None:
    box_job(tmp_path, 2)
    work(tmp_path)
    with disks.read_only(tmp_path, tmp_path / "frames"):
        done = run(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "all frames up to 2 are there" in done.stdout
    box_job(tmp_path, 3)
    with disks.read_only(tmp_path, tmp_path / "frames"):
        done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'lock'} cannot be written: ")
    assert done.stderr.endswith("Choose another cache folder, then simulate again.\n")
    assert done.stderr.count("\n") == 1
