# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that compile beside another one, and what they leave to each other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from supple.core.job import compilers, tiny_scenes, warm_up


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where loops are to be kept; nothing was started or prepared yet."""
    folder = tmp_path / "kernels" / "0.1.0"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(compilers, "_started", [])
    monkeypatch.setattr(warm_up, "_prepared", set())
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines of processes, of which none is started."""
    commands: list[list[str]] = []

    def start(command: list[str], **_: Any) -> str:
        commands.append(command)
        return "process"

    monkeypatch.setattr(subprocess, "Popen", start)
    return commands


@pytest.mark.parametrize(("threads", "count"), [(1, 0), (2, 1), (3, 2), (16, 3)])
def test_as_many_are_started_as_fit_and_once(kept, started, threads: int, count: int) -> None:
    compilers.start(threads)
    compilers.start(threads)
    assert len(started) == count
    assert all(command[-1] == "--compile" for command in started)


def test_where_loops_cannot_be_kept_none_is_started(kept, started, monkeypatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    compilers.start(4)
    assert not started


def test_what_one_is_at_is_told_to_the_others(kept) -> None:
    with compilers.claimed("steps") as is_free:
        assert is_free
        with compilers.claimed("steps") as is_free:
            assert not is_free
        with compilers.claimed("contact") as is_free:
            assert is_free
    with compilers.claimed("steps") as is_free:
        assert is_free


def test_where_nothing_is_kept_nobody_else_is_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    with compilers.claimed("steps") as is_free:
        assert is_free


def test_what_another_is_at_is_left_to_it_by_who_can_wait(kept) -> None:
    done = []

    def piece() -> None:
        done.append(1)

    with compilers.claimed("piece"):
        warm_up._prepare(piece, only_free=True)
        assert not done
        warm_up._prepare(piece)
        assert len(done) == 1
    warm_up._prepare(piece)
    assert len(done) == 1


def test_one_begins_with_what_is_needed_after_the_first_steps(kept, monkeypatch) -> None:
    """And comes to all in the end, but what another is at."""
    done: list[str] = []
    names = [piece.__name__ for piece in tiny_scenes.PIECES]
    pieces = [_noting(name, done) for name in names]
    monkeypatch.setattr(tiny_scenes, "PIECES", tuple(pieces))
    monkeypatch.setattr(compilers, "give_way", lambda: None)
    with compilers.claimed("tetrahedra"):
        warm_up.compile_beside()
    assert done == [*names[4:], "explicit_steps", "overlap", "clearance"]


def _noting(name: str, done: list[str]) -> tiny_scenes.Piece:
    def piece() -> None:
        done.append(name)

    piece.__name__ = name
    return piece


def test_a_real_one_compiles_until_its_input_closes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-s", "-P", str(compilers.LAUNCHER), "--compile"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    end = time.monotonic() + 60.0
    while not list(tmp_path.rglob("*.nbc")) and time.monotonic() < end:
        time.sleep(0.02)
    assert list(tmp_path.rglob("*.nbc"))
    assert (tmp_path / "explicit_contact.lock").exists()
    process.stdin.close()
    assert process.wait(timeout=10.0) == 3
    # It says nothing, as nobody reads it.
    assert process.stdout.read() == b""
    process.stdout.close()
