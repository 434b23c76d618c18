# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in processes of their own, which have the solver at once: to load it takes seconds."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from multiprocessing import context
from multiprocessing.process import BaseProcess
from pathlib import Path

from supple.core.job import Job, lock
from supple.core.job.worker import work

#: Exit status of what died before a change to a file.
DIED = 9
#: The file that says that a folder is held.
HELD = "held"

_IS_FORKED = "forkserver" in multiprocessing.get_all_start_methods()
_Process: type[BaseProcess] = context.ForkServerProcess if _IS_FORKED else context.SpawnProcess
# What has loaded the solver and computed nothing forks well.
multiprocessing.set_forkserver_preload([__name__])


def started(function: Callable[..., object], *arguments: object) -> BaseProcess:
    """A process that calls a function of this module, or of another that can be imported."""
    process = _Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def worked(folder: Path) -> int | None:
    """Simulates a job's folder; the exit status of the process that did."""
    process = started(work_quietly, folder)
    process.join()
    return process.exitcode


def killed_at(job: Job, frame: int) -> BaseProcess:
    """Simulates a job until a frame is there, and is killed then."""
    process = started(work_quietly, job.folder)
    while not job.has_frame(frame):
        assert process.exitcode in (None, 0)
        time.sleep(0.001)
    process.kill()
    process.join()
    return process


def work_quietly(folder: Path) -> None:
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
        work(folder)


def printed_by(module: str, folder: Path, kept: Path) -> str:
    """What a module prints that lies in a folder, its compiled loops kept in another."""
    output = folder / "printed.txt"
    process = started(run_module, module, folder, kept, output)
    process.join()
    assert process.exitcode == 0
    return output.read_text()


def run_module(module: str, folder: Path, kept: Path, output: Path) -> None:
    """What it prints goes into a file."""
    os.environ["NUMBA_CACHE_DIR"] = str(kept)
    import_module("numba.core.config").reload_config()
    # Bytecode is told from what replaces its source by seconds and size.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    with output.open("w") as file, redirect_stdout(file):
        import_module(module)


def hold(folder: Path) -> None:
    """Holds a job's folder until killed."""
    with lock.hold(folder):
        (folder / HELD).touch()
        time.sleep(600.0)


def work_and_die_before_change(folder: Path, changes: int) -> None:
    """As killed, after so many changes to files in a job's folder."""
    left = changes

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        is_write = event in ("os.rename", "os.remove") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_WRONLY
        )
        if is_write and str(arguments[0]).startswith(str(folder)):
            left -= 1
            if left < 0:
                os._exit(DIED)

    sys.addaudithook(count)
    work_quietly(folder)
