# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact: ten jelly monkeys pile up in a bowl, and two blocks, the upper one turned, meet with
whole faces. Implicit Euler, one step a frame, and Automatic, which takes explicit ones here; 24
frames a second.

``at_the_height`` are the frames with at least nine tenths of the most contacts. After every frame,
outside of what is timed, the exact test of the verification looks for intersections.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from supple.core import Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import Automatic, ImplicitEuler, Integrator
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block
from supple.verification.scene_intersections import scene_intersections

from .monkey import tetrahedra
from .pile import DAMPING, FRAMES, FRICTION, POISSON, YOUNG, placed, scene

EDGE_LENGTH = 0.28
CELLS, SIDE, TURN = (11, 11, 10), 0.3, 0.3
HEIGHT, WARM_UP = 0.9, 7


def run() -> list[dict[str, Any]]:
    monkeys = placed(tetrahedra(EDGE_LENGTH))
    scenes = {"ten monkeys in a bowl": scene(monkeys), "two blocks": _blocks()}
    integrators = (ImplicitEuler(), Automatic())
    return [_measure(name, scene, each) for name, scene in scenes.items() for each in integrators]


def _blocks() -> Scene:
    lower, upper = (block(CELLS, (SIDE, SIDE, SIDE), (-0.5 * SIDE,) * 3) for _ in range(2))
    low = lower.vertices + np.array([0.0, 0.0, 0.51 * SIDE])
    turn = Rotation.from_euler("z", TURN).as_matrix()
    high = upper.vertices @ turn.T + np.array([0.0, 0.0, 1.55 * SIDE])
    bodies = [
        _body(lower.with_vertices(low), "Lower"),
        _body(upper.with_vertices(high), "Upper"),
    ]
    return Scene(bodies, ground=Ground(), contact=Contact(friction=FRICTION))


def _body(mesh: TetMesh, name: str) -> SoftBody:
    return SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), damping=DAMPING, name=name)


def _measure(name: str, scene: Scene, integrator: Integrator) -> dict[str, Any]:
    # Loops that are not compiled yet are compiled by frames that do not count.
    for _ in Simulator(scene, integrator, device="cpu").run(WARM_UP):
        pass
    simulator = Simulator(scene, integrator, device="cpu")
    reports, intersections = [], 0
    for frame in simulator.run(FRAMES):
        reports.append(frame.report)
        intersections += scene_intersections(simulator)
    most = max(report.solver_statistics.contacts for report in reports)
    high = [report for report in reports if report.solver_statistics.contacts >= HEIGHT * most]
    meshes = simulator.system.meshes
    return {
        "scene": name,
        "integrator": type(integrator).__name__,
        "taken": sorted({report.integrator for report in reports}),
        "substeps": max(report.substeps for report in reports),
        "tets": sum(len(mesh.tets) for mesh in meshes),
        "vertices": sum(len(mesh.vertices) for mesh in meshes),
        "frames": len(reports),
        "most_contacts": most,
        "s_a_frame": _spread([report.seconds for report in reports]),
        "s_a_frame_at_the_height": _spread([report.seconds for report in high]),
        "iterations": _spread([report.solver_statistics.iterations for report in reports]),
        "not_converged": sum(not report.solver_statistics.converged for report in reports),
        "intersections": intersections,
        "least_volume_ratio": round(min(r.minimum_volume_ratio for r in reports), 3),
        "moving_at_the_end_j": round(reports[-1].energies.kinetic, 2),
        "least_gap_mm": round(
            1e3 * min(r.solver_statistics.minimum_distance or np.inf for r in reports), 4
        ),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 2), "most": round(max(values), 2)}
