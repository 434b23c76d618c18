# SPDX-License-Identifier: GPL-3.0-or-later
"""Ten jelly monkeys pile up in a bowl, in Supple and in other engines, each in its own process.

What is measured of each frame is measured in the same way for all: the exact test of the
verification counts the triangles that intersect, and how deep a vertex of a surface is in another
body or below the bowl is measured beside it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from supple.verification.exact_intersections import count_intersections

from .peers.pile_run import ENGINES
from .penetration import deepest_in_each_other, depths_below
from .pile import FRAMES, Pile, Positions

# Of the monkey two metres tall, and how much of that it is: no surface crosses itself or another
# at the start, in which other engines would get caught.
EDGE_LENGTH, SIZE = 0.33, 0.27
# What one engine may take for its frames, and for all beside them: loading, compiling.
LIMIT, BESIDE = 60.0, 120.0


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {engine.label: partial(_measure, name) for name, engine in ENGINES.items()}


def _measure(name: str) -> dict[str, Any]:
    from .monkey import full_tetrahedra

    pile = Pile.of(full_tetrahedra(EDGE_LENGTH), SIZE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pile.npz"
        pile.save(path)
        record, positions, words = _run(name, path)
    steps = ENGINES[name].steps
    figures = {"tets": len(pile.starts) * len(pile.tets), "steps": steps, "limit_s": LIMIT}
    figures |= _look(pile, positions)
    # The first frame, which sets things up, is free fall.
    seconds = record.get("seconds", [])[1 : len(positions)]
    return {
        **figures,
        "s_a_frame": [round(statistics.median(seconds), 3), round(max(seconds), 3)]
        if seconds
        else None,
        "survived": len(positions) > 0 and not words,
        "note": words,
    }


def _run(name: str, path: Path) -> tuple[dict[str, Any], Positions, str]:
    """The output of an engine, its positions (frames, B, N, 3), and the reason why it stopped."""
    module = f"{__package__}.peers.pile_run"
    command = [sys.executable, "-m", module, name, str(path), str(LIMIT)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    note = ""
    try:
        printed, errors = running.communicate(timeout=LIMIT + BESIDE)
    except subprocess.TimeoutExpired:
        running.kill()
        printed, errors = running.communicate()
        note = f"stopped after {LIMIT + BESIDE:g} s, in a frame that had not ended"
    lines = printed.decode(errors="replace").splitlines()
    records = [line for line in lines if line.startswith('{"seconds"')]
    record = json.loads(records[-1]) if records else {"note": ""}
    array_path = path.with_suffix(f".{name}.npy")
    positions = np.load(array_path) if array_path.exists() else np.empty((0, 0, 0, 3))
    if running.returncode and not note:
        said = errors.decode(errors="replace").strip().splitlines()
        note = said[-1] if said else f"ended with {running.returncode}"
    return record, positions, note or record["note"]


def _look(pile: Pile, frames: Positions) -> dict[str, Any]:
    """Measure depths and intersections in the frames (T, B, N, 3)."""
    surface, bowl = pile.meshes[0].surface, pile.bowl
    triangles = _all_triangles(pile)
    hollow = bowl.at(0)
    in_each_other, below, crossings, through = 0.0, 0.0, [], 0
    for bodies in frames:
        points = np.concatenate([bodies.reshape(-1, 3), hollow])
        crossings.append(count_intersections(points, triangles))
        in_each_other = max(in_each_other, deepest_in_each_other(bodies, surface))
        used = bodies[:, np.unique(surface)]
        depths = depths_below(used.reshape(-1, 3), hollow, bowl.triangles).reshape(used.shape[:2])
        # A body that is through is counted, and its depth is its fall.
        gone = (depths > 0.0).all(axis=1)
        through = int(gone.sum())
        below = max(below, float(np.nanmax(depths[~gone], initial=0.0)))
    return {
        "frames": len(frames),
        "of_frames": FRAMES,
        "deepest_in_each_other_mm": round(1e3 * in_each_other, 2),
        "deepest_below_bowl_mm": round(1e3 * below, 2),
        "through_the_bowl": through,
        "most_intersections": max(crossings, default=0),
        "frames_with_intersections": sum(count > 0 for count in crossings),
    }


def _all_triangles(pile: Pile) -> Positions:
    count, size = pile.starts.shape[:2]
    surface = pile.meshes[0].surface
    bodies = [surface + size * index for index in range(count)]
    return np.concatenate([*bodies, pile.bowl.triangles + count * size])
