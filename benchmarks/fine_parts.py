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
from numpy.typing import NDArray

from supple.verification.meshes import block

from .printed import printed

Surface = tuple[NDArray[np.float64], NDArray[np.int32]]

FRAMES, SKIPPED, HEIGHT, YOUNG, POISSON = 8, 2, 0.03, 1e5, 0.45


def _closed(rings: list[NDArray[np.float64]]) -> Surface:
    """A surface through (R, 3) rings, one above the other, with a point in the middle of each
    end."""
    count, points = len(rings[0]), np.concatenate(rings)
    ends = [rings[0].mean(axis=0), rings[-1].mean(axis=0)]
    here, there = np.arange(count), (np.arange(count) + 1) % count
    faces = [np.stack([there, here, np.full(count, len(points))], axis=1)]
    for level in range(len(rings) - 1):
        low, high = level * count, (level + 1) * count
        faces.append(np.stack([low + here, low + there, high + there], axis=1))
        faces.append(np.stack([low + here, high + there, high + here], axis=1))
    top = (len(rings) - 1) * count
    faces.append(np.stack([top + here, top + there, np.full(count, len(points) + 1)], axis=1))
    return np.concatenate([points, ends]), np.concatenate(faces).astype(np.int32)


def _ring(radii: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    angles = 2.0 * np.pi * np.arange(len(radii)) / len(radii)
    return np.column_stack(
        [radii * np.cos(angles), radii * np.sin(angles), np.full(len(radii), height)]
    )


def _ball(radius: float, middle: NDArray[np.float64]) -> Surface:
    angles = np.linspace(0.0, np.pi, 9)[1:-1]
    rings = [_ring(np.full(16, radius * np.sin(a)), -radius * np.cos(a)) + middle for a in angles]
    return _closed(rings)


def _together(surfaces: list[Surface]) -> Surface:
    starts = np.cumsum([0, *(len(points) for points, _ in surfaces)])
    faces = [part_faces + start for (_, part_faces), start in zip(surfaces, starts, strict=False)]
    return np.concatenate([points for points, _ in surfaces]), np.concatenate(faces)


def _cube(rivets: bool) -> Surface:
    """A cube of 1 m, with three rivets of 2 mm on its upper side on request."""
    mesh = block((4, 4, 4))
    used, faces = np.unique(mesh.surface, return_inverse=True)
    parts = [(mesh.vertices[used], faces.reshape(-1, 3).astype(np.int32))]
    if rivets:
        parts += [_ball(0.002, np.array([0.5, y, 1.004])) for y in (0.25, 0.5, 0.75)]
    return _together(parts)


def _disc(teeth: bool) -> Surface:
    """20 cm thick; with 60 teeth of 3 cm and bevels of 2 mm."""
    if not teeth:
        return _closed([_ring(np.full(32, 0.485), z) for z in (0.0, 0.2)])
    radii = np.tile([0.47, 0.5, 0.5, 0.47], 60)
    return _closed(
        [_ring(radii - inset, z) for inset, z in ((0.002, 0), (0, 0.002), (0, 0.198), (0.002, 0.2))]
    )


def _sheet(fine: bool) -> Surface:
    """A sheet of 1 m, 2 cm thick, with 40 or ten faces along each side."""
    count = 40 if fine else 10
    mesh = block((count, count, 1), (1.0, 1.0, 0.02))
    used, faces = np.unique(mesh.surface, return_inverse=True)
    return mesh.vertices[used], faces.reshape(-1, 3).astype(np.int32)


#: A surface by whether it has its fine parts, and the cells along its longest side.
CASES: dict[str, tuple[Callable[[bool], Surface], int]] = {
    "cube with rivets": (_cube, 10),
    "disc with teeth": (_disc, 12),
    "fine sheet": (_sheet, 16),
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
