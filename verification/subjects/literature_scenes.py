# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that the literature on contact is proud of: tips, edges, blades, knots, funnels, cards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.core import Scene, SoftBody, Sphere, TetMesh
from supple.core.integrators import Automatic, ImplicitEuler, SymplecticEuler
from supple.core.integrators.integrator import Integrator
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider, Contact

from .. import wedges
from ..check import Check, Subject, at_least, at_most, near
from ..collider_meshes import sheet
from ..contact_course import ContactCourse, panels
from ..meshes import block, graded_ball

SOFT, STIFF = StableNeoHookean(5e4, 0.4), StableNeoHookean(2e7, 0.3)
# Half the base, height, and length of an edge, in metres.
HALF, HEIGHT, LENGTH = 0.06, 0.15, 0.15
GAP, FALL_M_PER_S = 0.005, 1.0
SLIDES_M_PER_S = 1.0
TURNS = 1.0
AS_USUAL = Automatic()
# A card: width, thickness, length; the angle at which it leans, and what friction that needs.
CARD, LEAN = (0.06, 0.004, 0.09), math.radians(25.0)
CRITICAL = 0.5 * (math.tan(LEAN) - CARD[1] / CARD[2])
FIRM, SLIPPERY = 1.1, 0.9


@dataclass(frozen=True)
class Case:
    """A scene and the frames it takes.

    Args:
        outcome: what becomes of it, where that is known, by the (N, 3) positions of each body
            after every frame.
    """

    scene: Callable[[], Scene]
    frames: int
    outcome: Callable[[Sequence[list[NDArray[np.float64]]]], list[Check]] = lambda course: []
    integrator: Integrator = AS_USUAL


def run() -> Subject:
    courses = {name: _course(case) for name, case in CASES.items()}
    checks: list[Check] = []
    for name, course in courses.items():
        checks += course.checks(name, 1.0)
        checks += CASES[name].outcome(course.positions)
    return Subject(
        title="Scenes from the literature",
        text="Tips and edges that meet exactly: a spike on a spike, on a wedge and in a hole that "
        "fits it, and a wedge on a wedge. Further, a cube whose edges meet those of a cliff, one "
        "that slides "
        "over the inner edges of a floor, and a wedge that slides along two rails. A mat that "
        "falls on knives; four rods twisted around each other; a soft fish pulled by its nose "
        "through a funnel of three quarters its width. Two cards lean on each other at "
        f"{math.degrees(LEAN):g}°. They stand where the friction of the floor is above "
        f"½ (tan θ − t/l) = {CRITICAL:.3f} and slide apart below. Friction between "
        "the cards does nothing, by symmetry. Meshes and figures are our own. Automatic "
        "steps, as a user gets them; the cards, which are stiff, by implicit Euler, and a soft "
        "cube over inner edges by symplectic Euler.",
        source="Erleben, “Methodology for Assessing Mesh-Based Contact Point Methods”, ACM "
        "Transactions on Graphics 37(3), 2018, for tips and edges. Li et al., “Incremental "
        "Potential Contact”, 2020, for the others; moments about the foot of a rigid card.",
        checks=checks,
        panels=panels(courses),
    )


def _course(case: Case) -> ContactCourse:
    return ContactCourse.of(case.scene(), case.integrator, case.frames)


def _falling(mesh: TetMesh, on: Sequence[Collider], height: float = GAP) -> Scene:
    """A soft body whose lowest point begins at a height in metres."""
    raised = mesh.with_vertices(mesh.vertices + np.array([0.0, 0.0, height]))
    body = SoftBody(raised, SOFT, velocity=(0.0, 0.0, -FALL_M_PER_S))
    return Scene([body], colliders=[*on, sheet(-0.3)], contact=Contact())


# Tips and edges


def _spike_on_spike() -> Scene:
    return _falling(wedges.spike(HALF, HEIGHT), [wedges.spike_collider(HALF, HEIGHT, 0.0)])


def _spike_on_wedge() -> Scene:
    edge = wedges.wedge_collider(HALF, HEIGHT, LENGTH, (0.0, 0.0, 0.0))
    return _falling(wedges.spike(HALF, HEIGHT), [edge])


def _spike_in_hole() -> Scene:
    pit = wedges.hole(1.1 * HALF, HEIGHT, 0.3)
    return _falling(wedges.spike(HALF, HEIGHT), [pit], GAP - HEIGHT)


def _wedge_on_wedge() -> Scene:
    edge = wedges.wedge_collider(HALF, HEIGHT, LENGTH, (0.0, 0.0, 0.0))
    return _falling(wedges.wedge(HALF, HEIGHT, LENGTH), [edge])


def _cliff() -> Scene:
    cube = block((3, 3, 3), (0.1, 0.1, 0.1))
    return _falling(cube, [wedges.box_collider((0.0, 0.0, -0.1), (0.1, 0.1, 0.0))])


def _inner_edges(material: StableNeoHookean) -> Callable[[], Scene]:
    """Frictionless, over a floor whose edges the cube's vertices begin on."""

    def scene() -> Scene:
        cube = block((2, 2, 2), (0.1, 0.1, 0.1), (-0.15, -0.05, 1e-3))
        body = SoftBody(cube, material, velocity=(SLIDES_M_PER_S, 0.0, 0.0))
        contact = Contact(friction=0.0)
        return Scene([body], colliders=[wedges.tiles(16, 0.05)], contact=contact)

    return scene


def _rails() -> Scene:
    """A wedge that stands between two others whose edges are parallel to its own."""
    rails: list[Sphere | Collider] = [
        wedges.wedge_collider(0.03, 0.1, 0.8, (x, 0.0, 0.0), name) for x, name in RAILS.items()
    ]
    mesh = wedges.wedge(HALF, HEIGHT, LENGTH)
    lowered = mesh.with_vertices(mesh.vertices + np.array([0.0, -0.2, GAP - 0.5 * HEIGHT]))
    body = SoftBody(lowered, SOFT, velocity=(0.0, SLIDES_M_PER_S, 0.0))
    return Scene([body], colliders=rails, contact=Contact(friction=0.0))


RAILS = {-0.035: "left rail", 0.035: "right rail"}


def _keeps_its_speed(course: Sequence[list[NDArray[np.float64]]]) -> list[Check]:
    """Over the second half of the frames."""
    middle, last = (course[k][0].mean(axis=0) for k in (len(course) // 2, -1))
    frames = len(course) - 1 - len(course) // 2
    along = float(np.abs(last - middle)[:2].max()) * 24 / frames
    return [near("… and its speed at the end", along, SLIDES_M_PER_S, 0.02, "m/s")]


# Blades, knots, funnels, cards


def _mat_on_knives() -> Scene:
    mat = block((14, 14, 1), (0.4, 0.4, 0.03), (-0.2, -0.2, GAP))
    body = SoftBody(mat, SOFT, velocity=(0.0, 0.0, -FALL_M_PER_S), name="mat")
    knives: list[Sphere | Collider] = [
        wedges.wedge_collider(0.004, 0.2, 0.5, (x, 0.0, 0.0), f"knife {k}")
        for k, x in enumerate((-0.12, 0.0, 0.12))
    ]
    return Scene([body], colliders=knives, contact=Contact())


def _rods() -> Scene:
    frames = CASES["twisted rods"].frames
    rods = []
    for k in range(4):
        y, z = 0.035 * math.cos(0.5 * math.pi * k), 0.035 * math.sin(0.5 * math.pi * k)
        mesh = block((16, 1, 1), (0.6, 0.03, 0.03), (-0.3, y - 0.015, z - 0.015))
        pinned = np.flatnonzero(np.abs(mesh.vertices[:, 0]) > 0.299).astype(np.int32)
        path = _turned(mesh.vertices[pinned], TURNS, frames)
        rods.append(SoftBody(mesh, SOFT, pinned=pinned, pin_path=path, name=f"rod {k}"))
    return Scene(rods, gravity=(0.0, 0.0, 0.0), contact=Contact())


def _turned(ends: NDArray[np.float64], turns: float, frames: int) -> Channel:
    """Both ends turn by half of the turns about the x axis, one against the other."""
    x, y, z = ends.T
    angles = np.linspace(0.0, math.pi * turns, frames + 1)[:, None] * np.sign(x)
    cosine, sine = np.cos(angles), np.sin(angles)
    straight = np.broadcast_to(x, angles.shape)
    turned = [straight, cosine * y - sine * z, sine * y + cosine * z]
    return Channel(np.stack(turned, axis=-1))


def _fish() -> Scene:
    frames = CASES["fish in a funnel"].frames
    ball = graded_ball(0.1, 3, 1.0)
    mesh = ball.with_vertices(ball.vertices * (1.6, 1.0, 1.0) + (-0.2, 0.0, 0.0))
    nose = np.flatnonzero(mesh.vertices[:, 0] > -0.08).astype(np.int32)
    way = np.linspace(0.0, 0.65, frames + 1)[:, None, None] * np.array([1.0, 0.0, 0.0])
    path = Channel(mesh.vertices[nose] + way)
    fish = SoftBody(mesh, SOFT, pinned=nose, pin_path=path, name="fish")
    pipe = wedges.funnel(0.2, 0.075, 0.15)
    return Scene([fish], gravity=(0.0, 0.0, 0.0), colliders=[pipe], contact=Contact(friction=0.0))


def _is_through(course: Sequence[list[NDArray[np.float64]]]) -> list[Check]:
    return [at_least("… and how far its tail has come in", course[-1][0][:, 0].min(), 0.02, "m")]


def _cards(friction: float) -> Callable[[], Scene]:
    width, thickness, length = CARD
    mesh = block((3, 1, 5), CARD, (-0.5 * width, 0.0, 0.0))
    cosine, sine = math.cos(LEAN), math.sin(LEAN)
    cards = []
    for side in (-1.0, 1.0):
        x, y, z = mesh.vertices.T
        # The upper edge of its inner face is at the plane y = 0, the lower one away from it.
        inward = y - thickness
        leaning = np.stack(
            [x, cosine * inward - sine * (length - z), cosine * z - sine * inward], axis=1
        )
        leaning += (0.0, -2.2e-4, 4.5e-4)
        leaning[:, 1] *= -side
        tets = mesh.tets if side < 0.0 else mesh.tets[:, [1, 0, 2, 3]]
        cards.append(SoftBody(TetMesh(leaning, tets), STIFF, damping=2.0, name=f"card {side:+g}"))
    contact = Contact(friction=0.5, distance=5e-4)
    floor = sheet(0.0, 0.5)
    floor.friction = friction
    return lambda: Scene(cards, colliders=[floor], contact=contact)


def _top_sinks_by(course: Sequence[list[NDArray[np.float64]]]) -> float:
    """In millimetres."""
    first, last = (max(float(at[:, 2].max()) for at in course[k]) for k in (0, -1))
    return 1e3 * (first - last)


def _stands(course: Sequence[list[NDArray[np.float64]]]) -> list[Check]:
    return [at_most("… and how far its top sinks in 1 s", _top_sinks_by(course), 1.0, "mm")]


def _falls(course: Sequence[list[NDArray[np.float64]]]) -> list[Check]:
    return [at_least("… and how far its top sinks in 1 s", _top_sinks_by(course), 20.0, "mm")]


CASES = {
    "spike on spike": Case(_spike_on_spike, 12),
    "spike on wedge": Case(_spike_on_wedge, 12),
    "spike in its hole": Case(_spike_in_hole, 12),
    "wedge on wedge": Case(_wedge_on_wedge, 12),
    "cube on a cliff": Case(_cliff, 12),
    "stiff cube over inner edges": Case(_inner_edges(STIFF), 10, _keeps_its_speed),
    "cube over inner edges": Case(_inner_edges(SOFT), 6, _keeps_its_speed, SymplecticEuler()),
    "wedge along rails": Case(_rails, 10, _keeps_its_speed),
    "mat on knives": Case(_mat_on_knives, 16),
    "twisted rods": Case(_rods, 24),
    "fish in a funnel": Case(_fish, 30, _is_through),
    f"cards, μ = {FIRM * CRITICAL:.3f}": Case(
        _cards(FIRM * CRITICAL), 24, _stands, ImplicitEuler(1e-6)
    ),
    f"cards, μ = {SLIPPERY * CRITICAL:.3f}": Case(
        _cards(SLIPPERY * CRITICAL), 24, _falls, ImplicitEuler(1e-6)
    ),
}
