# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a batch: one a shot, as many at a time as cores and memory carry."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import bpy

from ...core.errors import SuppleError
from ...core.job import lock
from ...core.job.files import remove
from ...core.machine import available_bytes, carried, thread_variables, usable_cores
from ..worker.solver_environment import NO_CONSOLE
from . import report
from .report import DONE, FAILED, RUNNING, WAITING, Outcome
from .shots import Shot

#: Memory of a shot until one has been measured, in bytes: Blender and a solver with a small scene.
FIRST_BYTES = 2_000_000_000
_POLL_SECONDS = 0.05
_WARNING = "Supple: Warning: "
_ERROR = "supple: "

Log = Callable[[str], object]


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    log: IO[bytes]


class Batch:
    """The shots of a list, and their states.

    Args:
        shots: of the list.
        folder: of the report and the logs.
        title: of the report.
        jobs: the most simultaneous jobs; None for as many as there are cores.
        anew: whether finished shots are run again.
    """

    def __init__(
        self, shots: Sequence[Shot], folder: Path, title: str, jobs: int | None, anew: bool
    ) -> None:
        self._shots, self._folder, self._title = shots, folder, title
        self._at_most = jobs or usable_cores()
        self._available = available_bytes()
        self._running: dict[int, _Running] = {}
        self.outcomes = [Outcome(shot.name, str(shot.file), shot.command) for shot in shots]
        self._results = [folder / f"{shot.name}-{shot.fingerprint()}.json" for shot in shots]
        for index, result in enumerate(self._results):
            if anew:
                remove(result)
            elif report.read_result(result, self.outcomes[index]):
                self._read_log(index)
        self._left = [k for k, outcome in enumerate(self.outcomes) if outcome.state != DONE]
        self._threads = max(1, usable_cores() // max(1, min(self._carried(), len(self._left))))

    def run(self, log: Log) -> None:
        """Run all shots that are not done. Failed ones do not stop the others.

        Raises:
            JobInUseError: another process runs the same list.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with lock.hold(self._folder):
            self._write()
            try:
                while self._left or self._running:
                    while self._left and len(self._running) < self._carried():
                        self._start(self._left.pop(0), log)
                    ended = [
                        k for k, each in self._running.items() if each.process.poll() is not None
                    ]
                    for index in ended:
                        self._end(index, log)
                    if not ended:
                        time.sleep(_POLL_SECONDS)
            finally:
                self._stop()
                self._write()

    def _carried(self) -> int:
        """The number of shots that cores and memory carry, by the largest so far."""
        peaks = [each.peak_bytes for each in self.outcomes if each.peak_bytes]
        return carried(self._at_most, self._available, max(peaks, default=FIRST_BYTES))

    def _start(self, index: int, log: Log) -> None:
        shot, outcome = self._shots[index], self.outcomes[index]
        outcome.state = RUNNING
        printed = self._log_path(index).open("wb")
        options = [*shot.options, "--report", str(self._results[index]), "--stop-with-parent"]
        try:
            process = subprocess.Popen(
                _command(shot, options),
                env={**os.environ, **thread_variables(self._threads)},
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                creationflags=NO_CONSOLE,
            )
        except OSError as error:
            printed.close()
            raise SuppleError(f"Blender cannot be started: {error.strerror}.") from error
        self._running[index] = _Running(process, printed)
        log(f"{shot.name}: started")

    def _end(self, index: int, log: Log) -> None:
        running, outcome = self._running.pop(index), self.outcomes[index]
        _close(running)
        status = running.process.returncode
        is_done = status == 0 and report.read_result(self._results[index], outcome)
        self._read_log(index)
        if not is_done:
            outcome.state = FAILED
            outcome.error = outcome.error or f"Blender ended with status {status}; see its log."
        result = f"{outcome.seconds:.1f} s" if outcome.state == DONE else outcome.error
        log(f"{outcome.name}: {outcome.state}, {result}")
        self._write()

    def _read_log(self, index: int) -> None:
        outcome = self.outcomes[index]
        with suppress(OSError):
            text = self._log_path(index).read_text(encoding="utf-8", errors="replace")
            lines = text.splitlines()
            warnings = [each.removeprefix(_WARNING) for each in lines if each.startswith(_WARNING)]
            outcome.warnings = [*dict.fromkeys([*warnings, *outcome.warnings])]
            errors = [each.removeprefix(_ERROR) for each in lines if each.startswith(_ERROR)]
            outcome.error = errors[-1] if errors and outcome.state != DONE else ""

    def _stop(self) -> None:
        for index, running in self._running.items():
            self.outcomes[index].state = WAITING
            _close(running)
            running.process.terminate()
            running.process.wait()
        self._running.clear()

    def _write(self) -> None:
        report.write(self._folder, self._title, self.outcomes)

    def _log_path(self, index: int) -> Path:
        return self._folder / f"{self._shots[index].name}.log"


def _command(shot: Shot, options: list[str]) -> list[str]:
    """The command line of one shot, for Blender or for its Python module, as runs here."""
    file, scene = str(shot.file), shot.scene
    if bpy.app.binary_path:
        chosen = ["-S", scene] if scene else []
        return [
            bpy.app.binary_path,
            "-b",
            file,
            *chosen,
            "--command",
            "supple",
            shot.command,
            *options,
        ]
    chosen = ["--scene", scene] if scene else []
    return [sys.executable, "-m", "supple", shot.command, file, *chosen, *options]


def _close(running: _Running) -> None:
    """End a process that stops when its input closes."""
    assert running.process.stdin is not None
    running.process.stdin.close()
    running.log.close()
