# SPDX-License-Identifier: GPL-3.0-or-later
"""Running an engine: with given steps, or with ever more from the fewest that are stable."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..drop import FRAMES, Drop, Positions
from .peer import Peer, PeerInstabilityError

# Steps a frame: 1, 2, 3, 4, 6, 8, 12, … 2048.
LADDER = sorted({2**power for power in range(12)} | {3 * 2**power for power in range(10)})
# Runs with twice the steps are added as long as they take no longer than this.
RUNGS = 5
RUNG_SECONDS = 4.0


@dataclass
class Run:
    """Up to the last frame that was plausible.

    Args:
        stable: whether that is the last one.
        start_seconds: wall-clock time before the first.
        frame_seconds: wall-clock time of each frame.
        work: what the engine counted.
        positions: (frames, N, 3) in metres.
    """

    steps: int
    stable: bool = True
    start_seconds: float = 0.0
    frame_seconds: list[float] = field(default_factory=list)
    work: dict[str, int] = field(default_factory=dict)
    positions: list[Positions] = field(default_factory=list)


def simulate(peer: Peer, drop: Drop, steps: int) -> Run:
    run = Run(steps)
    before = drop.mesh.vertices
    try:
        began = time.perf_counter()
        peer.start(steps)
        run.start_seconds = time.perf_counter() - began
        for _ in range(FRAMES):
            began = time.perf_counter()
            after = peer.frame()
            run.frame_seconds.append(time.perf_counter() - began)
            if not drop.goes_on_plausibly(before, after):
                raise PeerInstabilityError("The motion gained energy or left the scene.")
            run.positions.append(np.asarray(after, dtype=float))
            before = after
    except PeerInstabilityError:
        run.stable = False
    run.work = dict(peer.work)
    return run


def climb(peer: Peer, drop: Drop, rungs: int, at_least: int) -> Iterator[Run]:
    """Whole runs, from the fewest steps that are stable on, each with twice as many as the last.

    At most ``rungs``, and none when no number of steps on the ladder is enough. Fewer steps than
    ``at_least`` are not tried.
    """
    tried = (simulate(peer, drop, steps) for steps in LADDER if steps >= at_least)
    run = next((run for run in tried if run.stable), None)
    if run is None:
        return
    yield run
    for _ in range(rungs - 1):
        if 2.0 * sum(run.frame_seconds) > RUNG_SECONDS:
            return
        run = simulate(peer, drop, 2 * run.steps)
        yield run
