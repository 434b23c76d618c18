# SPDX-License-Identifier: GPL-3.0-or-later
"""Small fast bodies never go through each other, whichever integrator takes the steps."""

from __future__ import annotations

import json

from .. import storms
from ..check import Check, Subject
from ..storms import INTEGRATORS, RESULTS, SCENES, Tally, course

SEED, FRAMES = 1, 2


def run() -> Subject:
    tally = Tally()
    for name in SCENES:
        for kind in INTEGRATORS:
            storms.run(course(name, kind, SEED, 0), kind(), tally, FRAMES)
    return Subject(
        title="Storms of small bodies",
        text="Two to eight boxes of six tets each, at 5 to 80 m/s and up to 600 rad/s. They go in "
        "trains "
        "that slide over rough ground one closely behind the other, and in storms between that "
        f"ground and a paddle that turns. {tally.runs} runs of {FRAMES} frames of 1/240 s, with "
        f"each integrator that knows contact. On each of the {tally.moves} moves that steps "
        f"accepted, the {tally.pairs} pairs whose swept boxes overlap were followed.",
        source="`verification/meeting_pairs.py`, whose search knows nothing of the solver's "
        "candidates, and `verification/exact_intersections.py`.",
        checks=[
            Check("moves on which pairs met", float(tally.meetings), 0.0, 0.0),
            Check("pairs of triangles that intersect", float(tally.intersections), 0.0, 0.0),
            Check("runs that ended with an error", float(sum(tally.refused.values())), 0.0, 0.0),
        ],
        note=_long_run(),
    )


def _long_run() -> str:
    record = json.loads(RESULTS.read_text())
    runs = record["runs"].values()
    pairs, moves, count = (sum(run[key] for run in runs) for key in ("pairs", "moves", "runs"))
    return (
        f"`python3 dev.py storms` runs them for {record['minutes']:g} minutes. Last time it "
        f"followed {pairs} pairs on {moves} moves of {count} runs, and {record['failures']} went "
        f"through ([figures](../verification/results/{RESULTS.name}))."
    )
