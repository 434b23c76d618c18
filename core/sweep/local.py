# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a sweep on this machine: one process for each core, each for many runs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import SuppleError
from ..machine import available_bytes, carried, thread_variables, usable_cores
from .folder import DISK, Row

_LAUNCHER = Path(__file__).resolve().parents[1] / "launch.py"
# A worker of Dask gives freed memory back at once. Runs would take 12 % more time so.
_TRIM = "MALLOC_TRIM_THRESHOLD_"
#: Memory of one process with a small scene, in bytes.
PROCESS_BYTES = 1_000_000_000
#: The number of deaths of its process after which a run counts as failed.
MAX_DEATHS = 3

Request = dict[str, Any]


def rows(requests: Iterator[Request], workers: int | None, threads: int) -> Iterator[Row]:
    """Do runs, and yield their rows as they come.

    Args:
        requests: of ``run_one``.
        workers: number of processes; None for as many as processors and memory carry.
        threads: of each.

    Raises:
        SuppleError: the disk is full, or no process can be started.
    """
    count = workers or carried(usable_cores() // threads, available_bytes(), PROCESS_BYTES)
    done: queue.SimpleQueue[Row | BaseException | None] = queue.SimpleQueue()
    guard, stopped = threading.Lock(), threading.Event()

    def next_request() -> Request | None:
        with guard:
            return None if stopped.is_set() else next(requests, None)

    pool = [Process(threads) for _ in range(count)]
    started = [threading.Thread(target=_serve, args=(each, next_request, done)) for each in pool]
    for thread in started:
        thread.start()
    try:
        left = count
        while left:
            row = done.get()
            if row is None:
                left -= 1
            elif isinstance(row, BaseException):
                raise row
            elif row.get("unfit") == DISK:
                raise SuppleError(row["error"])
            else:
                yield row
    finally:
        stopped.set()
        for process in pool:
            process.stop()
        for thread in started:
            thread.join()


def _serve(process: Process, next_request: Any, done: queue.SimpleQueue[Any]) -> None:
    """Give the present requests to a process, and restart it if it dies."""
    try:
        while (request := next_request()) is not None:
            row = process.run(request)
            if process.is_stopped:
                break
            done.put(row)
    except BaseException as error:  # noqa: BLE001, since another thread raises it again
        done.put(error)
    finally:
        process.stop()
        done.put(None)


class Process:
    """A process for runs, which starts with the first one.

    Args:
        threads: that it computes on.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._environment = {**os.environ, **thread_variables(threads)}
        self._environment.pop(_TRIM, None)
        self._process: subprocess.Popen[bytes] | None = None
        self._status: int | None = None
        self._guard = threading.Lock()
        self.is_stopped = False

    def run(self, request: Request) -> Row:
        """The row of a run. A process that dies is restarted, at most ``MAX_DEATHS`` times."""
        for _ in range(MAX_DEATHS):
            row = self.ask(request)
            if row is not None:
                return row
            if self.is_stopped:
                break
        died = f"the process of the run died {MAX_DEATHS} times: {self._why()}"
        return {"index": request["index"], "error": died}

    def ask(self, request: Request) -> Row | None:
        """The row of a run; None where the process has died over it."""
        process = self._started()
        if process is None:
            return None
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError):  # it has died, or was stopped meanwhile
            answer = b""
        if not answer.endswith(b"\n"):
            self._end(process)
            return None
        row: Row = json.loads(answer)
        return {"index": request["index"], **row}

    def _why(self) -> str:
        status = self._status or 0
        return f"signal {-status}" if status < 0 else f"status {status}"

    def stop(self) -> None:
        with self._guard:
            self.is_stopped = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()  # files are whole at any moment
            self._end(process)

    def _started(self) -> subprocess.Popen[bytes] | None:
        with self._guard:
            if self.is_stopped:
                return None
            if self._process is None or self._process.poll() is not None:
                try:
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", str(_LAUNCHER), "--serve"],
                        env=self._environment,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                    )
                except OSError as error:
                    raise SuppleError(f"No process can be started: {error.strerror}.") from error
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        self._status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except OSError:  # unsent requests are lost with the process
                    continue
