# SPDX-License-Identifier: GPL-3.0-or-later
"""From Simulate to the first frame in the scene: capture, job folder, worker, tetrahedra, step."""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import bpy

import supple
from supple.addon import runs

REPEATS = 5
RESOLUTION = 13


def run() -> dict[str, Any]:
    bpy.ops.wm.read_factory_settings()
    supple.register()
    try:
        seconds = [_first_frame() for _ in range(REPEATS + 1)][1:]
    finally:
        supple.unregister()
    return {
        "tets": bpy.context.scene.get("tets"),
        "median_s": round(statistics.median(seconds), 3),
        "longest_s": round(max(seconds), 3),
    }


def _first_frame() -> float:
    """Seconds until the monkey shows the first simulated frame; a new simulation each time."""
    with tempfile.TemporaryDirectory() as cache:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.mesh.primitive_monkey_add(location=(0.0, 0.0, 2.0))
        bpy.context.object.modifiers.new("Subdivision", "SUBSURF").levels = 2
        bpy.ops.supple.add()
        bpy.context.object.supple.resolution = RESOLUTION
        scene = bpy.context.scene
        scene.supple.cache_folder = cache
        began = time.perf_counter()
        simulation = runs.Simulation(bpy.context)
        while simulation.playback.last_frame < 1:
            simulation.step()
            time.sleep(0.005)
        scene.frame_set(scene.frame_start + 1)
        elapsed = time.perf_counter() - began
        simulation.cancel()
        (report,) = simulation._job.mesh_reports()
        scene["tets"] = report["tets"]
    return elapsed
