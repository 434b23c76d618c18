# SPDX-License-Identifier: GPL-3.0-or-later
"""Collisions and their barrier beside ipctk's, and by what weights have to add up to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.math3.closest_points import CROSSING
from supple.core.potentials.contact.barrier import ContactBarrier
from supple.core.potentials.contact.collision_detection import Candidates
from supple.core.potentials.contact.normal_collisions import NormalCollisions, Stencils
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.tests.core.potentials.contact.reference import (
    own_weights,
    potential_of,
    reference_collisions,
    reference_mesh,
    reference_weights,
)
from supple.verification.collider_meshes import bowl
from supple.verification.meshes import block

pytest.importorskip("ipctk")

STIFFNESS = 3e4
#: A closed collider, with larger faces than the bodies have.
STAND = block((1, 1, 1), (2.0, 2.0, 0.5), (-0.5, -0.5, -0.52))


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def area_weighted(request) -> bool:
    return request.param


def pile(seed: int) -> tuple[CollisionSurface, Points]:
    """Three equal turned blocks on a stand, close to each other and pressed out of shape."""
    random, meshes = np.random.default_rng(seed), []
    for level in range(3):
        turn = Rotation.from_euler("z", 0.4 * level).as_matrix() if level else np.eye(3)
        mesh = block((3, 3, 2), (1.0, 1.0, 0.4), (-0.5, -0.5, 0.42 * level))
        meshes.append(mesh.with_vertices(mesh.vertices @ turn.T))
    scene = Scene(
        [SoftBody(mesh, name=f"Body {index}") for index, mesh in enumerate(meshes)],
        colliders=[Collider(STAND.vertices, STAND.surface)],
        contact=Contact(),
    )
    surface = CollisionSurface(scene, meshes)
    rest = np.concatenate([mesh.vertices for mesh in meshes])
    points = surface.points(rest.T, surface.colliders_at(0, 0.0))
    return surface, points + random.normal(scale=0.003, size=points.shape)


def heap(seed: int) -> tuple[CollisionSurface, Points]:
    """Two blocks with their vertices anywhere, most of what they have intersecting."""
    meshes = [block((2, 2, 1)), block((1, 2, 2))]
    scene = Scene([SoftBody(mesh, name=str(index)) for index, mesh in enumerate(meshes)])
    scene.contact = Contact()
    surface = CollisionSurface(scene, meshes)
    points = np.random.default_rng(seed).uniform(size=surface.rest.shape)
    return surface, points


SCENES = {"pile": (pile, 0.06), "heap": (heap, 0.15)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scene", SCENES)
def test_weights_energy_and_forces_are_those_of_the_toolkit(scene, seed, area_weighted) -> None:
    make, distance = SCENES[scene]
    surface, points = make(seed)
    found, candidates = reference_collisions(surface, points, distance, area_weighted)
    distances = np.full((len(surface.names),) * 2, distance)
    own = NormalCollisions.of(candidates, points, surface.topology, distances, area_weighted)
    assert len(own) > 100
    theirs, ours = reference_weights(found, surface), own_weights(own)
    most = max(map(abs, theirs.values()))
    for key in theirs.keys() | ours.keys():
        assert ours.get(key, 0.0) == pytest.approx(theirs.get(key, 0.0), abs=1e-12 * most), key
    mesh, potential = reference_mesh(surface), potential_of(distance, STIFFNESS, area_weighted)
    stencils, barrier = Stencils.of(own, points), ContactBarrier(surface, STIFFNESS, area_weighted)
    energy = potential(found, mesh, np.asfortranarray(points))
    assert barrier.energy(stencils) == pytest.approx(energy, rel=1e-10)
    gradient = potential.gradient(found, mesh, np.asfortranarray(points)).reshape(-1, 3)
    own_gradient = barrier.gradient(stencils)
    np.testing.assert_allclose(own_gradient, gradient, atol=1e-10 * np.abs(gradient).max())
    # Edges of one body and the next are almost parallel where it was not turned.
    assert scene == "heap" or (stencils.mollifiers < 1.0).any()


def test_nothing_depends_on_the_order_of_candidates(area_weighted) -> None:
    surface, points = pile(0)
    _, candidates = reference_collisions(surface, points, 0.06, area_weighted)
    distances = np.full((len(surface.names),) * 2, 0.06)
    turned = Candidates(candidates.edge_edges[::-1], candidates.face_vertices[::-1])
    first, second = (
        NormalCollisions.of(each, points, surface.topology, distances, area_weighted)
        for each in (candidates, turned)
    )
    np.testing.assert_array_equal(first.vertices, second.vertices)
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-12)


# Every place counts once

#: Of a sheet of 3 × 3 squares, open at its border.
PLACES = {
    "over a face": (0.3, 0.15),
    "over an edge": (0.5, 0.5),
    "over a vertex with five neighbours": (1.0, 1.0),
    "over a vertex with seven neighbours": (2.0, 1.0),
    "over the border": (1.4, 0.0),
    "over a vertex of the border": (1.0, 0.0),
    "over a corner with one face": (3.0, 0.0),
    "over a corner with two faces": (0.0, 0.0),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_point_weighs_as_much_wherever_it_is_over_a_surface(place) -> None:
    tip = np.array([*PLACES[place], 0.02])
    corners = tip + np.array([[0.0, 0, 0], [0.3, 0, 2], [-0.2, 0.3, 2], [-0.2, -0.3, 2]])
    mesh, (sheet, faces) = TetMesh(corners, [[0, 1, 2, 3]]), grid(3)
    scene = Scene([SoftBody(mesh)], colliders=[Collider(sheet, faces)], contact=Contact())
    surface = CollisionSurface(scene, [mesh])
    lowest = int(surface.rest[:4, 2].argmin())
    of_sheet = np.flatnonzero(surface.object_of[surface.triangles[:, 0]] == 1)
    pairs = np.column_stack([of_sheet, np.full(len(of_sheet), lowest)])
    candidates = Candidates(np.empty((0, 2), dtype=np.int32), pairs.astype(np.int32))
    found = NormalCollisions.of(
        candidates, surface.rest, surface.topology, np.full((2, 2), 0.1), True
    )
    nearest = Stencils.of(found, surface.rest).distances < 0.02 * (1.0 + 1e-9)
    # A vertex below counts over the faces around the tip as well, of which there are none here.
    areas, below = surface.topology.vertex_areas, found.vertices[nearest, 0] != lowest
    expected = 0.25 * areas[lowest]
    if "vertex" in place or "corner" in place:
        expected += 0.25 * min(areas[found.vertices[nearest, 1][0]], areas[:4].mean())
    assert float(found.weights[nearest].sum()) == pytest.approx(expected, rel=1e-12)
    assert not below.any()


def grid(cells: int) -> tuple[Points, Points]:
    """Vertices and triangles of a flat sheet, one of whose diagonals is turned."""
    side = cells + 1
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    vertices = np.column_stack([x.ravel(), y.ravel(), np.zeros(side * side)]).astype(float)
    faces = []
    for row in range(cells):
        for column in range(cells):
            a = row * side + column
            b, c, d = a + 1, a + side + 1, a + side
            faces += [[a, b, c], [a, c, d]]
    # Across the middle square, so that corners differ in how many faces meet there.
    a = side + 1
    faces[2 * (cells + 1)] = [a, a + 1, a + side]
    faces[2 * (cells + 1) + 1] = [a + 1, a + side + 1, a + side]
    return vertices, np.array(faces)


# Different distances


def test_every_two_objects_have_the_distance_of_their_own() -> None:
    surface, points = pile(1)
    own = np.array([0.02, 0.06, 0.04, np.inf])
    distances = np.minimum.outer(own, own)
    distances[3, 3] = 0.0
    _, candidates = reference_collisions(surface, points, 0.06, True)
    found = NormalCollisions.of(candidates, points, surface.topology, distances, False)
    assert {tuple(pair) for pair in found.objects.tolist()} >= {(0, 1), (1, 2), (0, 3)}
    np.testing.assert_array_equal(found.distances, distances[tuple(found.objects.T)])
    assert (Stencils.of(found, points).distances < found.distances).all()
    # Each is as if it were the only one.
    for first, second in ((0, 1), (1, 2), (0, 3), (1, 1)):
        alone = NormalCollisions.of(
            candidates, points, surface.topology, np.full((4, 4), distances[first, second]), False
        )
        among = (found.objects == (first, second)).all(axis=1)
        expected = alone.where((alone.objects == (first, second)).all(axis=1))
        np.testing.assert_array_equal(found.where(among).vertices, expected.vertices)
        np.testing.assert_array_equal(found.where(among).weights, expected.weights)


@pytest.mark.parametrize("seed", range(2))
def test_with_distances_and_stiffnesses_of_pairs_forces_are_the_slope_of_the_energy(
    area_weighted, seed
) -> None:
    surface, points = pile(seed)
    own = np.array([0.05, 0.06, 0.04, np.inf])
    distances = np.minimum.outer(own, own)
    _, candidates = reference_collisions(surface, points, 0.06, area_weighted)
    found = NormalCollisions.of(candidates, points, surface.topology, distances, area_weighted)
    stiffness = np.random.default_rng(seed).uniform(1e3, 1e5, size=(4, 4))
    barrier = ContactBarrier(surface, stiffness + stiffness.T, area_weighted)
    gradient = barrier.gradient(Stencils.of(found, points))
    step = 1e-7
    for number in range(3):
        way = np.random.default_rng(10 + number).normal(size=points.shape)
        after, before = (
            barrier.energy(Stencils.of(found, points + sign * step * way)) for sign in (1, -1)
        )
        slope = (after - before) / (2.0 * step)
        assert float((gradient * way).sum()) == pytest.approx(slope, rel=1e-5)


# What weighs


def test_the_large_faces_of_a_collider_weigh_no_more_than_those_of_the_body_they_touch() -> None:
    # A fine body and a coarse one over corners and an edge of the same large triangle.
    fine = block((8, 8, 1), (0.4, 0.4, 0.1), (0.0, 0.0, 0.01))
    coarse = block((1, 1, 1), (2.0, 2.0, 0.1), (-3.0, 0.0, 0.01))
    corners = np.array([[-2.0, 1.0, 0.0], [0.21, 0.22, 0.0], [-1.0, 20.0, -9.0]])
    scene = Scene(
        [SoftBody(fine, name="Fine"), SoftBody(coarse, name="Coarse")],
        colliders=[Collider(corners, [[0, 1, 2]])],
        contact=Contact(),
    )
    surface = CollisionSurface(scene, [fine, coarse])
    mesh, count = surface.topology, surface.body_count
    _, candidates = reference_collisions(surface, surface.rest, 0.05, True)
    of_faces = Candidates(candidates.edge_edges[:0], candidates.face_vertices)
    found = NormalCollisions.of(of_faces, surface.rest, mesh, np.full((3, 3), 0.05), True)
    for body, corner in ((1, 0), (0, 1)):
        against = (found.vertices[:, 0] == count + corner) & (found.objects[:, 0] == body)
        own = mesh.vertex_areas[surface.object_of == body].mean()
        assert mesh.vertex_areas[count + corner] > 2.0 * own
        np.testing.assert_allclose(found.weights[against], [0.25 * own])
    (edge,) = np.flatnonzero((mesh.edges == [count, count + 1]).all(axis=1))
    for body in range(2):
        own_edges = np.flatnonzero(surface.object_of[mesh.edges[:, 0]] == body)
        pairs = np.column_stack([own_edges, np.full(len(own_edges), edge)]).astype(np.int32)
        of_edges = Candidates(pairs, candidates.face_vertices[:0])
        found = NormalCollisions.of(of_edges, surface.rest, mesh, np.full((3, 3), 0.05), True)
        crossing = found.where(found.features == CROSSING)
        own = mesh.edge_areas[own_edges].mean()
        assert mesh.edge_areas[edge] > 2.0 * own
        keys = {tuple(pair): index for index, pair in enumerate(mesh.edges.tolist())}
        areas = np.array(
            [mesh.edge_areas[keys[tuple(v)]] for v in crossing.vertices[:, :2].tolist()]
        )
        assert len(crossing) > 0
        np.testing.assert_allclose(crossing.weights, 0.25 * (areas + own))


def test_a_bowl_touches_as_the_toolkit_says() -> None:
    """Many faces that share edges and corners, concave."""
    collider = bowl(1.2, 0.9, 6, 12)
    mesh = block((3, 3, 2), (0.6, 0.6, 0.3), (-0.3, -0.3, float(collider.at(0)[:, 2].min()) + 0.06))
    scene = Scene([SoftBody(mesh)], colliders=[collider], contact=Contact())
    surface = CollisionSurface(scene, [mesh])
    distance, points = 0.15, surface.rest
    found, candidates = reference_collisions(surface, points, distance, True)
    own = NormalCollisions.of(candidates, points, surface.topology, np.full((2, 2), distance), True)
    energy = potential_of(distance, 1.0, True)(
        found, reference_mesh(surface), np.asfortranarray(points)
    )
    barrier = ContactBarrier(surface, 1.0, True)
    assert barrier.energy(Stencils.of(own, points)) == pytest.approx(energy, rel=1e-10)
    assert energy > 0.0
