# SPDX-License-Identifier: GPL-3.0-or-later
"""Three monkeys filled by fTetWild fall on each other and the ground, 48 frames of a 24th of a
second in implicit steps: squeezed thin parts, tets that are pressed flat, much that touches itself.

Which tets fTetWild finds differs from one call to the next, so that every case takes several.

After every frame, outside of what is timed, the exact test of the verification looks for
intersections.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from supple.core import Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.verification.scene_intersections import scene_intersections

from .monkey import tetrahedra

EDGE_LENGTH, YOUNG, POISSON, FRICTION = 0.22, 5e4, 0.4, 0.3
MONKEYS, FRAMES, FILLINGS = 3, 48, 3
#: Sizes of the monkeys, contact distances in metres (None by default), shares of a size aside.
CASES = ((0.5, None, 0.0), (1.0, None, 0.0), (1.0, 5e-3, 0.3), (0.3, 5e-3, 0.2))


def run() -> list[dict[str, Any]]:
    meshes = [tetrahedra(EDGE_LENGTH, "ftetwild") for _ in range(FILLINGS)]
    return [_measure(mesh, *case) for case in CASES for mesh in meshes]


def scene(mesh: TetMesh, size: float, distance: float | None, aside: float) -> Scene:
    """Above each other, upright, or turned any way where they are aside of each other."""
    bodies = []
    for index in range(MONKEYS):
        turn = Rotation.random(random_state=index).as_matrix() if aside else np.eye(3)
        place = [aside * (index % 2), 0.5 * aside * (index // 2), 1.3 + 2.4 * index]
        body = mesh.with_vertices(size * (mesh.vertices @ turn.T + np.array(place)))
        bodies.append(SoftBody(body, StableNeoHookean(YOUNG, POISSON), name=f"Monkey {index}"))
    contact = Contact(friction=FRICTION, distance=distance)
    return Scene(bodies, ground=Ground(), contact=contact)


def _measure(mesh: TetMesh, size: float, distance: float | None, aside: float) -> dict[str, Any]:
    case = scene(mesh, size, distance, aside)
    # Loops that are not compiled yet are compiled by a frame that does not count.
    next(Simulator(case, ImplicitEuler(), device="cpu").run(1))
    simulator = Simulator(case, ImplicitEuler(), device="cpu")
    reports, cpu, intersections = [], [], 0
    frames = simulator.run(FRAMES)
    for _ in range(FRAMES):
        began = time.process_time()
        reports.append(next(frames).report)
        cpu.append(time.process_time() - began)
        intersections += scene_intersections(simulator)
    seconds = [report.seconds for report in reports]
    return {
        "size": size,
        "distance": distance,
        "tets": MONKEYS * len(mesh.tets),
        "frames": len(reports),
        "s_a_frame": {"mean": round(statistics.mean(seconds), 2), "most": round(max(seconds), 2)},
        "cpu_s_a_frame": {"mean": round(statistics.mean(cpu), 2), "most": round(max(cpu), 2)},
        "iterations": sum(report.solver_statistics.iterations for report in reports),
        "most_iterations": max(report.solver_statistics.iterations for report in reports),
        "most_substeps": max(report.substeps for report in reports),
        "not_converged": sum(not report.solver_statistics.converged for report in reports),
        "intersections": intersections,
        "most_inverted_tets": max(report.inverted_tets for report in reports),
        "least_volume_ratio": round(min(r.minimum_volume_ratio for r in reports), 3),
        "least_gap_mm": round(
            1e3 * min(r.solver_statistics.minimum_distance or np.inf for r in reports), 4
        ),
    }
