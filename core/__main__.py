# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.core JOB``: simulates a job folder."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import SuppleError

INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended


def main(words: Sequence[str] | None = None) -> int:
    """Simulates what the command line says; its exit status."""
    try:
        _work(_parsed(words))
    except SuppleError as error:
        return _ended(f"error: {error}", 1)
    except KeyboardInterrupt:
        return _ended(
            "stopped; the frames so far are kept, and the same command goes on", INTERRUPTED
        )
    return 0


def _parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m supple.core", description=__doc__)
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
    arguments = parser.parse_args(words)
    if arguments.job is None and not arguments.standby:
        parser.error("which job folder?")
    return arguments


def _work(arguments: argparse.Namespace) -> None:
    # Here, as Ctrl-C may come while they load.
    from .worker import stop_when_input_closes, wait_for_job, work

    job = arguments.job
    if arguments.standby:
        job = wait_for_job()
    if arguments.stop_with_parent or arguments.standby:
        stop_when_input_closes()
    work(job, arguments.mesh_only)


def _ended(text: str, status: int) -> int:
    # A full disk may hold standard error, too; the status says it then.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    status = main()
    # Not through the interpreter's own end: a thread may still be compiling in native code.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
