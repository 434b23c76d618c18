# SPDX-License-Identifier: GPL-3.0-or-later
"""What is seen is what touches: the ground, spheres and mesh colliders."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody, Sphere, SurfaceMesh
from supple.core.integrators import BDF2, XPBD, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean

from .balls import seen_points, soft_ball

FALL = 0.3


def _lowest(simulator: Simulator, frames: int) -> list[float]:
    """Of what is seen, in metres above the ground, frame by frame."""
    (body,) = simulator.scene.bodies
    return [
        float(seen_points(body, frame.positions[0].numpy())[:, 2].min())
        for frame in simulator.run(frames)
    ]


@pytest.mark.parametrize("integrator", [SymplecticEuler(), XPBD(), ImplicitEuler(), BDF2()])
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
    corners = np.array([[-2.0, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]])
    plate = Collider(corners, [[0, 1, 2], [0, 2, 3]], name="Plate")
    ball = soft_ball((0.0, 0.0, 0.6), subdivisions=3, damping=2.0)
    lowest = _lowest(Simulator(Scene([ball], colliders=[plate])), 24)
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


def test_a_coarse_mesh_does_not_hang_on_its_corners() -> None:
    """Between the corners of a cube its tetrahedra would sag unseen."""
    corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.01, 1.01)])
    faces = [
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
    ]
    mesh = SurfaceMesh(corners, np.array(faces, dtype=np.int32), edge_length=0.25)
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), damping=4.0)
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
