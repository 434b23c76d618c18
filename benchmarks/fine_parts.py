# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies whose meshes have parts far finer than their tetrahedra, beside the same without.

Each falls 3 cm onto the ground with *Automatic*, Blender's default. Processor seconds count, in the
median of the frames after the first two.

    python -m benchmarks.fine_parts CASE    one of them, as JSON
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from supple.verification.meshes import block

from .fine_shapes import Surface, ball, cape, chair, closed, conrod, gear, ring, together
from .printed import printed

FRAMES, SKIPPED, HEIGHT, YOUNG, POISSON = 8, 2, 0.03, 1e5, 0.45


def _cube(rivets: bool) -> Surface:
    """A cube of 1 m, with three rivets of 2 mm on its upper side on request."""
    mesh = block((4, 4, 4))
    used, faces = np.unique(mesh.surface, return_inverse=True)
    parts = [(mesh.vertices[used], faces.reshape(-1, 3).astype(np.int32))]
    if rivets:
        parts += [ball(0.002, np.array([0.5, y, 1.004])) for y in (0.25, 0.5, 0.75)]
    return together(parts)


def _disc(teeth: bool) -> Surface:
    """20 cm thick; with 60 teeth of 3 cm and bevels of 2 mm."""
    if not teeth:
        return closed([ring(np.full(32, 0.485), z) for z in (0.0, 0.2)])
    radii = np.tile([0.47, 0.5, 0.5, 0.47], 60)
    return closed(
        [ring(radii - inset, z) for inset, z in ((0.002, 0), (0, 0.002), (0, 0.198), (0.002, 0.2))]
    )


def _sheet(fine: bool) -> Surface:
    """A sheet of 1 m, 2 cm thick, with 40 or ten faces along each side."""
    count = 40 if fine else 10
    mesh = block((count, count, 1), (1.0, 1.0, 0.02))
    used, faces = np.unique(mesh.surface, return_inverse=True)
    return mesh.vertices[used], faces.reshape(-1, 3).astype(np.int32)


def _beside_a_cube(shape: Callable[[], Surface], is_fine: bool) -> Surface:
    """The shape, or a plain cube of a metre."""
    return shape() if is_fine else _cube(False)


#: A surface by whether it has its fine parts, and the cells along its longest side.
CASES: dict[str, tuple[Callable[[bool], Surface], int]] = {
    "cube with rivets": (_cube, 10),
    "disc with teeth": (_disc, 12),
    "fine sheet": (_sheet, 16),
    "cog wheel": (partial(_beside_a_cube, gear), 10),
    "connecting rod": (partial(_beside_a_cube, conrod), 10),
    "chair": (partial(_beside_a_cube, chair), 10),
    "cape": (partial(_beside_a_cube, cape), 10),
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(printed, "fine_parts", name) for name in CASES}


def _measure(make: Callable[[bool], Surface], cells: int) -> dict[str, Any]:
    from supple.core import Contact, Ground, Scene, Simulator, SoftBody, SurfaceMesh
    from supple.core.integrators import Automatic
    from supple.core.materials import StableNeoHookean

    figures: dict[str, Any] = {}
    for name, is_fine in (("plain", False), ("fine", True)):
        points, triangles = make(is_fine)
        points[:, 2] += HEIGHT - points[:, 2].min()
        surface = SurfaceMesh(
            points, triangles, edge_length=float(np.ptp(points, axis=0).max()) / cells
        )
        scene = Scene(
            [SoftBody(surface, StableNeoHookean(YOUNG, POISSON))],
            ground=Ground(),
            contact=Contact(),
        )
        simulator = Simulator(scene, Automatic(), device="cpu")
        seconds, contacts, began = [], 0, time.process_time()
        for frame in simulator.run(FRAMES):
            seconds.append(time.process_time() - began)
            contacts = max(contacts, frame.report.solver_statistics.contacts)
            began = time.process_time()
        figures[name] = {
            "triangles": len(triangles),
            "tets": len(simulator.system.meshes[0].tets),
            "most_contacts": contacts,
            "median_ms": round(1e3 * statistics.median(seconds[SKIPPED:]), 1),
        }
    ratio = figures["fine"]["median_ms"] / figures["plain"]["median_ms"]
    return figures | {"ratio": round(ratio, 2)}


if __name__ == "__main__":
    print(json.dumps(_measure(*CASES[sys.argv[1]])))
