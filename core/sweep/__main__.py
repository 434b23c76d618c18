# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m supple.core.sweep SCENE LIST``: a sweep of the scene of a job folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import INTERRUPTED, SceneError, SuppleError
from ..job import Job
from ..job.parent import stop_when_input_closes
from ..sweep_options import add_options
from . import sweep_file
from .driver import make, run_made, write_plan
from .results import PAGE


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m supple.core.sweep", description="Simulate a scene with many settings."
    )
    parser.add_argument("scene", type=Path, help="a job folder")
    parser.add_argument("list", type=Path, help="the list of settings, in TOML or JSON")
    parser.add_argument("--output", type=Path, required=True, help="the folder of the sweep")
    parser.add_argument("--stop-with-parent", action="store_true", help=argparse.SUPPRESS)
    add_options(parser)
    options = parser.parse_args(words)
    if options.stop_with_parent:
        stop_when_input_closes()
    try:
        return _sweep(options)
    except SuppleError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        message = "stopped. Finished runs are kept, and the same command resumes."
        print(f"error: {message}", file=sys.stderr, flush=True)
        return INTERRUPTED


def _sweep(options: argparse.Namespace) -> int:
    sweep, script = sweep_file.read(options.list)
    job = Job(options.scene)
    try:
        folder = make(sweep, job.scene, job.settings, options.output, script)
    except SceneError as error:
        raise sweep_file.located(options.list, error) from error
    if options.dry_run:
        count, done = write_plan(folder)
        _log(f"{count} runs, {done} of them done")
        print(folder / "plan.csv", flush=True)
        return 0
    rows = run_made(folder, options.workers, options.scheduler, options.local_cluster, _log)
    print(folder / PAGE, flush=True)
    failed = [row for row in rows if row.get("error")]
    if failed:
        first = f"the first is run {failed[0]['index']}: {failed[0]['error']}"
        raise SuppleError(f"{len(failed)} of {len(rows)} runs failed; {first}")
    return 0


def _log(message: str) -> None:
    print(f"Supple: {message}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
