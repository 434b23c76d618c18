# SPDX-License-Identifier: GPL-3.0-or-later
"""From Simulate to the first frame in the scene: capture, job folder, worker, tetrahedra, step.

After an installation nothing is compiled on the machine. What then comes with the extension is
measured with the files of the zip in a new folder.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import bpy

import supple
from supple.addon import runs
from supple.addon.worker import solver_environment, warm_worker
from supple.core.job import Job
from supple.tools import extension_zip

REPEATS = 5
RESOLUTION = 13
APART_M = 2.5
# What an artist takes at least between adding a body and pressing Simulate.
LOADING_SECONDS = 5.0


def run() -> dict[str, Any]:
    bpy.ops.wm.read_factory_settings()
    supple.register()
    try:
        alone = [_first_frame(False) for _ in range(REPEATS + 1)][1:]
        waiting = [_first_frame(True) for _ in range(REPEATS)]
        first, first_of_two = _first_of_all(1), _first_of_all(2)
        with _installed():
            shipped, shipped_two = _first_of_all(1), _first_of_all(2)
            loaded, loaded_two = _first_of_all(1, True), _first_of_all(2, True)
    finally:
        supple.unregister()
    return {
        "tets": alone[0][1],
        "new_worker_s": _summary(alone),
        "waiting_worker_s": _summary(waiting),
        "nothing_compiled_s": round(first, 1),
        "two_bodies_nothing_compiled_s": round(first_of_two, 1),
        "shipped_loops_s": round(shipped, 1),
        "two_bodies_shipped_loops_s": round(shipped_two, 1),
        "shipped_loops_waiting_worker_s": round(loaded, 1),
        "two_bodies_shipped_loops_waiting_worker_s": round(loaded_two, 1),
    }


def _summary(measured: list[tuple[float, int]]) -> dict[str, float]:
    seconds = [first for first, _ in measured]
    return {"median": round(statistics.median(seconds), 3), "longest": round(max(seconds), 3)}


def _first_of_all(bodies: int, with_standby: bool = False) -> float:
    """Seconds until the first frame that anybody simulates with an installation."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty,
        patch.dict(os.environ, NUMBA_CACHE_DIR=empty),
    ):
        return _first_frame(with_standby, bodies)[0]


@contextmanager
def _installed() -> Iterator[None]:
    """Lets the worker run from a folder with what `dev.py build --compiled` packs."""
    root = solver_environment.ROOT
    with tempfile.TemporaryDirectory() as name:
        folder, loops = Path(name), Path(name) / "loops"
        subprocess.run(
            [sys.executable, "-s", "-P", str(root / "core" / "launch.py"), "--ship", str(loops)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(root / "build" / "kernels")},
            check=True,
        )
        with zipfile.ZipFile(extension_zip.build(root, folder, loops)) as archive:
            archive.extractall(folder / "supple")
        with patch.object(solver_environment, "ROOT", folder / "supple"):
            yield


def _first_frame(with_standby: bool, bodies: int = 1) -> tuple[float, int]:
    """Seconds until monkeys above each other show the first frame of a new simulation, and the tets
    of one."""
    with tempfile.TemporaryDirectory() as cache:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        for body in range(bodies):
            bpy.ops.mesh.primitive_monkey_add(location=(0.0, 0.0, 2.0 + APART_M * body))
            bpy.context.object.modifiers.new("Subdivision", "SUBSURF").levels = 2
            bpy.ops.supple.add()
            bpy.context.object.supple.resolution = RESOLUTION
        scene = bpy.context.scene
        scene.supple.cache_folder = cache
        if with_standby:
            warm_worker.prepare()
            time.sleep(LOADING_SECONDS)
        began = time.perf_counter()
        simulation = runs.Simulation(bpy.context)
        while simulation.playback.last_frame < 1:
            simulation.step()
            time.sleep(0.005)
        scene.frame_set(scene.frame_start + 1)
        elapsed = time.perf_counter() - began
        simulation.cancel()
        report, *_ = Job(next(Path(cache).iterdir())).mesh_reports()
    return elapsed, report["tets"]
