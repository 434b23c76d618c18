# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep on one and two processes, and on a Dask cluster of as many; and the planner.

The overhead is that of all runs but the first, during which a process loads the solver. It is taken
from processor seconds, each beside those of the same runs alone just before, since a machine is not
always equally fast.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from supple.core import Ground, Scene, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings
from supple.core.job.worker import work
from supple.core.machine import kilobytes, thread_variables
from supple.core.materials import NeoHookean
from supple.core.sweep import Span, Sweep, make
from supple.core.sweep import cluster as on_cluster
from supple.core.sweep import local as on_processes
from supple.core.sweep.folder import SCENE, Row
from supple.core.sweep.results import write_page, write_table
from supple.core.sweep.variants import changed
from supple.core.version import version

RUNS, FRAMES, REPEATS = 9, 72, 3
EDGE_M = 0.12
SAMPLE = Path(__file__).resolve().parents[1] / "sample_scenes" / "jelly_drop.blend"
SWEEP = Sweep(grid={"Jelly.young": Span(2e4, 2e5, RUNS, is_log=True)}, frames=FRAMES)
A_SIDE = 100
PLANNED = f"""
[grid]
"Jelly Monkey.young" = {{ from = 3e3, to = 3e5, count = {A_SIDE}, log = true }}
"Jelly Monkey.poisson" = {{ from = 0.0, to = 0.45, count = {A_SIDE} }}
"""
_SAMPLED_SECONDS = 0.02
_CORNERS = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def run() -> dict[str, Any]:
    """Seconds of a sweep in each way, the overhead beside its runs, and what the planner needs."""
    # Compiles what is not, and is not measured.
    _alone()
    load = round(os.getloadavg()[0], 1)
    alone: list[float] = []
    seconds: dict[str, list[float]] = {name: [] for name in _WAYS}
    overheads: dict[str, list[float]] = {name: [] for name in _BESIDE_ALONE}
    for _ in range(REPEATS):
        for name in _BESIDE_ALONE:
            alone.append(_alone())
            total, processor_s = _sweep(name)
            seconds[name].append(total)
            overheads[name].append(processor_s / alone[-1] - 1.0)
    for name in _WAYS:
        if name not in overheads:
            seconds[name].append(_sweep(name)[0])
    one = min(seconds["1 process"])
    rows = []
    for name, measured in seconds.items():
        row: dict[str, Any] = {
            "way": name,
            "seconds": round(min(measured), 2),
            "times_faster": round(one / min(measured), 2),
        }
        if name in overheads:
            row["overhead"] = round(statistics.median(overheads[name]), 3)
        rows.append(row)
    return {
        "runs": RUNS,
        "frames": FRAMES,
        "run_processor_s": round(statistics.median(alone) / (RUNS - 1), 2),
        "load": load,
        "ways": rows,
        "planner": _planner(),
    }


def _scene() -> Scene:
    corners = np.array(_CORNERS) + np.array([0.0, 0.0, 0.2])
    triangles = [t for a, b, c, d in _FACES for t in ([a, b, c], [a, c, d])]
    mesh = SurfaceMesh(corners, np.array(triangles), edge_length=EDGE_M)
    return Scene([SoftBody(mesh, NeoHookean(5e4, 0.4), name="Jelly")], ground=Ground())


def _settings() -> Settings:
    return Settings(FRAMES, device="cpu")


def _alone() -> float:
    """Processor seconds of all runs but the first, one after another, without a sweep."""
    code = "from supple.benchmarks.sweep_scaling import runs_alone; print(runs_alone())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **thread_variables(1)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def runs_alone() -> float:
    """``_alone``, in a process of its own."""
    began = 0.0
    with tempfile.TemporaryDirectory() as name:
        for index in range(RUNS):
            if index == 1:
                began = _processor_seconds()
            job = Path(name) / str(index)
            Job.create(job, *changed(_scene(), _settings(), SWEEP.values(index)))
            work(job)
        return _processor_seconds() - began


_WAYS = {
    "1 process": (on_processes.rows, 1),
    "2 processes": (on_processes.rows, 2),
    "1 worker of Dask": (on_cluster.rows, 1),
    "2 workers of Dask": (on_cluster.rows, 2),
}
# Overheads are those beside the same runs in one process.
_BESIDE_ALONE = ("1 process", "1 worker of Dask")


def _sweep(way: str) -> tuple[float, float]:
    """Seconds of a whole sweep, and processor seconds of all but its first run, which the processes
    of a cluster take with them when they end."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = make(SWEEP, _scene(), _settings(), name)
        rows: list[Row] = []
        times: list[float] = []
        for row in _rows(way, folder):
            times.append(_processor_seconds())
            rows.append({**SWEEP.values(row["index"]), **row})
        began_page = time.process_time()
        write_table(folder, rows)
        write_page(folder, rows, SWEEP.names)
        page_s = time.process_time() - began_page
    if len(rows) != RUNS or any(row.get("error") for row in rows):
        raise RuntimeError(f"{way}: {rows}")
    return time.perf_counter() - began, times[-1] - times[0] + page_s


def _processor_seconds() -> float:
    """Processor seconds of this process and its children so far."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.process_time()
        + ended.ru_utime
        + ended.ru_stime
        + sum(map(_living_seconds, _family(os.getpid())[1:]))
    )


def _living_seconds(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _rows(way: str, folder: Path) -> Iterator[Row]:
    requests = iter(
        [{"folder": str(folder), "index": index, "version": version()} for index in range(RUNS)]
    )
    rows, count = _WAYS[way]
    if rows is on_processes.rows:
        return on_processes.rows(requests, count, 1)
    return on_cluster.rows(requests, 1, None, count, print)


def _planner() -> dict[str, Any]:
    """Seconds and memory of a dry run, by the planner and by the command that reads the file."""
    with tempfile.TemporaryDirectory() as name:
        listed = Path(name) / "sweep.toml"
        listed.write_text(PLANNED, encoding="utf-8")
        module = [sys.executable, "-m"]
        output = Path(name) / "of_file"
        words = [str(listed), "--dry-run", "--output"]
        command = [*module, "supple", "sweep", str(SAMPLE), *words, str(output)]
        whole_s, whole_bytes = _measured(command)
        scene = str(output / SCENE)
        planner = [*module, "supple.core.sweep", scene, *words, str(Path(name) / "planned")]
        seconds, peak = min(_measured(planner) for _ in range(2))
    return {
        "runs": A_SIDE**2,
        "seconds": round(seconds, 1),
        "peak_mb": round(peak / 1e6),
        "with_blender_seconds": round(whole_s, 1),
        "with_blender_peak_mb": round(whole_bytes / 1e6),
    }


def _measured(command: list[str]) -> tuple[float, int]:
    """Seconds of a program, and the most resident memory of it and its children, summed (Linux)."""
    began, peak = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident, _family(process.pid))))
            time.sleep(_SAMPLED_SECONDS)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - began, peak


def _family(pid: int) -> list[int]:
    """The ids of a process, of its children and of theirs."""
    members = [pid]
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:  # it has ended
            continue
        members += [member for child in children for member in _family(int(child))]
    return members


def _resident(pid: int) -> int:
    """The bytes of a process in memory; 0 once it has ended."""
    return kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Rss") or 0
