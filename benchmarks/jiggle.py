# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball that jiggles on a moving pose beside the same ball that falls, in explicit steps.

Both take 40 symplectic Euler steps a frame and touch nothing. Each frame is timed in processor
seconds, in turns. In one case the pose moves as a whole; in the other it bends and squeezes tets.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from supple.core import Goals, Scene, Simulator, Skin, SoftBody, SurfaceMesh
from supple.core.integrators import SymplecticEuler
from supple.core.materials import StableNeoHookean

from .printed import printed

FRAMES, SUBSTEPS, FRAME_TIME = 12, 40, 1.0 / 24.0
# 2 452 vertices, and 12 cells across.
SEGMENTS, RINGS, RADIUS, EDGE_LENGTH = 50, 50, 0.5, 1.0 / 12.0
FREQUENCY_HZ, DAMPING = 3.0, 0.5
# Of the bend, over a fifth of the diameter.
MAX_ANGLE_RAD = 1.0


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(printed, "jiggle", name) for name in CASES}


def _ball() -> SurfaceMesh:
    turns = np.linspace(0.0, 2.0 * math.pi, SEGMENTS, endpoint=False)
    heights = np.linspace(0.0, math.pi, RINGS + 1)[1:-1, None]
    rows = [np.sin(heights) * np.cos(turns), np.sin(heights) * np.sin(turns)]
    rows.append(np.cos(heights) + 0.0 * turns)
    ends = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]
    points = np.concatenate([np.stack(rows, axis=-1).reshape(-1, 3), ends])
    around = np.arange(SEGMENTS)
    after, top = (around + 1) % SEGMENTS, len(points) - 2
    triangles = [np.stack([np.full(SEGMENTS, top), around, after], axis=1)]
    for ring in range(RINGS - 2):
        first = ring * SEGMENTS
        a, b = first + around, first + after
        c, d = a + SEGMENTS, b + SEGMENTS
        triangles += [np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)]
    last = (RINGS - 2) * SEGMENTS
    triangles.append(np.stack([last + around, np.full(SEGMENTS, top + 1), last + after], axis=1))
    return SurfaceMesh(RADIUS * points, np.concatenate(triangles), edge_length=EDGE_LENGTH)


def _moved(points: np.ndarray) -> np.ndarray:
    """To and fro, turning about the vertical axis."""
    times = np.arange(FRAMES + 1) / FRAMES
    turns = np.sin(2.0 * math.pi * times)
    return np.stack([_turned(points, turn, 2) + np.array([turn, 0.0, 0.0]) for turn in turns])


def _bent(points: np.ndarray) -> np.ndarray:
    """The upper half turned about the middle, as linear blend skinning has it."""
    share = np.clip(0.5 + points[:, 2:] / (0.4 * RADIUS), 0.0, 1.0)
    angles = MAX_ANGLE_RAD * np.arange(FRAMES + 1) / FRAMES
    return np.stack([points + share * (_turned(points, angle, 0) - points) for angle in angles])


def _turned(points: np.ndarray, angle: float, axis: int) -> np.ndarray:
    a, b = (axis + 1) % 3, (axis + 2) % 3
    out, cosine, sine = points.copy(), math.cos(angle), math.sin(angle)
    out[:, a] = cosine * points[:, a] - sine * points[:, b]
    out[:, b] = sine * points[:, a] + cosine * points[:, b]
    return out


CASES = {"moved": _moved, "bent": _bent}


def _measure(path: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    torch.set_num_threads(1)  # as in the worker

    surface = _ball()
    points = surface.vertices
    free = SoftBody(surface, StableNeoHookean(1e5, 0.45), skin=Skin(points), damping=DAMPING)
    goals = Goals(np.arange(len(points)), path(points), 1.0, FREQUENCY_HZ, sag_free=True)
    jiggling = replace(free, skin=Skin(points, goals=goals))
    simulators = {
        name: Simulator(
            Scene([body]), SymplecticEuler(), frame_time=FRAME_TIME, substeps=SUBSTEPS, device="cpu"
        )
        for name, body in (("free", free), ("jiggling", jiggling))
    }
    runs = {name: simulator.run(FRAMES) for name, simulator in simulators.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(FRAMES):
        for name, frames in runs.items():
            began = time.process_time()
            next(frames)
            seconds[name].append(time.process_time() - began)
    # The first two load loops.
    medians = {name: statistics.median(values[2:]) for name, values in seconds.items()}
    return {
        "vertices": len(points),
        "tets": len(simulators["free"].system.meshes[0].tets),
        "substeps": SUBSTEPS,
        "free_ms": round(1e3 * medians["free"], 1),
        "jiggling_ms": round(1e3 * medians["jiggling"], 1),
        "ratio": round(medians["jiggling"] / medians["free"], 2),
    }


if __name__ == "__main__":
    print(json.dumps(_measure(CASES[sys.argv[1]])))
