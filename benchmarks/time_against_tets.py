# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of a frame and memory against the size of the mesh, each engine at its longest step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from supple.core import Ground

from .drop import FRAMES, Drop
from .own_process import measure

YOUNG, POISSON = 1e5, 0.45
ENGINES = ("supple-symplectic-euler", "supple-implicit-euler", "supple-bdf2")
# In metres.
EDGE_LENGTHS = {
    "1 K tets": 0.345,
    "2.5 K tets": 0.232,
    "5 K tets": 0.175,
    "15 K tets": 0.118,
    "50 K tets": 0.0785,
    "100 K tets": 0.062,
    "200 K tets": 0.049,
}


def parts() -> dict[str, Callable[[], list[dict[str, Any]]]]:
    return {name: partial(_rows, edge_length) for name, edge_length in EDGE_LENGTHS.items()}


def _rows(edge_length: float, engines: Sequence[str] = ENGINES) -> list[dict[str, Any]]:
    """A row for each engine, with the default friction of the ground."""
    from .monkey import full_tetrahedra

    drop = Drop.of(full_tetrahedra(edge_length), YOUNG, POISSON)
    drop = replace(drop, friction=Ground().friction)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drop.npz"
        drop.save(path)
        return [{"contender": name, **_row(name, path, drop)} for name in engines]


def _row(engine: str, path: Path, drop: Drop) -> dict[str, Any]:
    sizes = {
        "tets": len(drop.mesh.tets),
        "vertices": len(drop.mesh.vertices),
        "friction": drop.friction,
    }
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


def exponents(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """p in tets^p, of time and memory, by least squares of the logarithms; by engine."""
    slopes = {}
    for engine in dict.fromkeys(row["contender"] for row in rows):
        done = [r for r in rows if r["contender"] == engine and "seconds_a_frame" in r]
        if len(done) < 2:
            continue
        tets = np.log([row["tets"] for row in done])
        slopes[engine] = {
            quantity: float(np.polyfit(tets, np.log([row[quantity] for row in done]), 1)[0])
            for quantity in ("seconds_a_frame", "memory_of_the_body_mb")
        }
    return slopes
