# SPDX-License-Identifier: GPL-3.0-or-later
"""Test contact of the visible mesh: the ground, spheres and mesh colliders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core import Contact, Ground, Scene, Simulator, SoftBody, Sphere, SurfaceMesh
from supple.core.integrators import BDF2, SDIRK2, XPBD, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.start_shape import tet_mesh_of

from .balls import seen_points, soft_ball
from .boxes import BOX_TRIANGLES, box_corners
from .touching import plate

FALL = 0.3


def _lowest(simulator: Simulator, frames: int) -> list[float]:
    """The height of the visible mesh's lowest point in metres above the ground, frame by frame."""
    (body,) = simulator.scene.bodies
    return [
        float(seen_points(body, frame.positions[0].numpy())[:, 2].min())
        for frame in simulator.run(frames)
    ]


@pytest.mark.parametrize(
    "integrator", [SymplecticEuler(), XPBD(), ImplicitEuler(), BDF2(), SDIRK2()]
)
def test_a_ball_is_never_seen_in_the_ground_and_comes_to_it(integrator: Integrator) -> None:
    scene = Scene([soft_ball((0.0, 0.0, 0.5 + FALL), subdivisions=3, damping=2.0)], Ground())
    simulator = Simulator(scene, integrator)
    lowest = _lowest(simulator, 30)
    assert min(lowest) > 0.0
    # Within the distance at which the ground begins to push.
    assert lowest[-1] < 2e-3


@pytest.mark.parametrize("distance", [None, 3e-4])
def test_with_contact_it_is_seen_neither_in_the_ground_nor_in_itself(distance) -> None:
    ball = soft_ball((0.0, 0.0, 0.7), subdivisions=3, damping=2.0)
    simulator = Simulator(Scene([ball], Ground(distance=distance), contact=Contact()))
    assert min(_lowest(simulator, 20)) > 0.0


def test_a_ball_is_never_seen_in_a_plate_that_it_lies_on() -> None:
    ball = soft_ball((0.0, 0.0, 0.6), subdivisions=3, damping=2.0)
    lowest = _lowest(Simulator(Scene([ball], colliders=[plate(0.0, 2.0)])), 24)
    assert min(lowest) > 0.0
    assert lowest[-1] < 5e-3


def test_a_ball_is_never_seen_in_a_sphere_nor_in_a_bouncy_ground() -> None:
    sphere = Sphere((0.0, 0.0, 0.0), 0.5, friction=1.0)
    ball = soft_ball((0.05, 0.0, 1.2), subdivisions=3)
    ground = Ground(-0.5, response="projection", restitution=0.5)
    simulator = Simulator(Scene([ball], ground, colliders=[sphere]), SymplecticEuler())
    closest = np.inf
    for frame in simulator.run(30):
        seen = seen_points(simulator.scene.bodies[0], frame.positions[0].numpy())
        closest = min(closest, float(np.linalg.norm(seen, axis=1).min()) - 0.5)
        assert seen[:, 2].min() > -0.5 - 1e-9
    assert -1e-9 < closest < 1e-3


def _coarse_cube(height: float, young: float, **settings: Any) -> SoftBody:
    """1 m wide, of 12 triangles, around tetrahedra a quarter as long."""
    corners = box_corners((0.0, 0.0, height))
    mesh = SurfaceMesh(corners, BOX_TRIANGLES, edge_length=0.25)
    return SoftBody(mesh, StableNeoHookean(young, 0.3), **settings)


def test_a_coarse_mesh_does_not_hang_on_its_corners() -> None:
    """Between the corners of a cube its tetrahedra would sag unseen."""
    body = _coarse_cube(0.01, 1e4, damping=4.0)
    simulator = Simulator(Scene([body], Ground()), SymplecticEuler())
    list(simulator.run(48))
    barrier = simulator.system.ground_barrier
    assert barrier is not None
    heights = barrier.points.gather(simulator.state.positions)
    bottom = heights[2] < 0.02
    middle = bottom & (heights[0] - 0.5).abs().lt(0.3) & (heights[1] - 0.5).abs().lt(0.3)
    assert int(middle.sum()) > 0
    carried = barrier.normal_force(simulator.state.positions)
    assert float(carried[middle].sum()) > 0.1 * float(carried.sum())
    weight = 9.81 * float(simulator.system.mass.sum())
    assert float(carried.sum()) == pytest.approx(weight, rel=0.05)


def test_a_plate_or_another_body_bears_it_between_its_corners() -> None:
    """Borne at its corners alone it would sink twice as far."""
    young = 2e5
    boxes = [_coarse_cube(height, young, damping=16.0) for height in (0.006, 1.012)]
    simulator = Simulator(
        Scene(boxes, colliders=[plate(0.0, 2.0)], contact=Contact()), ImplicitEuler()
    )
    *_, last = simulator.run(16)
    starts = [tet_mesh_of(body).vertices for body in simulator.scene.bodies]
    sunk = [
        float((start - ended.numpy())[:, 2].mean())
        for start, ended in zip(starts, last.positions, strict=True)
    ]
    # Of two columns on each other, in the mean of their heights, by the weight of each: that below
    # shortens by a half of ρ g H² / E by itself, and by all of it under that above.
    unit = 1000.0 * 9.81 / young
    assert sunk == pytest.approx([unit * (1 / 3 + 1 / 2), unit * (3 / 2 + 1 / 3)], rel=0.1)
