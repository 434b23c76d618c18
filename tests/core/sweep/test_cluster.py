# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on a Dask cluster: real processes, of which some are killed."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from supple.core.errors import SuppleError
from supple.core.sweep import cluster, make, run
from supple.core.sweep.worker import run_one
from supple.core.version import version

from .tiny_sweep import SCENE, SETTINGS, SWEEP, frames_of, without_times

distributed: Any = pytest.importorskip("distributed", reason="Dask is an optional package")


def local_cluster(workers: int, threads: int) -> Any:
    """A cluster of worker processes on this machine, with so many threads each."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        dashboard_address=None,
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """A cluster of two workers, one of which the last test kills."""
    with local_cluster(2, 1) as started:
        yield started


@pytest.mark.skipif(sys.platform != "linux", reason="counts processes by /proc")
def test_threads_of_a_worker_do_runs_side_by_side_in_processes_of_their_own(tmp_path: Path) -> None:
    folder = make(SWEEP, SCENE, SETTINGS, tmp_path / "there")
    requests = [{"folder": str(folder), "index": k, "version": version()} for k in range(4)]
    with local_cluster(1, 2) as one_worker:
        address = one_worker.scheduler_address
        rows = sorted(
            cluster.rows(iter(requests), 1, address, None, print), key=lambda row: row["index"]
        )
        with distributed.Client(address, set_as_default=False) as client:
            assert list(client.run(_process_count).values()) == [2]
            # A sweep that computes on more threads has other processes.
            assert len(list(cluster.rows(iter(requests), 2, address, None, print))) == 4
            assert list(client.run(_process_count).values()) == [2]
    here = make(SWEEP, SCENE, SETTINGS, tmp_path / "here")
    alone = [run_one({**each, "folder": str(here)}) for each in requests]
    same = [{"index": k, **row} for k, row in enumerate(alone)]
    assert without_times(rows) == without_times(same)


def _process_count() -> int:
    """The number of processes that this one has started."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return sum(len(each.read_text().split()) for each in tasks)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("0.0.9", "The worker tcp://b runs Supple 0.0.9, and this is Supple "),
        (ModuleNotFoundError("No module named 'supple'"), "The worker tcp://b has no Supple "),
    ],
)
def test_a_worker_of_another_version_is_refused_and_named(found: object, said: str) -> None:
    answers = {"tcp://a": version(), "tcp://b": found}
    client = SimpleNamespace(wait_for_workers=lambda *_, **__: None, run=lambda *_, **__: answers)
    with pytest.raises(SuppleError, match=said):
        cluster._check_workers(client, "tcp://farm")


def test_a_worker_that_comes_later_with_another_version_is_left_out(
    dask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "RETURN_SECONDS", 0.3)
    requests = iter([{"folder": str(tmp_path), "index": 0, "version": "0.0.9"}])
    messages: list[str] = []
    said = (
        rf"No worker is left to go on: tcp://\S+: it runs Supple {version()}, and the sweep needs"
    )
    with pytest.raises(SuppleError, match=said):
        list(cluster.rows(requests, 1, dask.scheduler_address, None, messages.append))
    assert len(messages) == 2


def test_a_worker_that_cannot_write_is_left_out_and_its_run_goes_to_another(
    dask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = dask.workers[0].worker_address
    monkeypatch.setattr(cluster, "_run_there", _run_on_a_full_disk)
    requests = iter([{"index": index, "bad": bad} for index in range(12)])
    messages: list[str] = []
    rows = list(cluster.rows(requests, 1, dask.scheduler_address, None, messages.append))
    assert sorted(row["index"] for row in rows) == [*range(12)]
    assert all(row["good"] for row in rows)
    assert messages == [f"The worker {bad} is left out: The disk is full"]
    monkeypatch.setattr(cluster, "RETURN_SECONDS", 0.3)
    requests = iter([{"index": 0, "bad": "all"}])
    with pytest.raises(SuppleError, match=r"No worker is left to go on: .*The disk is full"):
        list(cluster.rows(requests, 1, dask.scheduler_address, None, messages.append))


def _run_on_a_full_disk(request: dict, _threads: int) -> dict:
    address = distributed.get_worker().address
    if request["bad"] in ("all", address):
        return {"error": "The disk is full", "unfit": "disk", "worker": address}
    time.sleep(0.01)
    return {"good": True, "worker": address}


def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.3)
    for address in ("tcp://127.0.0.1:9", "farm"):
        said = f"There is no Dask scheduler at {re.escape(address)}: "
        with pytest.raises(SuppleError, match=said):
            list(cluster.rows(iter([]), 1, address, None, print))


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_scheduler_that_dies_is_reported_without_tracebacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file, begin = tmp_path / "scheduler.json", [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(file), "--no-dashboard"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*begin, "scheduler", "--host", "127.0.0.1", "--port", "0", *where], **quiet
    )
    subprocess.Popen([*begin, "worker", "--no-nanny", "--nthreads", "1", *where], **quiet)
    while not (file.exists() and file.read_text().endswith("}")):
        assert scheduler.poll() is None
        time.sleep(0.01)
    address = json.loads(file.read_text())["address"]
    monkeypatch.setattr(cluster, "_run_there", _run_on_a_full_disk)
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 60.0)
    requests = iter([{"index": k, "bad": ""} for k in range(9999)])
    rows = cluster.rows(requests, 1, address, None, print)
    assert next(rows)["good"]
    scheduler.kill()
    with pytest.raises(SuppleError, match=f"The Dask scheduler at {address} is gone"):
        list(rows)
    assert not caplog.records


@pytest.mark.parametrize("lost", [CancelledError(), distributed.comm.CommClosedError("reset")])
def test_a_result_that_was_on_its_way_when_the_scheduler_died_is_said_so_too(
    dask: Any, monkeypatch: pytest.MonkeyPatch, lost: Exception
) -> None:
    def lose(_: object) -> None:
        raise lost

    monkeypatch.setattr(distributed.Future, "result", lose)
    monkeypatch.setattr(cluster, "_run_there", _run_on_a_full_disk)
    requests = iter([{"index": 0, "bad": ""}])
    with pytest.raises(
        SuppleError, match=f"The Dask scheduler at {dask.scheduler_address} is gone"
    ):
        list(cluster.rows(requests, 1, dask.scheduler_address, None, print))


def test_a_killed_worker_costs_no_run_and_the_bits_are_those_of_one_machine(
    dask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    there = tmp_path / "there"
    monkeypatch.setattr("supple.core.sweep.driver._LOG_SECONDS", 0.0)

    def kill_one(_: str) -> None:
        if not killed:
            killed.append(dask.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    rows = run(SWEEP, SCENE, SETTINGS, there, scheduler=dask.scheduler_address, log=kill_one)
    assert killed and len(rows) == len(SWEEP)
    here = make(SWEEP, SCENE, SETTINGS, tmp_path / "here")
    requests = [{"folder": str(here), "index": k, "version": version()} for k in range(len(SWEEP))]
    same = [{"index": k, **SWEEP.values(k), **run_one(each)} for k, each in enumerate(requests)]
    assert without_times(rows) == without_times(same)
    assert frames_of(there) == frames_of(here)
