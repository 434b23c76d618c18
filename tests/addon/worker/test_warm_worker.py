# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker kept ready, a real process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supple.addon.worker import session, solver_environment, warm_worker
from supple.addon.worker.session import State
from supple.core import Ground, Scene, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners

loaded = pytest.mark.usefixtures("solver_loaded")


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    corners = box_corners((0.0, 0.0, 0.5))
    body = SoftBody(SurfaceMesh(corners, BOX_TRIANGLES, edge_length=0.34), name="Box")
    yield Job.create(tmp_path / "job", Scene([body], ground=Ground()), Settings(3))
    session.stop()


def _ends(running: session.Session) -> State:
    end = time.monotonic() + 120.0
    while running.poll().runs and time.monotonic() < end:
        time.sleep(0.01)
    return running.state


def test_a_waiting_worker_takes_the_next_job(job: Job) -> None:
    warm_worker.prepare()
    waiting = warm_worker._ready
    assert waiting is not None
    running = session.start(job)
    assert running._process is waiting.process
    assert _ends(running) is State.FINISHED
    assert job.has_frame(3)
    assert "frame 3 of 3" in (job.folder / "output.txt").read_text()


@loaded
def test_it_says_what_is_wrong_as_any_worker_does(job: Job) -> None:
    (job.folder / "scene.npz").write_bytes(b"nothing")
    warm_worker.prepare()
    running = session.start(job)
    assert _ends(running) is State.FAILED
    assert "scene.npz is damaged" in str(running.failure)


def test_preparing_twice_keeps_one(job: Job) -> None:
    warm_worker.prepare()
    first = warm_worker._ready
    warm_worker.prepare()
    assert warm_worker._ready is first


@loaded
def test_one_that_has_died_is_replaced_by_an_ordinary_worker(job: Job) -> None:
    warm_worker.prepare()
    assert warm_worker._ready is not None
    warm_worker._ready.process.kill()
    warm_worker._ready.process.wait()
    running = session.start(job)
    assert _ends(running) is State.FINISHED


def test_one_of_another_python_is_not_used(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    warm_worker.prepare()
    old = warm_worker._ready
    assert old is not None
    command, environment = solver_environment.worker_command()
    changed = environment | {"SUPPLE_TEST": "1"}
    monkeypatch.setattr(
        solver_environment,
        "worker_command",
        lambda *arguments: ([*command, *map(str, arguments)], changed),
    )
    running = session.start(job)
    assert old.process.poll() is not None
    assert running._process is not old.process


@loaded
def test_one_that_only_fills_meshes_is_another(job: Job) -> None:
    warm_worker.prepare()
    waiting = warm_worker._ready
    assert waiting is not None
    filling = session.start(job, mesh_only=True)
    assert filling._process is not waiting.process
    assert _ends(filling) is State.FINISHED
    assert warm_worker._ready is waiting and waiting.process.poll() is None


def test_it_compiles_everything_and_marks_that(monkeypatch, tmp_path: Path) -> None:
    _, environment = solver_environment.worker_command()
    assert not environment["NUMBA_CACHE_DIR"].startswith(str(solver_environment.ROOT / "core"))
    warm_worker.prepare()
    end = time.monotonic() + 600.0  # one process compiles all of it
    while not warm_worker._is_compiled() and time.monotonic() < end:
        time.sleep(0.05)
    assert warm_worker._is_compiled()
    warm_worker.stop()
    warm_worker.prepare_unless_compiled()
    assert warm_worker._ready is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(solver_environment, "users_cache", lambda: tmp_path)
    older = tmp_path / "kernels" / "0.0.1"
    older.mkdir(parents=True)
    warm_worker.prepare_unless_compiled()
    assert not older.exists()
    anew: warm_worker._WarmWorker | None = warm_worker._ready
    assert anew is not None
    while warm_worker.progress() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert 0.0 <= warm_worker.progress() < 1.0
    warm_worker.stop()
    assert warm_worker.progress() is None
    assert not anew.output.exists()


@loaded
def test_it_ends_with_blender() -> None:
    warm_worker.prepare()
    assert warm_worker._ready is not None
    process = warm_worker._ready.process
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    warm_worker.stop()


def test_stop_ends_it() -> None:
    warm_worker.prepare()
    assert warm_worker._ready is not None
    process = warm_worker._ready.process
    session.stop()
    assert process.poll() is not None
