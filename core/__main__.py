# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.core JOB``: simulates a job folder."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .errors import SuppleError
from .worker import stop_when_input_closes, wait_for_job, work


def main() -> int:
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
    arguments = parser.parse_args()
    job = arguments.job
    if job is None and not arguments.standby:
        parser.error("which job folder?")
    if arguments.standby:
        job = wait_for_job()
    if arguments.stop_with_parent or arguments.standby:
        stop_when_input_closes()
    try:
        work(job, arguments.mesh_only)
    except SuppleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    # Not through the interpreter's own end: a thread may still be compiling in native code.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
