# SPDX-License-Identifier: GPL-3.0-or-later
"""How the time of a frame and the memory grow with the mesh, each engine at its longest step."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from supple.core import tetrahedralize

from .drop import FRAMES, Drop
from .own_process import measure

YOUNG, POISSON = 1e5, 0.45
ENGINES = ("supple-symplectic-euler", "supple-implicit-euler", "supple-bdf2")
# In metres: 1, 2.5, 5, 15, 50, 100 and 200 thousand tets.
EDGE_LENGTHS = (0.345, 0.232, 0.175, 0.118, 0.0785, 0.062, 0.049)


def run(
    engines: Sequence[str] = ENGINES, edge_lengths: Sequence[float] = EDGE_LENGTHS
) -> dict[str, Any]:
    """One row an engine and mesh; for each engine the exponents of tets in time and in memory."""
    from .monkey import triangles

    rows: list[dict[str, Any]] = []
    for edge_length in edge_lengths:
        drop = Drop.of(tetrahedralize(*triangles(), edge_length=edge_length), YOUNG, POISSON)
        print(f"{len(drop.mesh.tets)} tets", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "drop.npz"
            drop.save(path)
            rows += [{"contender": name, **_row(name, path, drop)} for name in engines]
    return {"rows": rows, "exponents": {name: _exponents(rows, name) for name in engines}}


def _row(engine: str, path: Path, drop: Drop) -> dict[str, Any]:
    sizes = {"tets": len(drop.mesh.tets), "vertices": len(drop.mesh.vertices)}
    runs, note = measure(engine, path, rungs=1)
    if not runs:
        return {**sizes, "note": note or "unstable with every number of steps"}
    (only,) = runs
    record = only.record
    return {
        **sizes,
        "steps_a_frame": only.steps,
        "seconds_a_frame": only.seconds / FRAMES,
        "set_up_seconds": record["set_up_seconds"],
        **record["work"],
        "peak_memory_mb": record["peak_memory_mb"],
        "memory_of_the_body_mb": record["peak_memory_mb"] - record["memory_before_mb"],
        "note": note,
    }


def _exponents(rows: Sequence[dict[str, Any]], engine: str) -> dict[str, float]:
    """p in tets^p, by least squares of the logarithms."""
    done = [row for row in rows if row["contender"] == engine and "seconds_a_frame" in row]
    if len(done) < 2:
        return {}
    tets = np.log([row["tets"] for row in done])
    exponents = {}
    for quantity in ("seconds_a_frame", "memory_of_the_body_mb"):
        values = np.log([row[quantity] for row in done])
        exponents[quantity] = float(np.polyfit(tets, values, 1)[0])
    return exponents
