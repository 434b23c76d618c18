# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of a heap against its contacts: monkeys of half a thousand tets, four on top of each
other, fall into a bowl whose width grows with their number."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from supple.core import Contact, Scene, Simulator, SoftBody
from supple.core.integrators import Automatic
from supple.core.materials import StableNeoHookean
from supple.verification.collider_meshes import bowl
from supple.verification.scene_intersections import scene_intersections

from .monkey import tetrahedra
from .pile import DAMPING, FRICTION, POISSON, YOUNG

EDGE_LENGTH, SIZE, APART_M, LOWEST_M = 0.45, 0.26, 0.68, 1.25
LAYERS, SIDES, FRAMES = 4, (2, 3, 4, 5), 40
#: Frames with at least this share of the most contacts.
HEIGHT = 0.8


def run() -> dict[str, Any]:
    # Loops that are not compiled yet are compiled by a heap that does not count.
    _measure(1)
    heaps = [_measure(side) for side in SIDES]
    contacts, seconds = (
        np.log([heap[name] for heap in heaps]) for name in ("contacts", "s_a_frame")
    )
    return {"heaps": heaps, "exponent": round(float(np.polyfit(contacts, seconds, 1)[0]), 2)}


def _measure(side: int) -> dict[str, Any]:
    scene = _scene(side)
    simulator = Simulator(scene, Automatic(), device="cpu")
    contacts, seconds, intersections = [], [], 0
    for frame in simulator.run(FRAMES):
        contacts.append(frame.report.solver_statistics.contacts)
        seconds.append(frame.report.seconds)
        intersections += scene_intersections(simulator)
    is_high = np.array(contacts) >= HEIGHT * max(contacts)
    return {
        "bodies": len(scene.bodies),
        "tets": sum(len(mesh.tets) for mesh in simulator.system.meshes),
        "contacts": round(float(np.array(contacts)[is_high].mean())),
        "s_a_frame": round(float(np.array(seconds)[is_high].mean()), 3),
        "median_s_a_frame": round(float(np.median(seconds)), 3),
        "most_s_a_frame": round(max(seconds), 3),
        "intersections": intersections,
    }


def _scene(side: int) -> Scene:
    mesh, bodies = tetrahedra(EDGE_LENGTH), []
    for index in range(side * side * LAYERS):
        layer, place = divmod(index, side * side)
        x, y = (APART_M * (each - 0.5 * (side - 1)) for each in divmod(place, side))
        turn = Rotation.random(random_state=index).as_matrix()
        centre = np.array([x, y, LOWEST_M + APART_M * layer])
        placed = mesh.with_vertices(SIZE * mesh.vertices @ turn.T + centre)
        material = StableNeoHookean(YOUNG, POISSON)
        bodies.append(SoftBody(placed, material, damping=DAMPING, name=f"Monkey {index}"))
    wide = bowl(0.5 * side + 0.4, 0.9, 14, 48)
    return Scene(bodies, colliders=[wide], contact=Contact(friction=FRICTION))
