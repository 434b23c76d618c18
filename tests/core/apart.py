# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in processes of their own, which have the solver at once: to load it takes seconds."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from multiprocessing import context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

# The solver, which a worker loads when it needs it.
import supple.core.job.run  # noqa: F401
from supple.core.job import Job, lock
from supple.core.job.worker import work

#: Exit status of what died before a change to a file.
DIED = 9
#: The file that says that a folder is held.
HELD = "held"

# Whether processes fork from one that has loaded the solver.
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


def printed_by(module: str, folder: Path, cache: Path | None = None) -> str:
    """Return the output of a module in a folder, with its compiled kernels cached in another
    folder, or where those of others are."""
    output = folder / "printed.txt"
    process = started(run_module, module, folder, cache, output)
    process.join()
    assert process.exitcode == 0
    return output.read_text()


def run_module(module: str, folder: Path, cache: Path | None, output: Path) -> None:
    """Run a module and write its output into a file."""
    if cache is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(cache)
        import_module("numba.core.config").reload_config()
    # Bytecode is told from what replaces its source by seconds and size.
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    with output.open("w") as file, redirect_stdout(file):
        import_module(module)


def program(
    words: Sequence[str], output: int, environment: Mapping[str, str] = os.environ
) -> Program | subprocess.Popen[bytes]:
    """``python -m supple.core``.

    Args:
        words: of its command line.
        output: the descriptor that it prints to.
    """
    if _IS_FORKED:
        return Program(words, output, environment)
    return subprocess.Popen(
        [sys.executable, "-m", "supple.core", *words],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env=environment,
    )


class Program:
    """A forked program, used as ``subprocess.Popen`` is; arguments as of ``program``."""

    def __init__(self, words: Sequence[str], output: int, environment: Mapping[str, str]) -> None:
        reading, writing = multiprocessing.Pipe(duplex=False)
        printed = Connection(os.dup(output), readable=False)
        self._process = started(_run_program, words, dict(environment), reading, printed)
        self.pid, self.terminate, self.kill = (
            getattr(self._process, name) for name in ("pid", "terminate", "kill")
        )
        self.stdin = os.fdopen(os.dup(writing.fileno()), "wb")
        for end in (reading, writing, printed):
            end.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("supple.core", timeout or 0.0)
        return self.returncode

    def communicate(self) -> None:
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.wait()


def _run_program(
    words: Sequence[str], environment: dict[str, str], reading: Connection, printed: Connection
) -> None:
    for end, standard in ((reading, 0), (printed, 1), (printed, 2)):
        os.dup2(end.fileno(), standard)
    reading.close()
    printed.close()
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    sys.argv = ["supple.core", *words]
    runpy.run_module("supple.core", run_name="__main__", alter_sys=True)


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
