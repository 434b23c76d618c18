# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged job folders: the same frames in the end, or a line that names what is damaged."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from supple.core.errors import JobError
from supple.core.job import Job
from supple.core.job.files import checksum, read_json, write_json
from supple.tests.core import apart

from .damages import FILES, all_damages, forged_solids
from .tiny_job import contents, simulated, tiny_job

LONGEST_CASE_SECONDS = 120
DAMAGES = dict(all_damages())
FORGED_SOLIDS = dict(forged_solids())


@dataclass(frozen=True)
class Finished:
    files: dict[str, bytes]
    records: list[dict[str, Any]]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has three frames after the start and is asked for a fourth one."""
    folder = tmp_path_factory.mktemp("begun")
    tiny_job(folder, 3)
    assert simulated(folder)[0] == 0
    tiny_job(folder, 4)
    return folder


@pytest.fixture(scope="module")
def finished(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The contents of an undamaged folder in the end."""
    folder = tmp_path_factory.mktemp("finished") / "job"
    shutil.copytree(begun, folder)
    assert simulated(folder)[0] == 0
    return Finished(contents(folder), _records(folder))


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    """Ends a case that hangs, where the system can."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST_CASE_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _check(folder: Path, finished: Finished, said: str) -> None:
    """After success: all frames are those of an undamaged run, and what else differs was named."""
    after = contents(folder)
    assert _frames(after) == _frames(finished.files)
    for name in FILES:
        same = after[name] == finished.files[name]
        if name == "log.jsonl":
            same = _records(folder) == finished.records
        assert same or Path(name).name in said, name


def _frames(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: text for name, text in files.items() if name.startswith("frames")}


def _records(folder: Path) -> list[dict[str, Any]]:
    """Without the times that frames took."""
    return [record | {"seconds": 0.0} for record in Job(folder).records()]


def test_there_are_hundreds_of_damages() -> None:
    assert len(DAMAGES) >= 300


@pytest.mark.parametrize("what", DAMAGES)
def test_the_same_frames_or_a_named_error(
    what: str, begun: Path, finished: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    DAMAGES[what](folder)
    _read_all(Job(folder))
    damaged = _frames(contents(folder))
    status, said, error = simulated(folder)
    if status == 0:
        _check(folder, finished, said)
        return
    assert status == 1
    _check_error(error, folder)
    # Nothing that was good is gone.
    assert _frames(contents(folder)) == damaged


def _check_error(error: str, folder: Path) -> None:
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert str(folder) in error


@pytest.mark.parametrize("what", FORGED_SOLIDS)
def test_forged_tetrahedra_are_simulated_or_named(what: str, begun: Path, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    FORGED_SOLIDS[what](folder)
    _read_all(Job(folder))
    status, _, error = simulated(folder)
    if status != 0:
        _check_error(error, folder)


def test_what_was_simulated_of_other_tetrahedra_is_not_gone_on_from(
    begun: Path, finished: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    content = read_json(folder / "solids.json")
    content["reports"][0]["summary"] = "filled on another day"
    write_json(folder / "solids.json", content)
    status, said, _ = simulated(folder)
    assert status == 0
    for number in (0, 1):
        name = f"checkpoint_{number}.npz"
        assert f"{name} is damaged (it is of other tetrahedra): resuming from the start" in said
    assert _frames(contents(folder)) == _frames(finished.files)


def _read_all(job: Job) -> None:
    """As Blender does; it shows errors of this kind and no others."""
    readers = (
        lambda: list(job.seen_positions(2)),
        job.records,
        job.lost_records,
        job.mesh_reports,
        job.intersections,
        job.read_checkpoint,
        job.last_frame,
    )
    for read in readers:
        with contextlib.suppress(JobError):
            read()


@pytest.mark.parametrize(
    "damages",
    [
        ["frames/000002.npy that claims terabytes", "log.jsonl replaced by no UTF-8"],
        ["scene.json replaced by deep nesting"],
    ],
)
def test_a_process_of_its_own_prints_no_traceback_either(
    damages: list[str], begun: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    for what in damages:
        DAMAGES[what](folder)
    with (tmp_path / "output.txt").open("wb") as output:
        apart.program([str(folder)], output.fileno()).wait()
    said = (tmp_path / "output.txt").read_text()
    assert "Traceback" not in said
    for what in damages:
        assert Path(what.split()[0]).name in said


def test_things_that_are_none_of_its_own_are_left_alone(
    begun: Path, finished: Finished, tmp_path: Path
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    (folder / "x.part").mkdir()
    (folder / "frames" / "x.part").mkdir()
    (folder / "frames" / "abc.npy").write_bytes(b"mine")
    (folder / "frames" / "notes.part").write_text("mine")
    (folder / "frames" / "000002.npy.17.part").write_bytes(b"of a killed worker")
    (folder / "frames" / "000005.npy.17.part").mkdir()
    status, _, error = simulated(folder)
    assert (status, error) == (0, "")
    assert (folder / "x.part").is_dir()
    assert contents(folder)["frames/abc.npy"] == b"mine"
    assert contents(folder)["frames/notes.part"] == b"mine"
    assert not (folder / "frames" / "000002.npy.17.part").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes among its files")
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(begun: Path, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    (folder / "frames" / "000001.npy").unlink()
    os.mkfifo(folder / "frames" / "000001.npy")
    status, _, error = simulated(folder)
    assert status == 1
    assert "000001.npy is not a file. Move it away" in error


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[" * 100_000, b'{"offenders": 3}', b'{"offenders": [], "offsets": 5}']
)
@pytest.mark.parametrize("is_forged", [False, True])
def test_a_damaged_report_on_intersections_is_named(
    text: bytes, is_forged: bool, tmp_path: Path
) -> None:
    path = tmp_path / "intersections.json"
    path.write_bytes(text)
    if is_forged:
        body = text[1:]
        mark = checksum(path.name, body).hex().encode()
        path.write_bytes(b'{"checksum": "%s",' % mark + body)
    with pytest.raises(JobError, match=r"intersections\.json is damaged"):
        Job(tmp_path).intersections()


@pytest.mark.parametrize("changes", [1, 6, 11, 16])
def test_killed_before_any_change_to_a_file_it_goes_on_with_the_same_bits(
    changes: int, begun: Path, finished: Finished, tmp_path: Path
) -> None:
    """While it drops what lies beyond a checkpoint, makes a frame again, and adds two."""
    folder = tmp_path / "job"
    shutil.copytree(begun, folder)
    (folder / "checkpoint_1.npz").write_bytes(b"")
    (folder / "frames" / "000001.npy").unlink()
    process = apart.started(apart.work_and_die_before_change, folder, changes)
    process.join()
    assert process.exitcode == apart.DIED
    status, _, error = simulated(folder)
    assert (status, error) == (0, "")
    assert _frames(contents(folder)) == _frames(finished.files)
    assert _records(folder) == finished.records
