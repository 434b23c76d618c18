# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces never intersect, in the opinion of an exact test that the solver knows nothing of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from supple.core import Scene, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider, Contact

from ..check import Check, Subject
from ..collider_meshes import bowl, sheet
from ..contact_course import ContactCourse, panels
from ..meshes import block, graded_ball

SOFT = StableNeoHookean(5e4, 0.4)
CUBES, BALLS = 3, 5
SQUEEZE, TURNS, SHORTENING = 0.06, 3.0, 0.6


@dataclass(frozen=True)
class Case:
    """A scene, the frames it takes, and the steps of each; None lets the integrator choose."""

    scene: Callable[[], Scene]
    frames: int
    substeps: int | None = None


def run() -> Subject:
    courses = {name: _course(case) for name, case in CASES.items()}
    checks: list[Check] = []
    for name, course in courses.items():
        checks += course.checks(name, 4.0)
    unsolved = {
        name: f"{course.converged.count(False)} of {len(course.converged)} frames of the {name}"
        for name, course in courses.items()
        if not all(course.converged)
    }
    return Subject(
        title="No intersections",
        text=f"After every frame of four scenes no two triangles intersect, and no tet is inside "
        f"out. The scenes are a stack of {CUBES} cubes that falls by a few millimetres, and a "
        "cube that two "
        f"plates squeeze by {2 * SQUEEZE / 0.2:.0%}. Further, there are a bar that is twisted "
        f"{TURNS:g} times and folds on "
        f"itself as its ends are moved together, and {BALLS} balls that fall into a bowl. Implicit "
        "Euler to the usual tolerance.",
        source="`verification/exact_intersections.py`, which decides with whole numbers what "
        "rounding leaves open.",
        checks=checks,
        panels=panels(courses),
        note=f"Without converging ended {', '.join(unsolved.values())}." if unsolved else "",
    )


def _course(case: Case) -> ContactCourse:
    return ContactCourse.of(case.scene(), ImplicitEuler(), case.frames, case.substeps)


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
