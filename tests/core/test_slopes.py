# SPDX-License-Identifier: GPL-3.0-or-later
"""A block on a slope sticks and slides as Coulomb has it, whatever it lies on and in what steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, PairFriction, Scene, Simulator, SoftBody
from supple.core.geometry.embedding import embed
from supple.core.integrators import XPBD, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import ContactSurface
from supple.verification.meshes import block

ANGLE, GRAVITY = math.atan(0.5), 9.81
# Above what shape and weight make of the share that a vertex bears.
STATIC, KINETIC = 0.8, 0.4
#: What comes to those: of the block, and of what it lies on.
OWN, OTHER = (1.6, 0.8), (0.4, 0.2)
#: Coefficients of both, in either order, and of the one that has any.
SIDES = [(OWN, OTHER), (OTHER, OWN), ((None, None), (STATIC, KINETIC))]
PULL = GRAVITY * (math.sin(ANGLE) - KINETIC * math.cos(ANGLE))
PUSHED = 1.0
SIZE, DISTANCE = (0.4, 0.4, 0.1), 1e-3
FRAMES, FRAME_RATE = 8, 24
IMPLICIT, EXPLICIT = ImplicitEuler(1e-6), (SymplecticEuler(), XPBD())
Friction = tuple[float | None, float | None]


def _block(friction: Friction, speed: float, height: float = 0.5 * DISTANCE) -> SoftBody:
    return SoftBody(
        block((2, 2, 1), SIZE, (0.0, 0.0, height)),
        StableNeoHookean(1e6, 0.3),
        velocity=(speed, 0.0, 0.0),
        friction=friction[0],
        kinetic_friction=friction[1],
        name="Block",
    )


def _seen(body: SoftBody) -> SoftBody:
    """Give a body a surface with more points than vertices, at which it meets the ground."""
    fine = block((4, 4, 2), SIZE, (0.0, 0.0, 0.5 * DISTANCE))
    points = fine.vertices
    body.seen_surface = ContactSurface(points, fine.surface, embed(body.mesh, points))
    return body


def _on_ground(own: Friction, ground: Friction, speed: float) -> Scene:
    level = Ground(0.0, ground[0], distance=DISTANCE, kinetic_friction=ground[1])
    return Scene([_block(own, speed)], level, _tilted())


def _on_points(own: Friction, ground: Friction, speed: float) -> Scene:
    scene = _on_ground(own, ground, speed)
    scene.bodies[0] = _seen(scene.bodies[0])
    return scene


def _on_collider(own: Friction, other: Friction, speed: float) -> Scene:
    corners = np.array([[-5.0, -5, 0], [9, -5, 0], [-5, 9, 0]])
    plate = Collider(corners, [[0, 1, 2]], *other, name="Plate")
    contact = Contact(DISTANCE, self_contact=False)
    return Scene([_block(own, speed)], None, _tilted(), [plate], contact)


def _on_body(own: Friction, other: Friction, speed: float) -> Scene:
    mesh = block((2, 1, 1), (3.0, 1.0, 0.3), (-0.5, -0.3, -0.3))
    base = SoftBody(
        mesh,
        StableNeoHookean(1e8, 0.3),
        pinned=np.flatnonzero(mesh.vertices[:, 2] < -0.1),
        friction=other[0],
        kinetic_friction=other[1],
        name="Base",
    )
    contact = Contact(DISTANCE, self_contact=False)
    return Scene([_block(own, speed), base], None, _tilted(), contact=contact)


def _tilted() -> tuple[float, float, float]:
    return (GRAVITY * math.sin(ANGLE), 0.0, -GRAVITY * math.cos(ANGLE))


LAID = pytest.mark.parametrize(
    ("laid", "integrator"),
    [
        *((laid, it) for laid in (_on_ground, _on_points) for it in (IMPLICIT, *EXPLICIT)),
        (_on_collider, IMPLICIT),
        (_on_body, IMPLICIT),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)


def _way(simulator: Simulator) -> float:
    """The distance that the block slides from rest."""
    rest = simulator.settle().positions[0]
    *_, last = simulator.run(FRAMES)
    return float((last.positions[0] - rest)[:, 0].mean())


def _acceleration(simulator: Simulator) -> float:
    """Down the slope, once the block has landed."""
    mass = simulator.system.mass[: len(simulator.system.meshes[0].vertices)]
    speeds = [float(mass @ frame.velocities[0][:, 0]) for frame in simulator.run(FRAMES)]
    late = np.arange(FRAMES // 2, FRAMES) / FRAME_RATE
    return float(np.polyfit(late, speeds[FRAMES // 2 :], 1)[0] / float(mass.sum()))


def _simulated(scene: Scene, integrator: Integrator) -> Simulator:
    if isinstance(integrator, SymplecticEuler):
        scene.bodies[0].stiffness_damping = 2e-3
    return Simulator(scene, integrator, device="cpu")


@LAID
def test_at_rest_it_sticks_though_its_kinetic_friction_would_not_hold_it(laid, integrator) -> None:
    for own, other in SIDES if laid is _on_ground else SIDES[:1]:
        assert abs(_way(_simulated(laid(own, other, 0.0), integrator))) < 1e-3 * SIZE[0]


@LAID
def test_once_it_slides_its_kinetic_friction_slows_it(laid, integrator) -> None:
    for own, other in SIDES if laid is _on_ground else SIDES[:1]:
        found = _acceleration(_simulated(laid(own, other, PUSHED), integrator))
        assert found == pytest.approx(PULL, rel=2e-3)


@LAID
def test_at_rest_it_slides_where_its_static_friction_cannot_hold_it(laid, integrator) -> None:
    scene = laid((0.45, 0.4), (0.45, 0.4), 0.0)
    found = _acceleration(_simulated(scene, integrator))
    assert found == pytest.approx(PULL, rel=5e-3)


def test_a_named_pair_counts_on_the_ground_too() -> None:
    sticks, slides = (_on_ground(OWN, OWN, 0.0) for _ in range(2))
    for scene, pair in ((sticks, (STATIC, KINETIC)), (slides, (KINETIC, KINETIC))):
        scene.contact = Contact(DISTANCE, pairs=[PairFriction("Block", "Ground", *pair)])
    assert abs(_way(_simulated(sticks, IMPLICIT))) < 1e-3 * SIZE[0]
    assert _acceleration(_simulated(slides, IMPLICIT)) == pytest.approx(PULL, rel=5e-3)
