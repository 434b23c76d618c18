# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that find another process at work on the same scene."""

from __future__ import annotations

import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from supple.addon import command_line
from supple.addon.cache import scene_cache
from supple.core.errors import INTERRUPTED
from supple.core.job import Job, lock
from supple.tests.core import apart

pytestmark = pytest.mark.usefixtures("solver_here")


@pytest.fixture
def words(scene, add_body, tmp_path: Path) -> list[str]:
    """The arguments of a command that simulates a falling cube."""
    add_body()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "fall.blend"))
    return ["simulate", str(tmp_path / "fall.blend"), "--frames"]


@pytest.fixture
def other(words: list[str], tmp_path: Path) -> BaseProcess:
    """Another process, at work on the same scene after its first two frames."""
    assert command_line.run_with_file([*words, "1-2"]) == 0
    (folder,) = (tmp_path / "cache").iterdir()
    process = apart.started(apart.hold, folder)
    while not (folder / apart.HELD).exists():
        assert process.is_alive()
        time.sleep(0.001)
    return process


def die(process: BaseProcess) -> None:
    process.kill()
    process.join()


def meanwhile(monkeypatch: pytest.MonkeyPatch, *acts) -> list[float]:
    """The event at each turn of the wait instead of a pause; how long those are."""
    left, pauses = list(acts), list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        left.pop(0)()

    monkeypatch.setattr(command_line, "time", SimpleNamespace(sleep=sleep))
    return pauses


def test_a_command_waits_for_another_and_goes_on_where_it_died(
    words, other, monkeypatch, capsys, tmp_path: Path
) -> None:
    (folder,) = (tmp_path / "cache").iterdir()

    pauses = meanwhile(monkeypatch, lambda: None, lambda: die(other))
    assert command_line.run_with_file([*words, "1-4"]) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "Waiting" in line]
    what = f"Supple: Waiting for process {other.pid}, which simulates the same: 2 frames so far"
    assert said == [what]
    assert len(pauses) == 2 and min(pauses) > 0.1
    assert Job(folder).last_frame() == 3


def test_ctrl_c_ends_the_wait(words, other, monkeypatch, capsys) -> None:
    def press() -> None:
        raise KeyboardInterrupt

    meanwhile(monkeypatch, press)
    assert command_line.run_with_file([*words, "1-4"]) == INTERRUPTED
    assert other.is_alive()
    assert capsys.readouterr().err.startswith("supple: stopped. The frames so far are kept")
    die(other)


def test_one_whose_worker_began_too_late_waits_as_well(
    words, other, monkeypatch, capsys, tmp_path: Path
) -> None:
    """Two commands that begin at once both see the folder free."""
    free = SimpleNamespace(**vars(lock) | {"check_free": lambda folder: None})
    monkeypatch.setattr(scene_cache, "lock", free)

    meanwhile(monkeypatch, lambda: die(other))
    assert command_line.run_with_file([*words, "1-4"]) == 0
    assert "Waiting for process" in capsys.readouterr().out
