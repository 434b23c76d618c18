# SPDX-License-Identifier: GPL-3.0-or-later
"""A body falls, lands and bounces: Supple beside other soft-body engines on the same tets.

Each engine takes the fewest steps a frame with which it survives the second, then ever twice as
many. Its error is the distance to symplectic Euler with many more steps on a ground that puts
vertices back: the one contact of them all that has a limit, to which torch-diffsim, which shares no
code with Supple, goes too. How far the reference still is from that limit stands beside the errors.
What the engines' materials and contacts have in common, and what not, is in ``benchmarks/peers``;
that part of an error remains however many steps are taken.

    python -m benchmarks.time_stepping    a small part of it, in minutes
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.core import TetMesh

from .drop import FRAMES, Drop, Positions
from .own_process import Measured, measure
from .peers.engines import ENGINES, Engine

# Method and edge length in metres.
MESHES = {
    "lattice 2.5 K": ("lattice", 0.232),
    "lattice 15 K": ("lattice", 0.118),
    "lattice 50 K": ("lattice", 0.0785),
    "fTetWild 15 K": ("ftetwild", 0.112),
}
# Engines whose runs take no longer than this have so many turns, and the median counts.
TURN_SECONDS = 4.0
TURNS = 3
# The reference takes this many times the steps that are stable, or as many as its work allows:
# tets times steps in the second, some ten seconds of two cores.
REFERENCE = "supple-projecting"
REFERENCE_FACTORS = (128, 64, 32, 16, 8, 4)
REFERENCE_WORK = 8e8
REFERENCE_TIMEOUT = 600.0
# Its own runs with more than this share of its steps would be measured against themselves.
FINEST_SHARE = 0.25


class Case(NamedTuple):
    mesh: str
    young: float
    poisson: float

    @property
    def name(self) -> str:
        young = f"{self.young:.0e}".replace("e+0", "e")
        return f"{self.mesh}, E = {young} Pa, ν = {self.poisson:g}"


QUICK = (Case("lattice 2.5 K", 1e5, 0.45), Case("lattice 2.5 K", 1e7, 0.45))
# The most telling first.
CASES = (
    *(Case("lattice 15 K", young, 0.45) for young in (1e5, 1e7)),
    *(Case("lattice 2.5 K", young, 0.45) for young in (1e5, 1e7, 1e4, 1e6)),
    Case("lattice 50 K", 1e5, 0.45),
    Case("fTetWild 15 K", 1e5, 0.45),
)


@dataclass(frozen=True)
class Reference:
    """The reference against which errors are measured.

    Args:
        stable_steps: the fewest a frame that are stable; it takes more.
        masses: (N,) in kg.
        surface: the vertices on it.
        positions: (frames, N, 3) in metres.
        own_error: root mean square distance to the same with half the steps, in metres; what is
            left to the limit is as much in a scheme of first order.
    """

    steps: int
    stable_steps: int
    masses: Positions
    surface: NDArray[np.int32]
    positions: Positions
    own_error: float


def parts(cases: Sequence[Case] = CASES) -> dict[str, Callable[[], dict[str, Any]]]:
    return {case.name: partial(compare, case) for case in cases}


def compare(case: Case, names: Sequence[str] = tuple(ENGINES)) -> dict[str, Any]:
    """The reference of a case, and one row an engine and number of steps.

    A note says why an engine's rows end with this one; without a number of steps, why it has none.
    """
    drop = Drop.of(_mesh(case.mesh), case.young, case.poisson)
    engines = {name: ENGINES[name] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        paths = {False: Path(folder) / "drop.npz"}
        drop.save(paths[False])
        if any(engine.equal_masses for engine in engines.values()):
            paths[True] = Path(folder) / "equal_masses.npz"
            drop.with_equal_masses().save(paths[True])
        references = {equal_masses: _reference(path) for equal_masses, path in paths.items()}
        measured = _in_turns(engines, paths, references)
    constants = {**case._asdict(), "tets": len(drop.mesh.tets)}
    rows = [
        {**constants, "contender": name, **row}
        for name, (turns, note) in measured.items()
        for row in _rows(turns, note, references[engines[name].equal_masses])
    ]
    reference = references[False]
    finest = FINEST_SHARE * reference.steps
    return {
        "reference": {
            "contender": REFERENCE,
            "steps_a_frame": reference.steps,
            "own_error_m": reference.own_error,
        },
        "rows": [
            row
            for row in rows
            if row["contender"] != REFERENCE or row.get("steps_a_frame", 0) <= finest
        ],
    }


@cache
def _mesh(name: str) -> TetMesh:
    from .monkey import full_tetrahedra

    method, edge_length = MESHES[name]
    return full_tetrahedra(edge_length, method)


def _reference(path: Path) -> Reference:
    runs, note = measure(REFERENCE, path, rungs=1)
    if not runs:
        raise RuntimeError(f"{REFERENCE} gave no reference: {note}")
    (coarse,) = runs
    drop = Drop.load(path)
    affordable = REFERENCE_WORK / (len(drop.mesh.tets) * FRAMES * coarse.steps)
    factor = next((f for f in REFERENCE_FACTORS if f <= affordable), REFERENCE_FACTORS[-1])
    steps = factor * coarse.steps
    (fine, half), _ = measure(REFERENCE, path, steps, steps // 2, timeout=REFERENCE_TIMEOUT)
    own_error = _root_mean_square(fine.positions - half.positions)
    surface = np.unique(drop.mesh.surface)
    return Reference(steps, coarse.steps, drop.masses, surface, fine.positions, own_error)


def _in_turns(
    engines: dict[str, Engine],
    paths: dict[bool, Path],
    references: dict[bool, Reference],
) -> dict[str, tuple[list[list[Measured]], str]]:
    """Each engine's runs, once or in several turns, and why there are no more of them.

    With paths and references by whether vertices have equal masses.
    """
    measured = {}
    for name, engine in engines.items():
        # With a third of the explicit steps that we need, no engine is stable.
        at_least = references[engine.equal_masses].stable_steps // 3 if engine.explicit else 1
        runs, note = measure(name, paths[engine.equal_masses], at_least=at_least)
        measured[name] = ([runs] if runs else [], note)
    for _ in range(TURNS - 1):
        for name, (turns, _) in measured.items():
            if turns and sum(run.seconds for run in turns[0]) <= TURN_SECONDS:
                steps = [run.steps for run in turns[0]]
                again, _ = measure(name, paths[engines[name].equal_masses], *steps)
                if len(again) == len(steps):
                    turns.append(again)
    return measured


def _rows(turns: list[list[Measured]], note: str, reference: Reference) -> list[dict[str, Any]]:
    if not turns:
        return [{"stable": False, "note": note or "unstable with every number of steps"}]
    rows = [_row(list(runs), reference) for runs in zip(*turns, strict=True)]
    rows[-1]["note"] = note
    return rows


def _row(runs: list[Measured], reference: Reference) -> dict[str, Any]:
    first = runs[0]
    row = {
        "steps_a_frame": first.steps,
        "seconds_a_simulated_second": statistics.median(run.seconds for run in runs),
        "turns": len(runs),
        "stable": first.record["stable"],
        "set_up_seconds": first.record["set_up_seconds"],
        "peak_memory_mb": first.record["peak_memory_mb"],
        **first.record["work"],
        "note": "",
    }
    if len(first.positions) == FRAMES:
        apart = first.positions - reference.positions
        share = reference.masses / reference.masses.sum()
        row["rms_error_m"] = _root_mean_square(apart)
        row["reference_error_m"] = reference.own_error
        row["com_error_m"] = _root_mean_square(np.einsum("n,fnk->fk", share, apart))
        row["lowest_m"] = float(first.positions[:, reference.surface, 2].min())
    return row


def _root_mean_square(vectors: Positions) -> float:
    """The root mean square of the lengths of (…, 3) vectors."""
    return float(np.sqrt((vectors**2).sum(axis=-1).mean()))


if __name__ == "__main__":
    print(json.dumps([compare(case) for case in QUICK], indent=1))
