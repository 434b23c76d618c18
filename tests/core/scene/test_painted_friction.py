# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks whose undersides are painted, on slopes: that gravity leans is that the ground does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody, SurfacePaint
from supple.core.integrators import (
    XPBD,
    ImplicitEuler,
    Integrator,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.friction import painted_shares
from supple.core.simulator import Frame
from supple.verification.meshes import block

G, SLOPE, OWN, OTHER = 10.0, 0.5, 0.8, 0.2
FRAME, FRAMES = 0.02, 10
#: Between a block and what it lies on: about where it rests.
GAP = 1.85e-3
#: Of the surfaces' 0.8 and 0.2 unpainted.
WHOLE = 0.4
CELLS, SIZE = (3, 4, 1), (0.12, 0.16, 0.03)


def painted_block(factors, gap: float) -> SoftBody:
    """``factors`` of (V, 3) points, on its surface."""
    mesh = block(CELLS, SIZE, (0.0, 0.0, gap))
    paint = SurfacePaint(mesh.vertices, mesh.surface, factors(mesh.vertices))
    material = StableNeoHookean(3e5, 0.3)
    return SoftBody(
        mesh, material, stiffness_damping=2e-3, friction=OWN, friction_paint=paint, name="Block"
    )


def frames_of(scene: Scene, integrator: Integrator, **options) -> list[Frame]:
    run = Simulator(scene, integrator, frame_time=FRAME, device="cpu", **options)
    return list(run.run(FRAMES))


def acceleration(*scene, **options) -> float:
    """Down the slope, once it lies on it."""
    speeds = [float(frame.velocities[0][:, 0].mean()) for frame in frames_of(*scene, **options)]
    return (speeds[-1] - speeds[FRAMES // 2]) / (FRAME * (FRAMES - 1 - FRAMES // 2))


def expected(friction: float) -> float:
    return max(0.0, G * (math.sin(math.atan(SLOPE)) - friction * math.cos(math.atan(SLOPE))))


GRAVITY = (G * math.sin(math.atan(SLOPE)), 0.0, -G * math.cos(math.atan(SLOPE)))


def on_ground(factors) -> Scene:
    ground = Ground(distance=2e-3, friction=OTHER)
    return Scene([painted_block(factors, GAP)], gravity=GRAVITY, ground=ground)


def on_mesh(factors) -> Scene:
    plate = np.array([[-1.0, -1, 0], [3, -1, 0], [3, 1, 0], [-1, 1, 0]])
    collider = Collider(plate, np.array([[0, 1, 2], [0, 2, 3]], np.int32), friction=OTHER)
    contact = Contact(distance=2e-3)
    body = painted_block(factors, GAP)
    return Scene([body], gravity=GRAVITY, contact=contact, colliders=[collider])


def evenly(factor: float):
    return lambda points: np.full(len(points), factor)


def in_the_middle(factor: float):
    """On the middle line of the underside, along the slope; it counts for a quarter."""

    def factors(points):
        middle = np.isclose(points[:, 1], SIZE[1] / 2) & np.isclose(points[:, 2], GAP)
        return np.where(middle, factor, 1.0)

    return factors


EVERYWHERE = [
    pytest.param(on_ground, ImplicitEuler(1e-6), {"substeps": 2}, id="ground-implicit"),
    pytest.param(on_ground, SymplecticEuler(), {}, id="ground-explicit"),
    pytest.param(on_mesh, ImplicitEuler(1e-6), {"substeps": 2}, id="mesh-implicit"),
    pytest.param(on_mesh, SymplecticEuler(), {}, id="mesh-explicit"),
]


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_it_slides_by_the_root_of_what_is_painted(scene, integrator, options) -> None:
    found = acceleration(scene(evenly(0.25)), integrator, **options)
    assert found == pytest.approx(expected(0.5 * WHOLE), rel=0.01)


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_what_is_painted_along_a_line_counts_by_its_area(scene, integrator, options) -> None:
    found = acceleration(scene(in_the_middle(0.0)), integrator, **options)
    # Between the line and its neighbours √f is ⅔ in the mean where contacts are, else 0 and 1.
    assert expected(WHOLE) < found
    assert found == pytest.approx(expected(0.75 * WHOLE), rel=0.06)


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_it_sticks_where_it_is_painted_rough(scene, integrator, options) -> None:
    frames = frames_of(scene(evenly(9.0)), integrator, **options)
    under = frames[-1].positions[0][:, 2] < 0.5 * SIZE[2]
    before, after = (frame.positions[0][under, 0].mean() for frame in (frames[4], frames[-1]))
    # It would have slid by 3 mm with the 0.4 of what is not painted.
    assert abs(float(after - before)) < 2e-4


def test_what_is_put_back_on_the_ground_has_it_too() -> None:
    scene = on_ground(evenly(0.25))
    body = replace(scene.bodies[0], stiffness_damping=0.0)
    assert scene.ground is not None
    scene.bodies, scene.ground = [body], replace(scene.ground, response="projection")
    for each in (SymplecticEuler(), XPBD()):
        found = acceleration(scene, each)
        assert found == pytest.approx(expected(0.5 * WHOLE), rel=0.05)


def test_the_share_of_a_pair_is_that_of_its_closest_points() -> None:
    # A point on the middle of a face whose corners have 0.1, 0.2 and 0.6; edges that cross.
    coefficients = np.array([[1.0, -0.25, -0.25, -0.5], [0.75, 0.25, -0.5, -0.5]])
    factors = np.array([[0.5, 0.1, 0.2, 0.6], [0.4, 0.8, 0.2, 0.6]])
    found = painted_shares(coefficients, factors)
    np.testing.assert_allclose(found**2, [0.5 * (0.025 + 0.05 + 0.3), 0.5 * 0.4])
