# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.core JOB``: simulates a job folder."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from . import first_use
from .errors import INTERRUPTED, SuppleError
from .garbage import kept_for_good
from .job import memory
from .job.files import why_not_written
from .job.parent import stop_when_input_closes

STOPPED = "stopped. The frames so far are kept, and the same command resumes.\n"
STANDARD_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate the job that the command line names; its exit status."""
    first_use.silence()
    try:
        _work(_parsed(arguments))
    except SuppleError as error:
        return _failed(str(error))
    except OSError as error:
        # The file is not the job's: it is a compiled loop. Not all errors say which.
        path = error.filename or os.environ.get("NUMBA_CACHE_DIR", "a compiled loop")
        return _failed(why_not_written(Path(path), error))
    except (MemoryError, RuntimeError) as error:
        if not memory.is_shortage(error):
            raise
        return _failed(memory.shortage_message(error))
    return 0


def _failed(why: str) -> int:
    # A full disk may hold standard error, too; the exit status reports it then.
    with contextlib.suppress(OSError):
        print(f"error: {why}", file=sys.stderr, flush=True)
    return 1


def _parsed(given_arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m supple.core", description="Simulate a job folder."
    )
    parser.add_argument("job", type=Path, nargs="?", help="the job folder")
    parser.add_argument(
        "--mesh-only", action="store_true", help="make the tetrahedra and stop before simulating"
    )
    parser.add_argument(
        "--stop-with-parent",
        action="store_true",
        help="stop when standard input closes, as it does when the program that started this ends",
    )
    parser.add_argument(
        "--standby",
        action="store_true",
        help="load the solver, then wait for the job on standard input",
    )
    parser.add_argument(
        "--ship",
        type=Path,
        metavar="FOLDER",
        help="compile all loops into a folder that is shipped with the extension",
    )
    parser.add_argument(
        "--serve", action="store_true", help="simulate the runs of sweeps that standard input names"
    )
    arguments = parser.parse_args(given_arguments)
    has_work = arguments.standby or arguments.ship or arguments.serve
    if arguments.job is None and not has_work:
        parser.error("Name a job folder.")
    return arguments


def _work(arguments: argparse.Namespace) -> None:
    # Loaded here, as Ctrl-C may come meanwhile; a quarter of the time would go into garbage.
    with kept_for_good():
        from .job.warm_up import ship
        from .job.worker import wait_for_job, work

    if arguments.ship:
        ship(arguments.ship)
        return
    if arguments.serve:
        from .sweep.worker import serve

        serve()
    job = wait_for_job() if arguments.standby else arguments.job
    if arguments.stop_with_parent or arguments.standby:
        stop_when_input_closes()
    work(job, arguments.mesh_only)


def _stop_at_once(*_: object) -> NoReturn:
    """Ends this process. Files are whole at any moment, so it may.

    An exception instead can be lost in the packages that load or compute just then.
    """
    with contextlib.suppress(OSError):
        os.write(STANDARD_ERROR, STOPPED.encode())
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    # A parent that keeps Ctrl-C from its child has set the signal to be ignored.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop_at_once)
    status = main()
    # Not through the interpreter's own end: a thread may still be compiling in native code.
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(status)
