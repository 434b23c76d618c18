# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces never intersect, in the opinion of an exact test that the solver knows nothing of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider, Contact

from ..check import Check, Curve, Panel, Subject, at_least, at_most
from ..collider_meshes import bowl, sheet
from ..meshes import block, graded_ball
from ..scene_intersections import scene_intersections

SOFT = StableNeoHookean(5e4, 0.4)
CUBES, BALLS = 3, 5
SQUEEZE, TURNS, SHORTENING = 0.06, 3.0, 0.6


@dataclass
class Course:
    """One entry a frame.

    Args:
        intersections: pairs of triangles.
        volumes: the least volume of a tet over its volume at rest.
        contacts: pairs of surface parts that are close.
        converged: whether each step reached the tolerance.
    """

    intersections: list[int] = field(default_factory=list)
    volumes: list[float] = field(default_factory=list)
    contacts: list[int] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A scene, the frames it takes, and the steps of each; None lets the integrator choose."""

    scene: Callable[[], Scene]
    frames: int
    substeps: int | None = None


def run() -> Subject:
    found = {name: _course(case) for name, case in CASES.items()}
    checks: list[Check] = []
    for name, course in found.items():
        checks += [
            at_most(f"{name}: intersections, all frames", sum(course.intersections), 0.0),
            at_least(f"{name}: least volume ratio of a tet", min(course.volumes), 1e-3),
            # A scene in which nothing touches shows nothing.
            at_least(
                f"{name}: most contacts in a frame",
                max(course.contacts),
                4.0,
                own=True,
                reason="a scene in which nothing touches shows nothing",
            ),
        ]
    unsolved = {
        name: f"{course.converged.count(False)} of {len(course.converged)} frames of the {name}"
        for name, course in found.items()
        if not all(course.converged)
    }
    return Subject(
        title="No intersections",
        text=f"After every frame of four scenes no two triangles intersect, and no tet is inside "
        f"out: a stack of {CUBES} cubes that falls by a few millimetres, a cube that two plates "
        f"squeeze by {2 * SQUEEZE / 0.2:.0%}, a bar that is twisted {TURNS:g} times and folds on "
        f"itself as its ends are led together, and {BALLS} balls that fall into a bowl. Implicit "
        "Euler to the usual tolerance.",
        source="`verification/exact_intersections.py`, which decides with whole numbers what "
        "rounding leaves open.",
        checks=checks,
        panels=_panels(found),
        note=f"Without converging ended {', '.join(unsolved.values())}." if unsolved else "",
    )


def _course(case: Case) -> Course:
    simulator = Simulator(case.scene(), ImplicitEuler(), substeps=case.substeps, device="cpu")
    course = Course()
    for frame in simulator.run(case.frames):
        course.intersections.append(scene_intersections(simulator))
        course.volumes.append(frame.report.minimum_volume_ratio)
        course.contacts.append(frame.report.solver_statistics.contacts)
        course.converged.append(frame.report.solver_statistics.converged)
    return course


def _stack() -> Scene:
    bodies = [
        SoftBody(
            block((2, 2, 2), (0.2, 0.2, 0.2), (0.02 * k - 0.1, -0.1, 0.005 + 0.21 * k)),
            SOFT,
            name=f"cube {k}",
        )
        for k in range(CUBES)
    ]
    return Scene(bodies, colliders=[sheet()], contact=Contact())


def _squeezed() -> Scene:
    ways = np.linspace(0.0, SQUEEZE, 13)
    upper = np.stack([sheet(0.211 - way).at(0) for way in ways])
    lower = np.stack([sheet(way - 0.001).at(0) for way in ways])
    triangles = sheet().triangles
    plates: list[Collider] = [
        Collider(Channel(upper), triangles, name="upper"),
        Collider(Channel(lower), triangles, name="lower"),
    ]
    cube = SoftBody(block((4, 4, 4), (0.2, 0.2, 0.2), (-0.1, -0.1, 0.005)), SOFT, name="cube")
    return Scene([cube], gravity=(0.0, 0.0, 0.0), colliders=[*plates], contact=Contact())


def _twisted() -> Scene:
    frames = CASES["twisted bar"].frames
    mesh = block((20, 2, 2), (0.8, 0.06, 0.06), (-0.4, -0.03, -0.03))
    pinned = np.flatnonzero(np.abs(mesh.vertices[:, 0]) > 0.399).astype(np.int32)
    x, y, z = mesh.vertices[pinned].T
    path = []
    for share in np.linspace(0.0, 1.0, frames + 1):
        turn = np.sign(x) * math.pi * TURNS * share
        cosine, sine = np.cos(turn), np.sin(turn)
        path.append([x * (1.0 - SHORTENING * share), cosine * y - sine * z, sine * y + cosine * z])
    led = Channel(np.array(path).transpose(0, 2, 1))
    bar = SoftBody(mesh, SOFT, pinned=pinned, pin_path=led)
    return Scene([bar], gravity=(0.0, 0.0, 0.0), contact=Contact())


def _balls() -> Scene:
    ball = graded_ball(0.08, 3, 1.0)
    bodies = []
    for k in range(BALLS):
        centre = [0.05 * math.cos(2.4 * k), 0.05 * math.sin(2.4 * k), 0.12 + 0.18 * k]
        mesh = ball.with_vertices(ball.vertices + centre)
        bodies.append(SoftBody(mesh, SOFT, velocity=(0.0, 0.0, -1.0), name=f"ball {k}"))
    return Scene(bodies, colliders=[bowl(0.4, 0.2)], contact=Contact())


CASES = {
    "stack": Case(_stack, 12),
    "squeezed cube": Case(_squeezed, 12),
    "twisted bar": Case(_twisted, 24),
    # One try a frame: the collisions do not converge, and the twice as many steps of each further
    # try take twice as long.
    "balls in a bowl": Case(_balls, 10, 1),
}


def _panels(found: dict[str, Course]) -> list[Panel]:
    def curves(values: Callable[[Course], list[float]]) -> list[Curve]:
        return [
            Curve(name, 1 + np.arange(len(values(course))), values(course), name)
            for name, course in found.items()
        ]

    return [
        Panel("contacts", "frame", "pairs", curves(lambda course: [*map(float, course.contacts)])),
        Panel("tets", "frame", "least volume ratio", curves(lambda course: course.volumes)),
    ]
