# SPDX-License-Identifier: GPL-3.0-or-later
"""From the description of a sweep to its table, pictures and plots."""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import SuppleError
from ..garbage import uncollected
from ..job import Job, Settings, digest, lock
from ..job.files import read_json, why_not_written, write_json
from ..job.settings import array_hashes
from ..scene.scene import Scene
from ..version import version
from . import local
from .folder import MEASURES, PLAN, RUNS, SCENE, SCRIPT, Row
from .plan import Sweep
from .results import write_page, write_table
from .variants import changed

_LOG_SECONDS = 1.0

Log = Callable[[str], object]


def make(
    sweep: Sweep, scene: Scene, settings: Settings, folder: Path | str, script: Path | None = None
) -> Path:
    """Write the folder of a sweep, the input of its workers. Runs that it holds stay.

    Args:
        sweep: the settings to vary.
        scene, settings: that all other settings are taken from.
        folder: on a disk that all workers share.
        script: a Python file with a function ``measure(job)``; None for none.

    Returns:
        The folder.

    Raises:
        SuppleError: a setting cannot be varied so, or the folder cannot be written.
    """
    folder = Path(folder).absolute()
    if sweep.frames is not None:
        settings = replace(settings, frame_count=sweep.frames, pre_roll=0)
    # Each name once, before anything is run.
    changed(scene, settings, sweep.values(0))
    try:
        (folder / RUNS).mkdir(parents=True, exist_ok=True)
        (folder / SCRIPT).unlink(missing_ok=True)
        if script is not None:
            shutil.copyfile(script, folder / SCRIPT)
    except OSError as error:
        raise SuppleError(why_not_written(folder, error, "folder")) from error
    Job.create(folder / SCENE, scene, settings)
    write_json(folder / PLAN, {"version": version(), "sweep": sweep.record()})
    return folder


def planned(folder: Path) -> Iterator[Row]:
    """Yield the settings of each run of a sweep, its digest and whether it is done, one by one.

    Raises:
        SuppleError: the settings of a run are not right; its number is named.
    """
    base, sweep = Job(folder / SCENE), _plan(folder)
    hashes = array_hashes(base.scene)
    begun = {each.name for each in (folder / RUNS).iterdir()}
    for index in range(len(sweep)):
        values = sweep.values(index)
        try:
            name = digest(*changed(base.scene, base.settings, values), hashes=hashes)
        except SuppleError as error:
            raise SuppleError(f"Run {index}: {error}") from error
        is_done = name in begun and (folder / RUNS / name / MEASURES).exists()
        yield {"index": index, "run": name, **values, "is_done": is_done}


def run(
    sweep: Sweep,
    scene: Scene,
    settings: Settings,
    folder: Path | str,
    *,
    script: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    local_cluster: int | None = None,
    log: Log = print,
) -> list[Row]:
    """Do the runs of a sweep that are not done, and write its results.

    Args:
        sweep, scene, settings, folder, script: as of ``make``.
        workers: number of processes on this machine; None for as many as processors and memory
            carry.
        scheduler: the address of a Dask scheduler whose workers do the runs.
        local_cluster: number of processes of a Dask cluster on this machine.
        log: takes news, a line at a time.

    Returns:
        A row for each run: its settings, measures and ``seconds``, or an ``error``.

    Raises:
        SuppleError: the sweep cannot go on. Finished runs are kept.
    """
    made = make(sweep, scene, settings, folder, script)
    return run_made(made, workers, scheduler, local_cluster, log)


def run_made(
    folder: Path,
    workers: int | None = None,
    scheduler: str | None = None,
    local_cluster: int | None = None,
    log: Log = print,
) -> list[Row]:
    """``run`` of a folder that ``make`` wrote."""
    sweep = _plan(folder)
    requests: Iterator[dict[str, Any]] = (
        {"folder": str(folder), "index": index, "version": version()} for index in range(len(sweep))
    )
    with lock.hold(folder):
        if scheduler is not None or local_cluster is not None:
            from . import cluster

            done = cluster.rows(requests, sweep.threads, scheduler, local_cluster, log)
        else:
            done = local.rows(requests, workers, sweep.threads)
        rows: list[Row] = []
        failed, logged_at = 0, time.monotonic()
        for row in done:
            values = sweep.values(row["index"])
            rows.append({"index": row["index"], "run": row.get("run", ""), **values, **row})
            failed += bool(row.get("error"))
            if time.monotonic() - logged_at >= _LOG_SECONDS or len(rows) == len(sweep):
                logged_at = time.monotonic()
                log(f"{len(rows)} of {len(sweep)} runs{f', {failed} failed' if failed else ''}")
        rows.sort(key=lambda row: int(row["index"]))
        write_table(folder, rows)
        write_page(folder, rows, sweep.names)
    return rows


def write_plan(folder: Path) -> tuple[int, int]:
    """Write the settings of all runs as ``plan.csv``; the number of runs, and of those done."""
    count = done = 0
    path = folder / "plan.csv"
    try:
        with path.open("w", encoding="utf-8", newline="") as file, uncollected():
            writer = csv.writer(file, lineterminator="\n")
            for row in planned(folder):
                if count == 0:
                    writer.writerow(row)
                writer.writerow(row.values())
                count += 1
                done += row["is_done"]
    except OSError as error:
        raise SuppleError(why_not_written(path, error, "folder")) from error
    return count, done


def _plan(folder: Path) -> Sweep:
    return Sweep.of(read_json(folder / PLAN)["sweep"])
