# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.core JOB``: simulates a job folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .errors import SuppleError
from .worker import stop_when_input_closes, work


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m supple.core", description=__doc__)
    parser.add_argument("job", type=Path, help="the job folder")
    parser.add_argument(
        "--mesh-only", action="store_true", help="make the tetrahedra and stop before simulating"
    )
    parser.add_argument(
        "--stop-with-parent",
        action="store_true",
        help="stop when standard input closes, as it does when the program that started this ends",
    )
    arguments = parser.parse_args()
    if arguments.stop_with_parent:
        stop_when_input_closes()
    try:
        work(arguments.job, mesh_only=arguments.mesh_only)
    except SuppleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
