# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from pathlib import Path

import pytest

from supple.core.job import Job


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_job_that_has_not_begun_has_lost_nothing(job: Job) -> None:
    assert job.records() == []
    assert job.lost_records() == ""


def test_of_two_records_of_a_frame_the_later_one_counts(job: Job) -> None:
    for frame, substeps in ((0, 1), (2, 2), (1, 3), (2, 4)):
        job.append_record({"frame": frame, "substeps": substeps})
    assert job.records() == [
        {"frame": 0, "substeps": 1},
        {"frame": 1, "substeps": 3},
        {"frame": 2, "substeps": 4},
    ]


def test_a_line_cut_off_by_a_kill_is_no_damage(job: Job) -> None:
    job.append_record({"frame": 0})
    with job.log_path.open("a") as file:
        file.write('{"checksum": "12')
    assert job.records() == [{"frame": 0}]
    assert job.lost_records() == ""


def test_what_has_no_number_is_written_as_unknown(job: Job) -> None:
    job.append_record({"frame": 0, "residual_speed": math.inf, "minimum_j": math.nan})
    assert job.records() == [{"frame": 0, "residual_speed": None, "minimum_j": None}]


@pytest.mark.parametrize(
    ("frames", "last", "lost"),
    [
        ((0, 1, 2), None, ""),
        ((0, 1, 2), 2, ""),
        ((0, 2), None, "the record of frame 1 is lost"),
        ((0, 1), 2, "the record of frame 2 is lost"),
        ((0, 3), 4, "the records of 3 frames from frame 1 on are lost"),
        ((), 1, "the records of 2 frames from frame 0 on are lost"),
    ],
)
def test_frames_without_a_record_are_told(
    job: Job, frames: tuple[int, ...], last: int | None, lost: str
) -> None:
    for frame in frames:
        job.append_record({"frame": frame})
    assert job.lost_records(last) == (f"{job.log_path} is damaged: {lost}" if lost else "")


def test_a_damaged_line_at_the_end_is_told(job: Job) -> None:
    job.log_path.write_bytes(b"\xff\n")
    assert job.lost_records() == f"{job.log_path} is damaged: its end is lost"
    assert job.lost_records(last_frame=-1) == ""


@pytest.mark.parametrize("member", ["blocked", "unfolding", "caught", "crossing", "let_go"])
def test_names_that_are_no_list_of_names_are_damage(job: Job, member: str) -> None:
    job.append_record({"frame": 0, member: ["Jelly"]})
    job.append_record({"frame": 1, member: "Jelly"})
    assert job.records() == [{"frame": 0, member: ["Jelly"]}]


def test_a_log_with_nothing_to_drop_is_not_written(job: Job) -> None:
    for frame in range(3):
        job.append_record({"frame": frame})
    before = job.log_path.stat().st_mtime_ns
    job.truncate_after(2)
    assert job.log_path.stat().st_mtime_ns == before
    job.truncate_after(1)
    assert [record["frame"] for record in job.records()] == [0, 1]
