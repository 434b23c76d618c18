# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from supple.core.errors import JobInUseError
from supple.core.job import lock
from supple.tests.core import apart


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
