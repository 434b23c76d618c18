# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from supple.benchmarks import __main__ as command
from supple.benchmarks import store
from supple.benchmarks.store import Store


def _stops() -> None:
    raise KeyboardInterrupt


def test_each_part_is_on_the_disk_when_the_next_one_begins(tmp_path: Path) -> None:
    path = tmp_path / "results" / "machine.json"
    stored = Store.open(path)
    stored.measure("drop", "small", lambda: {"ms": 1}, "abc")
    with pytest.raises(KeyboardInterrupt):
        stored.measure("drop", "large", _stops, "abc")
    again = Store.open(path)
    assert again.figures["drop"] == {"small": {"ms": 1}}
    assert again.is_done("drop", "small", "abc")
    assert not again.is_done("drop", "large", "abc")
    assert list(path.parent.iterdir()) == [path]


def test_a_part_measured_at_another_commit_or_with_changes_is_not_done(tmp_path: Path) -> None:
    stored = Store.open(tmp_path / "machine.json")
    stored.measure("drop", "small", lambda: 1, "abc")
    stored.measure("drop", "large", lambda: 1, "abc+")
    assert not stored.is_done("drop", "small", "abd")
    assert not stored.is_done("drop", "large", "abc+")


def test_a_benchmark_without_parts_is_kept_whole(tmp_path: Path) -> None:
    stored = Store.open(tmp_path / "machine.json")
    stored.measure("contact", store.WHOLE, lambda: [1, 2], "abc")
    assert json.loads(stored.path.read_text(encoding="utf-8"))["contact"] == [1, 2]
    assert stored.record("contact")["version"] == "abc"


def _machine(path: Path, name: str, **parts: list[str]) -> Path:
    stored = Store.open(path)
    stored.figures["machine"] = {"processor": name, "cores": 2}
    for benchmark, names in parts.items():
        for part in names:
            stored.measure(benchmark, part, lambda: name, "abc")
    return path


def test_no_table_mixes_the_figures_of_two_machines(tmp_path: Path) -> None:
    new = _machine(tmp_path / "new.json", "New", drop=["small"], pile=[""])
    old = _machine(tmp_path / "old.json", "Old", drop=["small", "large"], pile=[""], key=[""])
    found = store.quoted([new, old])
    assert found["drop"] == {"small": "Old", "large": "Old"}
    assert (found["pile"], found["key"]) == ("New", "Old")
    assert found["measured"]["drop"]["small"]["machine"] == "Old, 2 cores"
    assert found["measured"]["pile"][""]["machine"] == "New, 2 cores"


def test_cases_that_stand_for_themselves_are_taken_one_by_one(tmp_path: Path) -> None:
    new = _machine(tmp_path / "new.json", "New", time_stepping=["small"])
    old = _machine(tmp_path / "old.json", "Old", time_stepping=["small", "large"])
    assert store.quoted([new, old])["time_stepping"] == {"small": "New", "large": "Old"}
    assert store.quoted([tmp_path / "none.json", old])["time_stepping"]["small"] == "Old"


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_the_version_is_the_last_commit_that_figures_depend_on(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    _git(tmp_path, "init")
    assert store.version(tmp_path) == "unknown+"
    (tmp_path / "core" / "solver.py").write_text("1")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "one")
    one = store.version(tmp_path)
    (tmp_path / "README.md").write_text("words")
    (tmp_path / "benchmarks" / "results" / "machine.json").write_text("{}")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-m", "figures and words")
    assert store.version(tmp_path) == one
    (tmp_path / "core" / "solver.py").write_text("2")
    assert store.version(tmp_path) == one + "+"
    _git(tmp_path, "commit", "-am", "two")
    assert store.version(tmp_path) not in (one, one + "+")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Two benchmarks of which the names of the parts are noted as they are measured."""
    begun: list[str] = []

    def part(name: str):
        return lambda: begun.append(name)

    drop = {name: part(name) for name in ("small, soft", "small, stiff", "large, soft")}
    monkeypatch.setattr(command, "BENCHMARKS", {"drop": drop, "pile": {"": part("pile")}})
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "version", lambda: "abc")
    return begun


def test_a_run_that_was_stopped_goes_on_where_it_was(bench: list[str]) -> None:
    command.main(["drop", "--part", "soft"])
    assert bench == ["small, soft", "large, soft"]
    command.main([])
    assert bench == ["small, soft", "large, soft", "small, stiff", "pile"]
    command.main(["pile", "--again"])
    assert bench[4:] == ["pile"]


def test_no_part_begins_when_the_time_is_up_and_a_list_measures_nothing(
    bench: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command.main(["--minutes", "-1"])
    command.main(["--list"])
    assert bench == []
    assert "pile: not measured" in capsys.readouterr().out
