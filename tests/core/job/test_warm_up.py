# SPDX-License-Identifier: GPL-3.0-or-later
"""Test compiling ahead of need, by real workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.core import Ground, Scene, SoftBody, SurfaceMesh, shipped_loops
from supple.core.job import Job, Settings, warm_up
from supple.tests.core import apart
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners

# A new loop, which no disk holds yet, compiled while the others are ready.
COMPILING = """
import supple.core.job.warm_up as warm_up
from supple.core.compiled import compiled
warm_up._report_when_compiling()
warm_up.report_compiling()

@compiled()
def double(number):
    return 2 * number

double(1.0)
print("done", flush=True)
"""
# What is being compiled calls for the process, as somebody else would.
WANTED = """
import threading
from supple.core.compiled import compiled
from supple.core.job import tiny_scenes, warm_up

@compiled()
def half(number):
    return 0.5 * number

@compiled()
def quarter(number):
    return 0.5 * half(number)

def piece():
    half(1.0)
    wanted.set()
    quarter(1.0)
    print("not left")

wanted = threading.Event()
tiny_scenes.PIECES = (piece,)
warm_up.prepare_everything(wanted)
print(len(half.signatures), len(quarter.signatures))
print(quarter(2.0), flush=True)
"""
# What ``prepare_everything`` prepares needs nothing compiled in these simulations afterwards.
COMPILED_LATER = """
import threading
import numpy as np
from supple.core import *
from supple.core.job import warm_up
from supple.core.compiled import loops
from supple.core.integrators import *

def used():
    return {(loop.__name__, str(types)) for loop in loops for types in loop.signatures}

warm_up.prepare_everything(threading.Event())
print("kept:", warm_up.kept_ratio())
before = used()
corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.001, 1)])
tets = [[0, 4, 2, 1], [6, 2, 4, 7], [3, 1, 2, 7], [5, 4, 1, 7], [1, 4, 2, 7]]
bodies = [SoftBody(TetMesh(corners + [0, 0, 1.02 * k], tets), friction=0.5) for k in range(3)]
for _ in Simulator(Scene(bodies, Ground(), contact=Contact()), ImplicitEuler()).run(12):
    pass
for _ in Simulator(Scene(bodies, contact=Contact()), Automatic()).run(12):
    pass
of_two_parts = TetMesh(
    np.concatenate([corners, corners + [0, 0, 1.02]]), np.concatenate([tets, np.array(tets) + 8])
)
for _ in Simulator(Scene([SoftBody(of_two_parts)], contact=Contact()), Automatic()).run(2):
    pass
seen = SoftBody(SurfaceMesh(corners, bodies[0].mesh.surface, edge_length=0.3))
for _ in Simulator(Scene([seen], Ground(), contact=Contact()), Automatic()).run(2):
    pass
for integrator in (SymplecticEuler(), ImplicitEuler(), BDF2(), RungeKutta4(), XPBD()):
    stream = VelocityGrid(np.ones((2, 1, 1, 1, 3)), np.eye(3, 4))
    eddies = [ForceField("turbulence"), ForceField("fluid_flow", grid=stream)]
    for _ in Simulator(Scene(bodies[:1], Ground(), forces=eddies), integrator).run(2):
        pass
print("used later:", *sorted(used() - before), sep="\\n", flush=True)
"""


def run(script: str, folder: Path, cache: Path | None = None) -> list[str]:
    """The output of a script in a process that has compiled nothing."""
    (folder / "script.py").write_text(script)
    return apart.printed_by("script", folder, cache).splitlines()


def test_a_loop_that_is_compiled_is_told_before_it_is(tmp_path: Path) -> None:
    said, end = run(COMPILING, tmp_path, tmp_path / "kept")
    assert end == "done"
    (tmp_path / "output.txt").write_text(f"something else\n{said}\n")
    assert warm_up.progress(tmp_path / "output.txt") == 0.0
    (tmp_path / "output.txt").write_text(f"{said}\n{end}\n")
    assert warm_up.progress(tmp_path / "output.txt") is None


def test_what_is_being_compiled_is_left_when_the_process_is_wanted(tmp_path: Path) -> None:
    """And is compiled where somebody needs it."""
    said = [line for line in run(WANTED, tmp_path, tmp_path / "kept") if "preparing" not in line]
    assert said == ["1 0", "0.5"]


@pytest.mark.parametrize(
    ("printed", "progress"),
    [
        ("", None),
        ("preparing 0.25\n", 0.25),
        ("preparing 0.25\npreparing 0.5", 0.25),
        ("preparing 0.25\nprepar", 0.25),
        ("preparing 1.00\nImplicit Euler, 1 step a frame\n", None),
        (f"{'x' * 5000}\npreparing 0.75\n", 0.75),
        ("preparing 0.25\r\npreparing 0.75\r\n", 0.75),
    ],
)
def test_progress_is_the_last_whole_line(tmp_path: Path, printed: str, progress: float) -> None:
    (tmp_path / "output.txt").write_bytes(printed.encode())
    assert warm_up.progress(tmp_path / "output.txt") == progress


def test_a_worker_that_has_printed_nothing_yet_compiles_nothing(tmp_path: Path) -> None:
    assert warm_up.progress(tmp_path / "output.txt") is None


def test_after_the_preparation_ordinary_simulations_compile_nothing_more(tmp_path: Path) -> None:
    """And it has come to its end by what is shown of it."""
    said = run(COMPILED_LATER, tmp_path)
    (share,) = [line.removeprefix("kept: ") for line in said if line.startswith("kept: ")]
    assert 0.95 < float(share) <= 1.0
    assert said[said.index("used later:") + 1 :] == []


def test_what_was_prepared_is_known_until_a_file_changes(tmp_path: Path, monkeypatch) -> None:
    assert not warm_up.is_prepared(tmp_path)
    (tmp_path / "prepared").write_text(warm_up._fingerprint())
    assert warm_up.is_prepared(tmp_path)
    (tmp_path / "prepared").write_bytes(b"of another version \xff")
    assert not warm_up.is_prepared(tmp_path)


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker that waits for its job with nothing compiled yet."""
    process = subprocess.Popen(
        [sys.executable, "-m", "supple.core", "--standby"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_worker_that_compiles_ends_at_once_when_its_input_closes(waiting) -> None:
    assert waiting.stdout.readline().startswith("preparing ")
    waiting.stdin.close()
    # To compile everything takes longer.
    assert waiting.wait(timeout=10.0) == 0


def test_a_job_given_to_a_worker_that_compiles_is_told_how_far_it_is(waiting, tmp_path) -> None:
    job = Job.create(tmp_path / "job", Scene([_box()], Ground()), Settings(1))
    assert waiting.stdout.readline().startswith("preparing ")
    waiting.stdin.write(json.dumps({"job": str(job.folder)}) + "\n")
    waiting.stdin.flush()
    output = job.folder / "output.txt"
    end = time.monotonic() + 20.0
    while warm_up.progress(output) is None and time.monotonic() < end:
        time.sleep(0.01)
    assert warm_up.progress(output) is not None


def _box() -> SoftBody:
    corners = box_corners((0.0, 0.0, 0.5))
    return SoftBody(SurfaceMesh(corners, BOX_TRIANGLES, edge_length=0.34), name="Box")


def test_sources_are_searched_once_however_often_the_window_asks(tmp_path, monkeypatch) -> None:
    """A waiting worker is asked twice a second, and a search takes a tenth of one."""
    (tmp_path / "prepared").write_text("of another version")
    warm_up._fingerprint.cache_clear()
    searches, search = [], Path.rglob

    def counted(self: Path, pattern: str):
        searches.append(pattern)
        return search(self, pattern)

    monkeypatch.setattr(Path, "rglob", counted)
    assert not any(warm_up.is_prepared(tmp_path) for _ in range(5))
    assert searches == ["*.py"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def keep(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.touch()


def test_the_share_grows_with_what_any_process_keeps(folder: Path) -> None:
    files = sorted(warm_up._index_files())
    shares = [warm_up.kept_ratio()]
    for place, name in files:
        keep(folder / place / name)
        shares.append(warm_up.kept_ratio())
    assert shares[0] == 0.0 and shares[-1] == 1.0
    assert shares == sorted(shares)
    assert shares[len(files) // 2] == pytest.approx(0.5, abs=0.01)


def test_what_came_with_the_extension_counts_beside_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_loops, "FOLDER", folder / "shipped")
    monkeypatch.setattr(shipped_loops, "name", lambda: "of this machine")
    indices = sorted(warm_up._index_files().items())
    half = len(indices) // 2
    for _, path in indices[: half + 1]:
        there = folder / "shipped" / "of this machine" / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.touch()
    assert warm_up.kept_ratio() == pytest.approx(0.5, abs=0.01)
    for (place, name), _ in indices[half:]:
        keep(folder / place / name)
    assert warm_up.kept_ratio() == 1.0
    monkeypatch.setattr(shipped_loops, "name", lambda: "of another one")
    assert warm_up.kept_ratio() == pytest.approx(0.5, abs=0.01)


def test_what_older_files_left_and_other_installations_keep_does_not_count(folder: Path) -> None:
    place, name = next(iter(warm_up._index_files()))
    stem, _, python = name.removesuffix(".nbi").rpartition(".")
    for other in (f"{stem}9.{python}.nbi", f"{stem}.py30.nbi", f"{stem}.{python}.1.nbc"):
        keep(folder / place / other)
    keep(folder / "kernels_1f" / name)
    assert warm_up.kept_ratio() == 0.0


def test_without_a_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert warm_up.kept_ratio() == 0.0
