# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m looks.static_squeeze [BODY …]``: how far off at rest, in how long.

Bodies sink under their own weight on ground without friction, so soft that a column as high as they
are long would sag by 40 %. Where their visible vertices come to rest is compared with where those
of the same body come to rest whose tetrahedra are five times finer, moved and turned as a whole
along the ground. Seconds are those that one waits where nothing else runs, loops compiled: those
of the processor count threads that wait for work, too. Filling with tetrahedra, once for all
frames, is apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .implicit_surfaces import ellipsoid, surface
from .shapes import shape

Points = NDArray[np.float64]
Surface = tuple[Points, NDArray[np.int64]]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("core", "looks/static_squeeze.py", "looks/shapes.py", "looks/implicit_surfaces.py")
#: Of the reference, and of what is compared with it.
FINER, RESOLUTIONS = 5.0, (1.0, 1.4, 2.0)
SAG, DENSITY, GRAVITY, POISSON = 0.4, 1000.0, 9.81, 0.45


def pebble() -> Surface:
    """Half a metre long; it lies flat."""
    return surface(
        ellipsoid((0.0, 0.0, 0.0), (0.25, 0.2, 0.15)), (-0.3, -0.25, -0.2), (0.3, 0.25, 0.2), 0.017
    )


def hand() -> Surface:
    made = shape("hand")
    return made.vertices, made.quads


#: Bodies, and the edges of their tetrahedra in metres, about those that a new soft body gets.
BODIES: dict[str, tuple[Callable[[], Surface], float]] = {
    "pebble": (pebble, 0.07),
    "hand": (hand, 0.04),
}


def main(arguments: Sequence[str] | None = None) -> None:
    # The other version that is measured may not have them.
    from supple.benchmarks.machine import describe
    from supple.benchmarks.store import version

    from . import page

    parser = argparse.ArgumentParser(prog="python -m looks.static_squeeze", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="BODY", help=", ".join(BODIES))
    parser.add_argument("--before", type=Path, help="the python of a checkout to compare with")
    asked = parser.parse_args(arguments)
    states = {page.NOW: (Path(sys.executable), ROOT)}
    if asked.before:
        before = asked.before.absolute()
        states[page.BEFORE] = before, before.parents[2]
    stored = page.squeezes()
    stored.figures["machine"] = describe()
    with tempfile.TemporaryDirectory() as folder:
        for body in asked.names or BODIES:
            fine = Path(folder) / f"{body}.npy"
            stored.figures.setdefault("reference_tets", {})[body] = settled(
                Path(sys.executable), body, FINER, fine
            )["tets"]
            for state, (python, root) in states.items():
                measured = partial(compare, python, body, fine)
                rows = stored.measure(
                    page.SQUEEZE, f"{body}, {state}", measured, version(root, SOURCES)
                )
                print(f"{body}, {state}: {json.dumps(rows)}", flush=True)
    page.write()


def compare(python: Path, body: str, fine: Path) -> list[dict[str, Any]]:
    """The figures of a body beside its reference, by the version of a ``python``, at several
    resolutions."""
    rows, path = [], fine.with_suffix(".coarse.npy")
    for finer in RESOLUTIONS:
        result = settled(python, body, finer, path)
        apart = 1e3 * distances(np.load(path), np.load(fine))
        rms = float(np.sqrt((apart**2).mean()))
        rows.append(
            {
                "times_finer": finer,
                **result,
                "rms_mm": rounded(rms),
                "largest_mm": rounded(float(apart.max())),
                "rms_mm_seconds": rounded(rms * result["seconds"]),
            }
        )
    return rows


def settled(python: Path, body: str, finer: float, path: Path) -> dict[str, Any]:
    """Settles a body in a process of its own; keeps where its visible vertices are."""
    command = [str(python), "-m", "looks.static_squeeze_run", body, str(finer), str(path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def simulate(body: str, finer: float) -> tuple[dict[str, Any], Points]:
    """Settle a body; return the cost and the (V, 3) positions of its visible vertices at rest."""
    from supple.core import Ground, Scene, Simulator, SoftBody, SurfaceMesh, TetMesh
    from supple.core.materials import StableNeoHookean

    make, edge_length = BODIES[body]
    vertices, quads = make()
    vertices = vertices + np.array([0.0, 0.0, 0.005 - vertices[:, 2].min()])
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]).astype(np.int32)
    young = DENSITY * GRAVITY * float(np.ptp(vertices, axis=0).max()) / (2.0 * SAG)
    began = time.perf_counter()
    mesh = SurfaceMesh(vertices, triangles, edge_length=edge_length / finer)
    soft = SoftBody(mesh, StableNeoHookean(young, POISSON), density=DENSITY, name=body)
    simulator = Simulator(Scene([soft], ground=Ground(friction=0.0)), device="cpu")
    filling = time.perf_counter() - began
    frame = simulator.settle()
    seconds = time.perf_counter() - began - filling
    filled = simulator.scene.bodies[0]
    assert isinstance(filled.mesh, TetMesh)
    assert filled.skin is not None and filled.skin.embedding is not None
    positions = frame.positions[0].numpy()
    # Earlier versions carried what is seen by the tetrahedra alone.
    seen_at = getattr(filled.skin, "seen_at", None)
    carried = filled.skin.embedding.interpolate
    seen = carried(positions) if seen_at is None else seen_at(positions, 0.0)
    figures = {
        "tets": len(filled.mesh.tets),
        "filling_seconds": rounded(filling),
        "seconds": rounded(seconds),
        "iterations": frame.report.record()["iterations"],
        "sunk_mm": rounded(1e3 * float(np.ptp(vertices[:, 2]) - np.ptp(seen[:, 2]))),
        "below_ground_mm": rounded(1e3 * max(0.0, -float(seen[:, 2].min()))),
    }
    return figures, seen


def distances(points: Points, others: Points) -> NDArray[np.float64]:
    """Return the (V,) distances between two shapes of a body, one moved and turned as a whole
    along the ground.
    """
    first, second = (each - [*each[:, :2].mean(axis=0), 0.0] for each in (points, others))
    (x, y), (u, v) = first[:, :2].T, second[:, :2].T
    angle = np.arctan2((x * v - y * u).sum(), (x * u + y * v).sum())
    cos, sin = np.cos(angle), np.sin(angle)
    turned = first @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    apart: NDArray[np.float64] = np.linalg.norm(turned - second, axis=1)
    return apart


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


if __name__ == "__main__":
    main()
