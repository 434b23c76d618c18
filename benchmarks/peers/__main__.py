# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks.peers ENGINE DROP [STEPS …]``: one engine in a process of its own.

Simulates the drop with each of the STEPS a frame; without them, with the fewest that survive the
impact, then twice as many, and so on while that is quick. Prints a line of JSON for each run and
keeps its positions, (frames, N, 3), beside the drop's file.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from supple.core import TetMesh

from ..drop import Drop
from .engines import ENGINES, Engine
from .run import RUNGS, climb, simulate

# Almost on the ground, so that the warm-up meets contact.
WARM_UP_HEIGHT = 1e-3
WARM_UP_STEPS = 32


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("drop", type=Path)
    parser.add_argument("steps", type=int, nargs="*")
    parser.add_argument("--rungs", type=int, default=RUNGS, help="runs without STEPS (%(default)s)")
    parser.add_argument("--at-least", type=int, default=1, help="steps tried (%(default)s)")
    asked = parser.parse_args()
    engine = ENGINES[asked.engine]
    _warm_up(engine)
    memory_before = _peak_memory()
    drop = Drop.load(asked.drop)
    began = time.perf_counter()
    peer = engine.hold(drop)
    hold_seconds = time.perf_counter() - began
    runs = (simulate(peer, drop, steps) for steps in asked.steps) if asked.steps else None
    for run in runs or climb(peer, drop, asked.rungs, asked.at_least):
        np.save(asked.drop.with_suffix(f".{asked.engine}.{run.steps}.npy"), run.positions)
        record = {
            "steps": run.steps,
            "stable": run.stable,
            "frame_seconds": run.frame_seconds,
            "work": run.work,
            "set_up_seconds": hold_seconds + run.start_seconds,
            "memory_before_mb": memory_before,
            "peak_memory_mb": _peak_memory(),
        }
        # Engines print too, and do not always end their lines.
        print("\n" + json.dumps(record), flush=True)


def _warm_up(engine: Engine) -> None:
    """Compiles what the engine compiles, on one tet."""
    corners = 0.1 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    tet = Drop.of(TetMesh(corners, [[0, 1, 2, 3]]), 1e5, 0.3, WARM_UP_HEIGHT)
    peer = engine.hold(tet)
    peer.start(WARM_UP_STEPS)
    peer.frame()


def _peak_memory() -> float:
    """The peak memory of this process so far, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux counts what the parent held at the start as this process's in getrusage.
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(float(line.split()[1]) / 1024.0, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


if __name__ == "__main__":
    main()
