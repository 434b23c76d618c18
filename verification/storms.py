# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains and storms of small fast bodies, every accepted move of which is checked.

``python -m verification.storms [--minutes M] [--seed S]`` runs as many as fit into the time and
writes ``verification/results/storms.json``. The exit status is 1 where anything went through.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from supple.benchmarks import machine
from supple.core import Collider, Contact, Scene, Simulator, SoftBody, TetMesh
from supple.core.errors import SuppleError
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    Automatic,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.core.scene import checks
from supple.core.scene.channel import Channel

from .meeting_pairs import MeetingPairsError, checked_moves
from .scene_intersections import scene_intersections

Points = NDArray[np.float64]

RESULTS = Path(__file__).parent / "results" / "storms.json"
FRAMES, FRAME_TIME = 4, 1 / 240

#: All that know contact.
INTEGRATORS: tuple[type[Integrator], ...] = (
    SymplecticEuler,
    Automatic,
    Midpoint,
    RungeKutta4,
    ImplicitEuler,
    BDF2,
    SDIRK2,
)

# A cube's six tets around its diagonal.
_TETS = np.array(
    [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
)
_CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float) - 0.5
_SIDES = [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4]]
_SIDES += [[2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]]


@dataclass
class Tally:
    """Counts of the runs of one kind of scene with one integrator.

    Args:
        runs: how many there were.
        frames: that they took.
        moves: accepted moves that were followed.
        pairs: pairs that were followed on them.
        meetings: moves on which pairs met.
        intersections: pairs of triangles that intersected after a frame, by exact arithmetic.
        refused: runs that ended with an error, by its first words.
        seconds: that the runs took.
    """

    runs: int = 0
    frames: int = 0
    moves: int = 0
    pairs: int = 0
    meetings: int = 0
    intersections: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def failures(self) -> int:
        return self.meetings + self.intersections


def train(random: np.random.Generator) -> Scene:
    """Two to four boxes, one closely behind the other, slide over rough ground at 20 to 80 m/s."""
    speed, young = random.uniform(20.0, 80.0), 10.0 ** random.uniform(3.0, 6.0)
    fall = speed * random.choice([0.0, 0.05, 0.3])
    bodies, at = [], 0.1
    for _ in range(random.integers(2, 5)):
        size = random.uniform(0.02, 0.06, 3)
        centre = (at + 0.5 * size[0], 0.1 + random.uniform(-0.01, 0.01), 0.022 + 0.5 * size[2])
        bodies.append(_box(size, np.array(centre), np.array([speed, 0.0, -fall]), young))
        at += size[0] + 10.0 ** random.uniform(-3.0, -1.7)
    return Scene(bodies, colliders=[_rough_ground(random, 0.02)], contact=Contact(friction=0.3))


def storm(random: np.random.Generator) -> Scene:
    """Three to eight boxes fly and turn into each other, above rough ground, below a paddle."""
    young = 10.0 ** random.uniform(3.0, 6.0)
    bodies, places = [], random.permutation(27)
    for place in places[: random.integers(3, 9)]:
        cell = np.array([place % 3, place // 3 % 3, place // 9]) - 1.0
        size = random.uniform(0.02, 0.06, 3)
        centre = np.array([0.45, 0.1, 0.3]) + 0.12 * cell
        speed = random.uniform(5.0, 80.0)
        velocity = speed * (random.normal(size=3) - 1.5 * cell) / 2.0
        spin = random.normal(size=3) * random.choice([0.0, 100.0, 600.0])
        bodies.append(_box(size, centre, velocity, young, spin))
    contact = Contact(friction=float(random.choice([0, 0.5])))
    colliders = [_rough_ground(random, 0.02), _paddle(random)]
    return Scene(bodies, colliders=[*colliders], contact=contact)


SCENES: dict[str, Callable[[np.random.Generator], Scene]] = {"train": train, "storm": storm}


def run(scene: Scene, integrator: Integrator, tally: Tally, frames: int = FRAMES) -> None:
    """Simulates a scene and adds what happened to a tally."""
    began = time.perf_counter()
    tally.runs += 1
    with checked_moves() as check:
        try:
            simulator = Simulator(scene, integrator, frame_time=FRAME_TIME)
            for _ in simulator.run(frames):
                tally.frames += 1
                tally.intersections += scene_intersections(simulator)
        except MeetingPairsError:
            tally.meetings += 1
        except SuppleError as error:
            reason = str(error).partition(": ")[2].partition(".")[0][:60]
            tally.refused[reason] = tally.refused.get(reason, 0) + 1
    tally.moves += check.moves
    tally.pairs += check.pairs
    tally.seconds += time.perf_counter() - began


def course(name: str, integrator: type[Integrator], seed: int, number: int) -> Scene:
    """The scene of one run: the same for the same arguments."""
    kinds = list(SCENES).index(name), INTEGRATORS.index(integrator)
    return SCENES[name](np.random.default_rng([seed, *kinds, number]))


def _box(
    size: Points,
    centre: Points,
    velocity: Points,
    young: float,
    spin: Points | None = None,
) -> SoftBody:
    mesh = TetMesh(centre + size * _CORNERS, _TETS)
    return SoftBody(
        mesh,
        StableNeoHookean(young, 0.4),
        density=1000.0,
        velocity=checks.vector(velocity, "The velocity"),
        angular_velocity=checks.vector(np.zeros(3) if spin is None else spin, "The spin"),
    )


def _rough_ground(random: np.random.Generator, height: float) -> Collider:
    x, y = np.meshgrid(0.03 * np.arange(36), 0.03 * np.arange(8), indexing="ij")
    points = np.stack([x, y, height * random.random(x.shape)], axis=-1).reshape(-1, 3)
    corner = (8 * np.arange(35)[:, None] + np.arange(7)).ravel()
    lower = np.column_stack([corner, corner + 8, corner + 1])
    upper = np.column_stack([corner + 1, corner + 8, corner + 9])
    return Collider(points, np.concatenate([lower, upper]), name="ground")


def _paddle(random: np.random.Generator) -> Collider:
    """A thin plate that turns about its own axis by up to 30° a frame."""
    plate = _CORNERS * [0.3, 0.004, 0.1]
    angles = random.uniform(0.0, np.radians(30.0)) * np.arange(FRAMES + 1)
    path = []
    for cosine, sine in zip(np.cos(angles), np.sin(angles), strict=True):
        path.append(plate @ np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]]))
    return Collider(
        Channel(np.array(path) + np.array([0.45, 0.1, 0.55])), np.array(_SIDES), name="paddle"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.storms", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(arguments)
    tallies = {(name, kind): Tally() for name in SCENES for kind in INTEGRATORS}
    end = time.monotonic() + 60.0 * parsed.minutes
    while time.monotonic() < end:
        # All get about as much time.
        name, kind = min(tallies, key=lambda key: tallies[key].seconds)
        tally = tallies[name, kind]
        number, before = tally.runs, tally.failures
        run(course(name, kind, parsed.seed, number), kind(), tally)
        if tally.failures > before:
            print(f"FAILED: {name}, {kind.__name__}, seed {parsed.seed}, run {number}", flush=True)
    failures = sum(tally.failures for tally in tallies.values())
    record = {
        "machine": machine.describe(),
        "seed": parsed.seed,
        "minutes": parsed.minutes,
        "failures": failures,
        "runs": {
            f"{name}, {kind.__name__}": asdict(tally) for (name, kind), tally in tallies.items()
        },
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    for key, tally in record["runs"].items():
        print(f"{key:24} {tally}")
    print(f"{failures} meetings and intersections")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
