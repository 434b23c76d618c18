# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on this machine: in processes that may die."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest

from supple.core.errors import JobInUseError, SuppleError
from supple.core.job import Job, lock
from supple.core.sweep import Sweep, local, make, run
from supple.core.sweep.__main__ import main
from supple.core.sweep.driver import planned, write_plan
from supple.core.sweep.worker import run_one
from supple.core.version import version

from .. import disks
from .tiny_sweep import FRAMES, SCENE, SETTINGS, SWEEP, frames_of, without_times

MEASURES = """
def measure(job):
    return {"vertices": len(job.read_frame(0))}
"""


def request(folder: Path, index: int, of_version: str | None = None) -> dict:
    return {"folder": str(folder), "index": index, "version": of_version or version()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    """The whole sweep, in this process."""
    folder = make(SWEEP, SCENE, SETTINGS, tmp_path_factory.mktemp("whole"))
    rows = []
    for index in range(len(SWEEP)):
        row = run_one(request(folder, index))
        rows.append({"index": index, "run": row["run"], **SWEEP.values(index), **row})
    return folder, rows


def test_a_row_has_settings_and_measures(whole) -> None:
    folder, rows = whole
    assert len(rows) == 8 and len({row["run"] for row in rows}) == 8
    for row in rows:
        assert row.get("error") is None
        assert 0.5 < row["height"] < 1.5 and 0.5 < row["spread"] < 1.5
        assert row["seconds"] > 0.0 and row["lag"] == 0 and np.isfinite(row["energy"])
        assert Job(folder / "runs" / row["run"]).last_frame() == FRAMES
        assert (folder / "runs" / row["run"] / "picture.png").exists()
    soft, stiff = rows[0], rows[1]
    assert (soft["Jelly.young"], stiff["Jelly.young"]) == (1e4, 1e4)


def test_what_was_done_is_not_done_again(whole, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, rows = whole
    monkeypatch.setattr("supple.core.sweep.worker.work", None)
    again = run_one(request(folder, 3))
    assert {name: rows[3][name] for name in again} == again
    assert [row["is_done"] for row in planned(folder)] == [True] * 8
    assert write_plan(folder) == (8, 8)
    planned_rows = [*csv.DictReader((folder / "plan.csv").open())]
    assert [row["run"] for row in planned_rows] == [row["run"] for row in rows]


def test_processes_come_to_the_same_bits_and_one_that_is_killed_is_replaced(
    whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen):
        def __init__(self, *words, **options) -> None:
            super().__init__(*words, **options)
            started.append(self)

    monkeypatch.setattr("supple.core.sweep.local.subprocess.Popen", Popen)
    messages: list[str] = []

    def log(message: str) -> None:
        messages.append(message)
        if len(started) == 1:
            started[0].kill()

    monkeypatch.setattr("supple.core.sweep.driver._LOG_SECONDS", 0.0)
    folder = tmp_path / "sweep"
    rows = run(SWEEP, SCENE, SETTINGS, folder, workers=1, log=log)
    assert len(started) == 2 and messages[-1] == "8 of 8 runs"
    assert without_times(rows) == without_times(whole[1])
    assert frames_of(folder) == frames_of(whole[0])
    table = [*csv.DictReader((folder / "table.csv").open())]
    assert [float(row["Jelly.young"]) for row in table] == [row["Jelly.young"] for row in rows]
    assert [float(row["height"]) for row in table] == [row["height"] for row in rows]
    assert (folder / "contact_sheet.png").exists()
    page = (folder / "index.html").read_text()
    # One plot of each of six measures against each of four settings.
    assert page.count("<svg") == 24 and page.count("<img") == 8


def test_a_run_whose_process_always_dies_fails_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ask(_, wanted):
        asked.append(wanted["index"])
        return {"index": wanted["index"]} if wanted["index"] else None

    monkeypatch.setattr(local.Process, "ask", ask)
    rows = list(local.rows(iter([{"index": 0}, {"index": 1}]), 1, 1))
    assert asked == [0, 0, 0, 1]
    assert "died 3 times" in rows[0]["error"] and rows[1] == {"index": 1}


def test_measures_of_a_script_are_in_the_row_and_a_new_script_measures_again(
    whole, tmp_path: Path
) -> None:
    script = tmp_path / "more.py"
    script.write_text(MEASURES)
    folder = make(SWEEP, SCENE, SETTINGS, whole[0], script)
    assert run_one(request(folder, 0))["vertices"] > 8
    script.write_text("def measure(job):\n    return 1 / 0")
    make(SWEEP, SCENE, SETTINGS, folder, script)
    assert "measures.py failed: ZeroDivisionError: " in run_one(request(folder, 0))["error"]
    make(SWEEP, SCENE, SETTINGS, folder)
    assert run_one(request(folder, 0))["run"] == whole[1][0]["run"]


def test_another_version_is_refused(whole) -> None:
    row = run_one(request(whole[0], 0, "0.0.9"))
    assert row == {
        "error": f"it runs Supple {version()}, and the sweep needs 0.0.9",
        "unfit": "version",
    }


def test_a_run_that_cannot_be_is_a_row_with_an_error(tmp_path: Path) -> None:
    sweep = Sweep(grid={"Jelly.young": [1e4, -1.0]})
    folder = make(sweep, SCENE, SETTINGS, tmp_path)
    row = run_one(request(folder, 1))
    assert row["Jelly.young"] == -1.0 and row["error"].startswith("Jelly.young: ")
    with pytest.raises(SuppleError, match=r"^Run 1: Jelly\.young: "):
        list(planned(folder))


def test_a_folder_is_of_one_sweep_at_a_time(whole) -> None:
    with lock.hold(whole[0]), pytest.raises(JobInUseError):
        run(SWEEP, SCENE, SETTINGS, whole[0])


def test_a_full_disk_ends_the_sweep_with_its_reason(tmp_path: Path) -> None:
    with disks.small(tmp_path / "disk") as folder:
        make(SWEEP, SCENE, SETTINGS, folder)
        disks.fill(folder)
        row = run_one(request(folder, 0))
    assert row["unfit"] == "disk" and "The disk is full" in row["error"]
    rows = local.rows(iter([{"index": 0}]), 1, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local.Process, "ask", lambda *_: row)
        with pytest.raises(SuppleError, match="The disk is full"):
            list(rows)


def test_the_command_line_plans_and_names_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Job.create(tmp_path / "scene", SCENE, SETTINGS)
    listed = tmp_path / "sweep.toml"
    words = [str(tmp_path / "scene"), str(listed), "--output", str(tmp_path / "out"), "--dry-run"]
    listed.write_text('[grid]\n"Jelly.young" = { from = 1e4, to = 1e5, count = 7 }')
    assert main(words) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == ["Supple: 7 runs, 0 of them done", str(tmp_path / "out" / "plan.csv")]
    listed.write_text('[grid]\n"Jelly.yuong" = [1]')
    assert main(words) == 1
    assert "error: sweep.toml, line 2: Jelly.yuong: there is no 'yuong'" in capsys.readouterr().err


def test_two_workers_on_one_run_wait_for_each_other(tmp_path: Path) -> None:
    folder = make(SWEEP, SCENE, SETTINGS, tmp_path)
    rows = list(local.rows(iter([request(folder, 0), request(folder, 0)]), 2, 1))
    first, second = ({k: v for k, v in row.items() if k != "index"} for row in rows)
    assert first == second and "error" not in first
