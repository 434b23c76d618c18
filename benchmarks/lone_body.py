# SPDX-License-Identifier: GPL-3.0-or-later
"""A body alone that touches itself, as new ones do, beside the same that does not.

Blender's monkey, 2 m tall and soft, falls half a metre; *Automatic*, Blender's default, takes
explicit steps. With contact and without in turns, in one process each case; of each frame the
quickest of all runs counts.

    python -m benchmarks.lone_body CASE    one of them, as JSON
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .printed import printed

FRAMES, REPEATS = 40, 3
EDGE_LENGTH, HEIGHT, YOUNG, POISSON = 0.232, 0.5, 3e4, 0.45
#: How often the visible mesh, which collides, is subdivided.
CASES = {"as it is": 0, "subdivided twice": 2}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(printed, "lone_body", name) for name in CASES}


def _measure(levels: int) -> dict[str, Any]:
    from supple.core import Contact, Ground, Scene, Simulator, SoftBody
    from supple.core.integrators import Automatic
    from supple.core.materials import StableNeoHookean

    from .monkey import surface

    mesh = surface(EDGE_LENGTH, HEIGHT, levels)
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON))
    first = Simulator(Scene([body], ground=Ground(), contact=Contact()), Automatic(), device="cpu")
    # Both take the tets that it was filled with.
    body = first.scene.bodies[0]
    scenes = {
        "with": Scene([body], ground=Ground(), contact=Contact()),
        "without": Scene([body], ground=Ground()),
    }
    seconds = {name: np.full(FRAMES, np.inf) for name in scenes}
    integrators: dict[str, list[str]] = {}
    for _ in range(REPEATS + 1):
        for name, scene in scenes.items():
            simulator = Simulator(scene, Automatic(), device="cpu")
            reports = [frame.report for frame in simulator.run(FRAMES)]
            taken = np.array([report.seconds for report in reports])
            # The first run compiles loops that are not kept yet.
            if name in integrators:
                seconds[name] = np.minimum(seconds[name], taken)
            integrators[name] = [report.integrator for report in reports]
    return {
        "triangles": len(mesh.triangles),
        "tets": len(first.system.meshes[0].tets),
        **{f"{name}_contact": _spread(seconds[name], integrators[name]) for name in scenes},
        "ratio_of_means": _ratio(np.mean, seconds),
        "ratio_of_medians": _ratio(np.median, seconds),
    }


def _spread(seconds: np.ndarray, integrators: list[str]) -> dict[str, Any]:
    from supple.core.integrators import SymplecticEuler

    return {
        "mean_ms": round(1e3 * float(seconds.mean()), 2),
        "median_ms": round(1e3 * float(np.median(seconds)), 2),
        "most_ms": round(1e3 * float(seconds.max()), 1),
        "implicit_frames": sum(name != SymplecticEuler.label for name in integrators),
    }


def _ratio(of: Callable[[np.ndarray], Any], seconds: dict[str, np.ndarray]) -> float:
    return round(float(of(seconds["with"]) / of(seconds["without"])), 2)


if __name__ == "__main__":
    print(json.dumps(_measure(CASES[sys.argv[1]])))
