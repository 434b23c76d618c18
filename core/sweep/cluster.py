# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a sweep on a Dask cluster, whose machines share the folder of the sweep."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Container, Iterator
from concurrent.futures import CancelledError
from importlib import import_module
from typing import Any

from ..errors import SuppleError
from ..version import version
from .folder import Row
from .local import Process

#: Seconds in which a scheduler has to answer, and to have a worker.
PATIENCE_SECONDS = 10.0
#: Seconds in which a worker that was killed may come back, when no other is left.
RETURN_SECONDS = 10.0
# Requests that wait for each worker, so that none has to wait for the next.
_AHEAD = 3
# A local cluster has no page that shows its processes; watching them takes 4 % of the time of a
# core.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
# The loggers of Dask with their own levels.
_LOGGERS = ("distributed", "distributed.client")
_MISSING = (
    "A Dask cluster needs the package dask[distributed]. Install it in this Python with pip, or "
    "leave --scheduler and --local-cluster out."
)

Log = Callable[[str], object]


def rows(
    requests: Iterator[dict[str, Any]],
    threads: int,
    address: str | None,
    local: int | None,
    log: Log,
) -> Iterator[Row]:
    """Do runs on a cluster, and yield their rows as they come.

    Args:
        requests: of ``run_one``.
        threads: of each run.
        address: of the scheduler, such as ``tcp://farm:8786``.
        local: number of processes of a cluster on this machine, in place of an address.
        log: takes news.

    Raises:
        SuppleError: there is no such scheduler, a worker has another version of Supple, or none is
            left to do the rest.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise SuppleError(_MISSING) from error
    # Its own messages on lost workers and schedulers come with tracebacks.
    for logger in _LOGGERS:
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        where: Any = address
        if address is None:
            stack.enter_context(import_module("dask").config.set(_QUIET))
            where = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=local,
                    threads_per_worker=1,
                    memory_limit=0,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            )
        try:
            if address is not None:
                # A client that cannot read its address waits for itself when it is deleted.
                distributed.comm.get_address_host_port(address)
            client = distributed.Client(where, timeout=PATIENCE_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise SuppleError(
                f"There is no Dask scheduler at {address}: {error}. Start one with dask scheduler, "
                "or leave --scheduler out."
            ) from error
        stack.enter_context(client)
        _check_workers(client, address)
        try:
            yield from _rows(distributed, client, requests, threads, log)
        except (distributed.comm.CommClosedError, CancelledError) as error:
            raise SuppleError(
                f"The Dask scheduler at {address or 'this machine'} is gone. What was simulated is "
                "kept. Start it again, then run the same command."
            ) from error


def _check_workers(client: Any, address: str | None) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError as error:
        raise SuppleError(
            f"The Dask scheduler at {address} has no workers. Start some with dask worker "
            f"{address}."
        ) from error
    for worker, answer in client.run(version, on_error="return").items():
        if isinstance(answer, BaseException):
            raise SuppleError(f"The worker {worker} has no Supple {version()}: {answer}.")
        if answer != version():
            raise SuppleError(
                f"The worker {worker} runs Supple {answer}, and this is Supple {version()}. "
                "Install one version everywhere."
            )


def _rows(
    distributed: Any, client: Any, requests: Iterator[dict[str, Any]], threads: int, log: Log
) -> Iterator[Row]:
    unfit: dict[str, str] = {}
    sent: dict[Any, dict[str, Any]] = {}

    def send(request: dict[str, Any]) -> Any:
        workers = None
        if unfit:
            workers = _fit_workers(client, unfit)
            if not workers:
                reasons = "; ".join(f"{worker}: {reason}" for worker, reason in unfit.items())
                raise SuppleError(f"No worker is left to go on: {reasons}")
        future = client.submit(_run_there, request, threads, pure=False, workers=workers)
        sent[future] = request
        return future

    ahead = _AHEAD * max(1, len(client.scheduler_info(-1)["workers"]))
    first = [send(request) for _, request in zip(range(ahead), requests, strict=False)]
    running = distributed.as_completed(first, loop=client.loop)
    for future in running:
        request = sent.pop(future)
        if (error := future.exception()) is not None:
            row = {"error": str(error)}
        else:
            row = future.result()
        worker = row.pop("worker", "")
        if row.get("unfit"):
            if worker not in unfit:
                log(f"The worker {worker} is left out: {row['error']}")
            unfit[worker] = row["error"]
            running.add(send(request))
            continue
        if (following := next(requests, None)) is not None:
            running.add(send(following))
        yield {"index": request["index"], **row}


def _fit_workers(client: Any, unfit: Container[str]) -> list[str]:
    """The addresses of the workers that may go on. A worker that was killed is given time to come
    back."""
    until = time.monotonic() + RETURN_SECONDS
    while True:
        workers = [each for each in client.scheduler_info(-1)["workers"] if each not in unfit]
        if workers or time.monotonic() > until:
            return workers
        time.sleep(0.1)


# The process of each thread of a worker.
_thread_data = threading.local()


def _run_there(request: dict[str, Any], threads: int) -> Row:
    """A run, with the address of its worker.

    A separate process does it: several threads of a worker may do runs, and a run changes
    properties of its whole process, such as the standard output and the number of threads.
    """
    from distributed import get_worker

    process: Process | None = getattr(_thread_data, "process", None)
    if process is None or process.threads != threads:
        if process is not None:
            process.stop()
        process = _thread_data.process = Process(threads)
    return {**process.run(request), "worker": get_worker().address}
