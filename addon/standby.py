# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker that has loaded the solver already and waits for its job.

Loading takes seconds, longer than many a simulation: one is kept ready while a window is open.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import solver_environment
from .solver_environment import Command


@dataclass(frozen=True)
class _Standby:
    process: subprocess.Popen[bytes]
    command: Command


_ready: _Standby | None = None


def prepare() -> None:
    """Starts a worker that waits, unless there is one. Without a solver it does nothing."""
    global _ready
    if solver_environment.find() is None:
        return
    command = solver_environment.worker_command("--standby")
    if _ready is not None and _ready.command == command and _ready.process.poll() is None:
        return
    stop()
    _ready = _Standby(
        solver_environment.start_worker(command, subprocess.DEVNULL, Path.home()), command
    )


def take(job_folder: Path, mesh_only: bool) -> subprocess.Popen[bytes] | None:
    """The waiting worker, sent to work; None when there is none that fits."""
    global _ready
    standby, _ready = _ready, None
    if standby is None:
        return None
    if standby.command != solver_environment.worker_command("--standby"):
        _end(standby)  # the preferences name another Python now
        return None
    order = json.dumps({"job": str(job_folder.resolve()), "mesh_only": mesh_only}) + "\n"
    assert standby.process.stdin is not None
    try:
        standby.process.stdin.write(order.encode())
        standby.process.stdin.flush()
    except OSError:  # it has ended; an ordinary start will say why
        _end(standby)
        return None
    return standby.process


def stop() -> None:
    """Ends the waiting worker."""
    global _ready
    standby, _ready = _ready, None
    if standby is not None:
        _end(standby)


def _end(standby: _Standby) -> None:
    standby.process.kill()  # it has nothing to lose
    standby.process.communicate()
