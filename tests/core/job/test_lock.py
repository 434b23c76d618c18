# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import platform
import re
import signal
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from supple.core.errors import JobInUseError
from supple.core.job import Job, lock
from supple.tests.core import apart, other_machines
from supple.tests.core.box_job import box_job


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[BaseProcess]:
    """Another process that holds the folder."""
    process = apart.started(apart.hold, tmp_path)
    while not (tmp_path / apart.HELD).exists():
        assert process.is_alive()
        time.sleep(0.001)
    yield process
    process.kill()
    process.join()


def test_the_folder_the_other_process_and_the_cure_are_named(holder, tmp_path: Path) -> None:
    said = re.escape(f"{tmp_path} is in use: process {holder.pid} simulates there. Wait for it")
    with pytest.raises(JobInUseError, match=said), lock.hold(tmp_path):
        pass
    with pytest.raises(JobInUseError, match=said):
        lock.check_free(tmp_path)


def test_what_is_killed_leaves_the_folder_free(holder, tmp_path: Path) -> None:
    holder.kill()
    holder.join()
    lock.check_free(tmp_path)
    with lock.hold(tmp_path):
        pass


def test_it_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lock.hold(tmp_path):
        _ = 1 / 0
    with lock.hold(tmp_path):
        pass


def test_looking_holds_nothing_and_makes_no_file(tmp_path: Path) -> None:
    lock.check_free(tmp_path)
    assert not list(tmp_path.iterdir())
    with lock.hold(tmp_path):
        pass
    lock.check_free(tmp_path)
    with lock.hold(tmp_path):
        pass


def test_it_can_be_read_while_it_is_held(holder, tmp_path: Path) -> None:
    assert str(holder.pid) in (tmp_path / lock.LOCK).read_text()


def test_what_others_show_is_worked_on_and_not_removed(tmp_path: Path) -> None:
    said = re.escape(f"{tmp_path} is in use: process {os.getpid()} renders from there. Wait for it")
    with lock.show(tmp_path), lock.show(tmp_path):
        with lock.hold(tmp_path):
            pass
        with pytest.raises(JobInUseError, match=said):
            lock.check_unused(tmp_path)
    lock.check_unused(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [lock.LOCK]
    (tmp_path / f"{lock.SHOWN}0").touch()  # of a process that was killed
    lock.check_unused(tmp_path)


def test_what_another_process_works_on_is_not_removed(holder, tmp_path: Path) -> None:
    with pytest.raises(JobInUseError, match="simulates there"):
        lock.check_unused(tmp_path)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "another process"),
        (b"\xff", "another process"),
        (b"[" * 900, "another process"),
        (b"[1]", "another process"),
        (b'{"process": "x", "computer": "a"}', "another process"),
        (b'{"process": 12, "computer": "elsewhere"}', "process 12 on elsewhere"),
    ],
)
def test_a_holder_that_does_not_say_its_name(
    holder, tmp_path: Path, content: bytes, named: str
) -> None:
    (tmp_path / lock.LOCK).write_bytes(content)
    with pytest.raises(JobInUseError, match=f"in use: {named} simulates there"):
        lock.check_free(tmp_path)


def test_a_name_that_was_longer_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / lock.LOCK).write_bytes(b"x" * 5000)
    with lock.hold(tmp_path):
        wanted = f'{{"process": {os.getpid()}, "computer": "{platform.node()}"}}'
        assert (tmp_path / lock.LOCK).read_text() == wanted


def claim_of(folder: Path, kernel: str, age: float = 0.0) -> Path:
    """A claim by a process of some machine, touched so many seconds ago."""
    path = folder / f"{lock.CLAIM}{kernel}"
    path.write_text(json.dumps({"process": 7, "computer": "elsewhere", "kernel": kernel}))
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_a_worker_on_another_machine_keeps_the_folder_while_it_touches_its_claim(
    tmp_path: Path,
) -> None:
    claim = claim_of(tmp_path, "other", lock.STALE_SECONDS - 5.0)
    said = "in use: process 7 on elsewhere simulates there"
    with pytest.raises(JobInUseError, match=said):
        lock.check_free(tmp_path)
    with pytest.raises(JobInUseError, match=said), lock.hold(tmp_path):
        pass
    assert [*tmp_path.glob(f"{lock.CLAIM}*")] == [claim]


def test_a_claim_that_nobody_touches_is_taken_over(tmp_path: Path) -> None:
    claim = claim_of(tmp_path, "other", lock.STALE_SECONDS + 5.0)
    lock.check_free(tmp_path)
    assert claim.exists()
    with lock.hold(tmp_path):
        assert not claim.exists() and len([*tmp_path.glob(f"{lock.CLAIM}*")]) == 1
    assert [path.name for path in tmp_path.iterdir()] == [lock.LOCK]


def test_a_claim_of_a_dead_process_of_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    claim_of(tmp_path, lock._kernel())
    lock.check_free(tmp_path)
    with lock.hold(tmp_path):
        pass


def test_without_the_locks_of_the_system_only_its_age_tells(tmp_path, monkeypatch) -> None:
    claim_of(tmp_path, lock._kernel())
    (tmp_path / lock.LOCK).touch()
    monkeypatch.setattr(lock, "acquire", lambda _: True)
    with pytest.raises(JobInUseError, match="process 7 on elsewhere"), lock.hold(tmp_path):
        pass


def test_a_claim_that_is_cut_off_counts_while_it_is_new(tmp_path: Path) -> None:
    (tmp_path / f"{lock.CLAIM}0").write_bytes(b'{"proc')
    with pytest.raises(JobInUseError, match="another process"), lock.hold(tmp_path):
        pass


def test_a_worker_touches_its_claim(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(lock, "BEAT_SECONDS", 0.001)
    with lock.hold(tmp_path):
        (claim,) = tmp_path.glob(f"{lock.CLAIM}*")
        os.utime(claim, (1.0, 1.0))
        end = time.monotonic() + 30.0
        while claim.stat().st_mtime == 1.0:
            assert time.monotonic() < end
            time.sleep(0.001)


def test_a_worker_that_lost_its_folder_meanwhile_notices(tmp_path: Path) -> None:
    lock.check_held(tmp_path)
    with lock.hold(tmp_path):
        lock.check_held(tmp_path)
        next(tmp_path.glob(f"{lock.CLAIM}*")).unlink()
        claim_of(tmp_path, "other")
        with pytest.raises(JobInUseError, match="process 7 on elsewhere simulates there"):
            lock.check_held(tmp_path)
    lock.check_held(tmp_path)


def test_of_three_machines_one_at_a_time_holds_the_folder(tmp_path: Path) -> None:
    log, names = tmp_path / "log.txt", ("a", "bb", "ccc")
    folder = tmp_path / "job"
    folder.mkdir()
    turns = [apart.started(other_machines.take_turns, name, folder, log, 20) for name in names]
    for process in turns:
        process.join()
        assert process.exitcode == 0
    lines = log.read_text().splitlines()
    assert len(lines) == 2 * 3 * 20
    for into, out in zip(lines[::2], lines[1::2], strict=True):
        assert into.split() == [out.split()[0], "in"] and out.endswith("out")


@pytest.mark.skipif(os.name != "posix", reason="processes cannot be stopped for a while there")
def test_a_worker_that_slept_leaves_the_job_to_the_one_that_took_it_over(
    tmp_path: Path, whole: Job
) -> None:
    job = box_job(tmp_path / "job", 100)
    sleeper = apart.started(other_machines.work, "sleeper", job.folder)
    while not job.has_frame(5):
        assert sleeper.is_alive()
        time.sleep(0.001)
    (claim,) = job.folder.glob(f"{lock.CLAIM}*")
    os.kill(sleeper.pid, signal.SIGSTOP)
    refused = apart.started(other_machines.work, "early", job.folder, 60.0)
    refused.join()
    said = (job.folder / "early.refused").read_text()
    assert f"process {sleeper.pid} on sleeper simulates there" in said
    time.sleep(other_machines.STALE)
    heir = apart.started(other_machines.work, "heir", job.folder)
    while claim.exists():
        assert heir.is_alive()
        time.sleep(0.001)
    reached = job.last_frame()
    os.kill(sleeper.pid, signal.SIGCONT)
    for process in (sleeper, heir):
        process.join()
        assert process.exitcode == 0
    assert reached >= 5
    assert "on heir simulates there" in (job.folder / "sleeper.refused").read_text()
    assert not (job.folder / "heir.refused").exists()
    frames = range(101)
    same = [job.frame_path(k).read_bytes() == whole.frame_path(k).read_bytes() for k in frames]
    assert all(same)
    assert [record["frame"] for record in job.records()] == [*frames]
