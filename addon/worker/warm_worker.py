# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that has loaded the solver already and waits for its job.

Loading takes seconds, longer than many a simulation, and compiling for an installation's first
worker a minute, unless its loops came with the extension: one is kept ready while a window is open.
It takes one core to compile, and ends at once when Blender does.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bpy

from ...core.job import warm_up
from ..remembered import redraw_panels
from . import solver_environment
from .solver_environment import Command


@dataclass(frozen=True)
class _WarmWorker:
    process: subprocess.Popen[bytes]
    command: Command
    output: Path


_WATCH_SECONDS = 0.5

_ready: _WarmWorker | None = None
_shown: float | None = None


def prepare() -> None:
    """Start a worker that waits, unless there is one, or no solver."""
    global _ready
    if solver_environment.find() is None:
        return
    command = solver_environment.worker_command("--standby")
    if _ready is not None and _ready.command == command and _ready.process.poll() is None:
        return
    stop()
    number, path = tempfile.mkstemp(prefix="supple-worker-", suffix=".txt")
    try:
        process = solver_environment.start_worker(command, number, Path.home())
    finally:
        os.close(number)
    _ready = _WarmWorker(process, command, Path(path))
    if not bpy.app.background:
        watch()


def watch() -> None:
    """Show the progress of the waiting worker in the sidebars, until it has compiled everything."""
    if not bpy.app.timers.is_registered(_show_progress):
        bpy.app.timers.register(_show_progress, first_interval=_WATCH_SECONDS, persistent=True)


def prepare_unless_compiled() -> None:
    """Start a worker for an installation that has not compiled its loops yet."""
    if solver_environment.find() is None:
        return
    if not _is_compiled():
        solver_environment.remove_older_kernels()
        prepare()


def _show_progress() -> float | None:
    """Redraw the progress. Blender calls this again after the seconds that it returns."""
    global _shown
    if (now := progress()) != _shown:
        _shown = now
        redraw_panels()
    is_waiting = _ready is not None and _ready.process.poll() is None
    return None if not is_waiting or _is_compiled() else _WATCH_SECONDS


def progress() -> float | None:
    """The waiting worker's progress with compiling, 0 … 1; None when it compiles nothing."""
    if _ready is None or _ready.process.poll() is not None:
        return None
    return warm_up.progress(_ready.output)


def _is_compiled() -> bool:
    _, variables = solver_environment.worker_command()
    return warm_up.is_prepared(Path(variables["NUMBA_CACHE_DIR"]))


def take(job_folder: Path) -> subprocess.Popen[bytes] | None:
    """The waiting worker, sent to simulate; None when there is none that fits."""
    global _ready
    worker, _ready = _ready, None
    if worker is None:
        return None
    if worker.command != solver_environment.worker_command("--standby"):
        _end(worker)  # the preferences name another Python now
        return None
    request = json.dumps({"job": str(job_folder.resolve())}) + "\n"
    assert worker.process.stdin is not None
    try:
        worker.process.stdin.write(request.encode())
        worker.process.stdin.flush()
    except OSError:  # it has ended; an ordinary start will report why
        _end(worker)
        return None
    _remove(worker.output)
    return worker.process


def stop() -> None:
    """Ends the waiting worker."""
    global _ready
    worker, _ready = _ready, None
    if worker is not None:
        _end(worker)
    if bpy.app.timers.is_registered(_show_progress):
        bpy.app.timers.unregister(_show_progress)


def _end(worker: _WarmWorker) -> None:
    worker.process.kill()  # it has nothing to lose
    worker.process.communicate()
    _remove(worker.output)


def _remove(output: Path) -> None:
    # On Windows a file stays while the worker still has it open; it is the system's to clear.
    with contextlib.suppress(PermissionError, FileNotFoundError):
        output.unlink()
