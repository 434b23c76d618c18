# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies between jaws, slabs that stay apart, and contact of the visible mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from supple.core import (
    Collider,
    Contact,
    Ground,
    Scene,
    Simulator,
    SoftBody,
    Sphere,
    SurfaceMesh,
    tetrahedralize,
)
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    Integrator,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.core.scene.soft_body import tet_mesh_of

from .balls import seen_points, soft_ball
from .boxes import BOX_TRIANGLES, box_corners
from .touching import plate

SIZE, RESOLUTION, FRICTION = 0.2, 4, 0.8
CLOSING, LIFTING = 8, 12
# Of the size: how far the jaws are from the body at first, and by how much they squeeze it.
GAP, SQUEEZE = 0.01, 0.3


def hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on a convex surface around the origin, and triangles that face outwards."""
    triangles = ConvexHull(points).simplices
    a, b, c = points[triangles].swapaxes(0, 1)
    inward = np.einsum("ki,ki->k", np.cross(b - a, c - a), a) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return points, triangles


CUBE = hull(np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]))


def ball() -> tuple[np.ndarray, np.ndarray]:
    """A ball of 200 points on a spiral."""
    index = np.arange(200) + 0.5
    height, angle = 1.0 - index / 100.0, np.pi * (1.0 + np.sqrt(5.0)) * index
    radius = np.sqrt(1.0 - height * height)
    return hull(0.5 * np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1))


def jaw(side: float) -> Collider:
    """A block that comes from one side, and goes up by the size of the body."""
    vertices, triangles = CUBE
    frames = np.arange(CLOSING + LIFTING + 1)
    closed = np.minimum(frames / CLOSING, 1.0)
    # Half of its own width beside the face that touches.
    aside = side * SIZE * (0.5 + GAP - closed * (GAP + 0.5 * SQUEEZE) + 0.1)
    up = SIZE * np.maximum(frames - CLOSING, 0) / LIFTING
    path = np.stack([aside, 0.0 * up, up + 0.6 * SIZE], axis=1)
    block = SIZE * vertices * (0.2, 1.2, 1.2)
    return Collider(path[:, None] + block, triangles, friction=FRICTION)


@pytest.mark.parametrize("shape", [CUBE, ball()], ids=["cube", "ball"])
def test_a_coarse_body_is_held_and_lifted_by_its_tetrahedra(shape) -> None:
    points, triangles = shape
    vertices = SIZE * (points + np.array([0.0, 0.0, 0.501]))
    body = SoftBody(
        SurfaceMesh(vertices, triangles, edge_length=SIZE / RESOLUTION),
        StableNeoHookean(3e4, 0.45),
        touching="tetrahedra",
        friction=FRICTION,
    )
    scene = Scene([body], Ground(), contact=Contact(), colliders=[jaw(-1.0), jaw(1.0)])
    simulator = Simulator(scene, Automatic(), device="cpu")
    centres = []
    for frame in simulator.run(CLOSING + LIFTING):
        centres.append(frame.positions[0].numpy().mean(axis=0))
        assert frame.report.minimum_volume_ratio > 0.4
    lifted = centres[-1] - centres[CLOSING - 1]
    assert np.abs(lifted[:2]).max() < 0.02 * SIZE
    assert lifted[2] == pytest.approx(SIZE, abs=0.1 * SIZE)


CORNERS = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [t for a, b, c, d in SIDES for t in ([a, b, c], [a, c, d])]


def slab(size: tuple[float, float, float], bottom: float, edge_length: float) -> SoftBody:
    vertices = CORNERS * size + np.array([0.013 * size[0], 0.0, bottom])
    return SoftBody(SurfaceMesh(vertices, TRIANGLES, edge_length=edge_length))


def guide_distance(size: tuple[float, float, float], edge_length: float) -> float:
    """*Contact › Distance* of the user guide, at most: a fifth of an edge is longer here."""
    distance = 3e-3 * float(np.linalg.norm(size))
    assert distance < 0.2 * edge_length
    return distance


def displacement(
    gap_ratio: float,
    lower: tuple,
    upper: tuple,
    integrator: Integrator,
    distance: float | None = None,
) -> float:
    """The largest displacement in two frames of two slabs above each other, over the distance.

    Args:
        gap_ratio: the gap, in units of the smaller distance of the two.
        lower, upper: size in metres and edge length.
        distance: that of the two in metres; None is by their diagonals.
    """
    if distance is None:
        distance = min(guide_distance(*lower), guide_distance(*upper))
    bodies = [slab(lower[0], 0.0, lower[1])]
    bodies.append(slab(upper[0], lower[0][2] + gap_ratio * distance, upper[1]))
    simulator = Simulator(
        Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact()), integrator, device="cpu"
    )
    start = simulator.state.positions.clone()
    for _ in simulator.run(2):
        pass
    return float((simulator.state.positions - start).abs().max()) / distance


THICK = (1.0, 1.0, 0.25), 0.2
SIZES = {
    "alike": (THICK, THICK),
    "plates of a metre": (((1.0, 1.0, 0.05), 0.2), ((1.0, 1.0, 0.05), 0.2)),
    "centimetres": (((0.04, 0.03, 0.01), 0.008), ((0.04, 0.03, 0.01), 0.008)),
    "a small one on a large one": (((2.0, 2.0, 0.5), 0.4), ((0.3, 0.2, 0.1), 0.08)),
    "a large one on a small one": (((0.3, 0.2, 0.1), 0.08), ((2.0, 2.0, 0.5), 0.4)),
    "ten metres": (((10.0, 6.0, 1.0), 1.5), ((10.0, 6.0, 1.0), 1.5)),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
def test_slabs_a_hair_farther_apart_than_the_distance_stay_still(sizes: tuple) -> None:
    lower, upper = sizes
    assert displacement(1.001, lower, upper, ImplicitEuler()) < 1e-9


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Automatic()], ids=str)
def test_they_stay_still_in_explicit_steps(integrator: Integrator) -> None:
    assert displacement(1.001, THICK, THICK, integrator) < 1e-9


def test_a_bar_with_small_tetrahedra_stays_still_a_hair_beyond_a_fifth_of_an_edge() -> None:
    bar = (1.0, 0.02, 0.02), 0.012
    mesh = tetrahedralize(CORNERS * bar[0], TRIANGLES, edge_length=bar[1])
    distance = 0.2 * float(mesh.mean_edges.mean())
    assert distance < 0.9 * 3e-3
    assert displacement(1.001, bar, THICK, ImplicitEuler(), distance) < 1e-9


def test_slabs_that_are_nearer_push_each_other_away() -> None:
    assert displacement(0.7, THICK, THICK, ImplicitEuler()) > 0.05


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
