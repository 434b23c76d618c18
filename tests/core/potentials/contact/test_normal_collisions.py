# SPDX-License-Identifier: GPL-3.0-or-later
"""Collisions and their barrier beside ipctk's, and by what weights have to add up to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.errors import InstabilityError
from supple.core.kernels.collisions import POINTS
from supple.core.math3.closest_points import CROSSING
from supple.core.potentials.contact.barrier import ContactBarrier
from supple.core.potentials.contact.collision_detection import Candidates
from supple.core.potentials.contact.normal_collisions import (
    HessianFactors,
    NormalCollisions,
    Stencils,
    assembled,
)
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.tests.core.potentials.contact.close_parts import (
    DART,
    FAR,
    FENCE,
    GAP,
    KINDS,
    REACH,
    ROOF,
    SLANTED,
    STIFFNESS,
    TRIANGLE,
    Close,
    close,
    tet,
)
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

NORMAL_COLLISIONS_STIFFNESS = 3e4
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
    mesh, potential = (
        reference_mesh(surface),
        potential_of(distance, NORMAL_COLLISIONS_STIFFNESS, area_weighted),
    )
    stencils, barrier = (
        Stencils.of(own, points),
        ContactBarrier(surface, NORMAL_COLLISIONS_STIFFNESS, area_weighted),
    )
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


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def check_gradient(found: Close) -> None:
    """That of the barrier, from the forces of its collisions one by one."""
    stencils = found.stencils()
    assert len(stencils) > 0
    assert (stencils.mollifiers == 1.0).all()
    pushes = found.barrier.forces(stencils)[:, None] * stencils.normals
    total = np.zeros_like(found.points)
    shares = stencils.coefficients[:, :, None] * pushes[:, None]
    np.add.at(total, stencils.collisions.vertices, -shares)
    expected = found.barrier.gradient(stencils)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(total, expected, atol=1e-12 * np.abs(expected).max())


def test_each_kind_of_collision_pushes_as_the_barrier_says(kind, area_weighted) -> None:
    corners, collider, features = KINDS[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    assert np.isin(found.collisions.features, features).any()
    check_gradient(found)


def test_many_collisions_push_as_the_barrier_says(area_weighted) -> None:
    upper = block((3, 2, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + GAP))
    # Turned, so that no edges are parallel but those of one body.
    cos, sin = np.cos(0.5), np.sin(0.5)
    turned = upper.vertices @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    bodies = [block((3, 3, 1)), upper.with_vertices(turned + np.array([0.2, 0.0, 0.0]))]
    found = close(bodies, TRIANGLE - [0.0, 0.0, 9.0], area_weighted)
    assert len(found.collisions) > 20
    check_gradient(found)


def test_differences_are_as_long_as_the_gap_and_made_of_the_coefficients(
    kind, area_weighted
) -> None:
    corners, collider, _ = KINDS[kind]
    stencils = close([FAR, tet(corners)], collider, area_weighted).stencils()
    np.testing.assert_allclose(stencils.distances, GAP, rtol=1e-12)
    corners = stencils.points[stencils.collisions.vertices]
    sums = np.einsum("ka,kai->ki", stencils.coefficients, corners)
    np.testing.assert_allclose(sums, stencils.differences, atol=1e-14)
    np.testing.assert_allclose(stencils.coefficients.sum(axis=1), 0.0, atol=1e-12)


def test_the_first_and_the_last_vertex_belong_to_the_two_that_are_close(
    kind, area_weighted
) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    ends = found.surface.object_of[found.collisions.vertices[:, [0, 3]]]
    np.testing.assert_array_equal(np.sort(ends, axis=1), found.collisions.objects)
    assert (found.collisions.objects == [1, 2]).all()
    # And no vertex is one that the collision has not.
    assert (found.surface.object_of[found.collisions.vertices] > 0).all()


@pytest.mark.parametrize("kind", [*KINDS, "two edges that are almost parallel"])
def test_normals_turn_as_collisions_say(kind, area_weighted) -> None:
    corners, collider, _ = (KINDS | {kind: KINDS.get(kind, (SLANTED, FENCE, []))})[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    stencils, step = found.stencils(), 1e-6 * REACH
    ways = np.random.default_rng(2).normal(size=found.points.shape)
    after, before = (found.stencils(found.points + sign * step * ways).normals for sign in (1, -1))
    across = np.einsum("ki,kai->ka", stencils.normals, ways[stencils.collisions.vertices])
    turned = np.einsum("ka,kai->ki", across, stencils.normal_jacobians)
    change = (after - before) / (2.0 * step)
    # Where only an edge turns it, or nothing, it turns freely in other directions.
    sizes = np.linalg.norm(turned, axis=1)[:, None]
    told = turned / np.maximum(sizes, 1e-300)
    features = stencils.collisions.features
    whole = (features == CROSSING) | (features > POINTS + 1)
    tolerance = 1e-5 if (stencils.mollifiers == 1.0).all() else 1e-3
    np.testing.assert_allclose(turned[whole], change[whole], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose((change * told).sum(axis=1), sizes[:, 0], rtol=tolerance)
    assert (sizes > 0.0).all() == (kind != "two points")


def test_edges_that_are_almost_parallel_push_less_and_are_told(area_weighted) -> None:
    mollifiers = []
    for slant in (1e-7, 1e-3, 0.02, 0.3):
        along = np.array([[-0.4, -0.4 * slant, GAP], [0.4, 0.4 * slant, GAP]])
        corners = np.concatenate([along, [[0.1, 0.4, 2.0], [0.1, -0.4, 2.0]]])
        stencils = close([FAR, tet(corners)], FENCE, area_weighted).stencils()
        (edges,) = np.flatnonzero(stencils.collisions.features == CROSSING)
        ratio = min(slant**2 / (1.0 + slant**2) / 1e-3, 1.0)
        mollifiers.append(stencils.mollifiers[edges])
        assert mollifiers[-1] == pytest.approx(ratio * (2.0 - ratio), rel=1e-6)
        weight = stencils.collisions.weights[edges]
        assert stencils.weights[edges] == weight * mollifiers[-1]
    assert 0.0 < mollifiers[0] < mollifiers[1] < mollifiers[2] <= mollifiers[3] == 1.0


def test_edges_that_are_almost_parallel_are_as_near_as_their_nearest_points(area_weighted) -> None:
    # Their lines cross far beyond the end of one.
    along = np.array([[-0.4, 0.012, GAP], [0.4, 0.004, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    stencils = close([FAR, tet(along)], FENCE, area_weighted).stencils()
    fading = stencils.where(stencils.mollifiers < 1.0)
    nearest = fading.distances.min()
    assert nearest == pytest.approx(np.hypot(GAP, 0.004), rel=1e-12)
    assert (np.abs(fading.coefficients) <= 1.0).all()


def test_edges_that_are_parallel_push_nothing(area_weighted) -> None:
    along = np.array([[-0.4, 0.0, GAP], [0.4, 0.0, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    stencils = close([FAR, tet(along)], FENCE, area_weighted).stencils()
    edges = stencils.where(stencils.collisions.features < POINTS)
    assert len(edges) > 0
    assert not edges.mollifiers.any()
    np.testing.assert_allclose(edges.distances, GAP, rtol=1e-12)
    assert np.isfinite(stencils.normal_jacobians).all()


def test_where_nothing_is_close_there_are_no_collisions(area_weighted) -> None:
    found = close([FAR], TRIANGLE, area_weighted)
    stencils = found.stencils()
    assert len(stencils) == 0
    assert stencils.normals.shape == (0, 3)
    assert found.barrier.energy(stencils) == 0.0
    assert not found.barrier.gradient(stencils).any()


def test_the_force_is_the_slope_of_the_barrier_and_ends_at_its_distance(area_weighted) -> None:
    found, step = close([FAR, tet(DART)], TRIANGLE, area_weighted), 1e-6 * REACH
    own = slice(len(FAR.vertices), 2 * len(FAR.vertices))

    def raised(gap: float) -> Points:
        points = found.points.copy()
        points[own, 2] += gap - GAP
        return points

    energies = [found.barrier.energy(found.stencils(raised(GAP + s))) for s in (step, -step)]
    slope = (energies[1] - energies[0]) / (2.0 * step)
    forces = [found.barrier.forces(found.stencils(raised(g)))[0] for g in (GAP, REACH, 2 * REACH)]
    assert forces[0] == pytest.approx(slope, rel=1e-6)
    assert forces[1] == forces[2] == 0.0


def test_where_surfaces_touch_the_energy_is_infinite(area_weighted) -> None:
    found = close([FAR, tet(DART)], TRIANGLE, area_weighted)
    points = found.points.copy()
    points[found.surface.object_of == 1, 2] -= GAP
    assert found.barrier.energy(found.stencils(points)) == np.inf


COUNT = 9


@pytest.fixture
def parts() -> list[HessianFactors]:
    """Factors of which several lie between the same vertices; the last of some is there twice."""
    random = np.random.default_rng(1)
    vertices = random.integers(0, COUNT - 1, (20, 4))
    vertices[10:, 3] = vertices[10:, 2]
    rows, weights = random.normal(size=(20, 3, 4, 3)), random.random((20, 3))
    return [
        HessianFactors(vertices[:8], rows[:8], weights[:8]),
        HessianFactors(vertices[8:], rows[8:, :2], weights[8:, :2]),
    ]


def as_dense(parts: list[HessianFactors]) -> np.ndarray:
    """Square by square."""
    total = np.zeros((3 * COUNT, 3 * COUNT))
    for part in parts:
        for vertices, rows, weights in zip(part.vertices, part.rows, part.weights, strict=True):
            for row, weight in zip(rows, weights, strict=True):
                whole = np.zeros((COUNT, 3))
                np.add.at(whole, vertices, row)
                total += weight * np.outer(whole, whole)
    return total


def test_the_matrix_is_the_sum_of_all_squares(parts) -> None:
    matrix = assembled(parts, COUNT)
    np.testing.assert_allclose(matrix.toarray(), as_dense(parts), atol=1e-13)


def test_each_block_is_there_once_and_they_ascend(parts) -> None:
    matrix = assembled(parts, COUNT)
    rows = np.repeat(np.arange(COUNT), np.diff(matrix.indptr))
    assert matrix.blocksize == (3, 3)
    assert (np.diff(rows * COUNT + matrix.indices) > 0).all()


def test_it_comes_out_the_same_each_time_and_symmetric(parts) -> None:
    first, second = (assembled(parts, COUNT).toarray() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, first.T, rtol=0.0, atol=1e-14)


def test_of_nothing_there_is_an_empty_matrix() -> None:
    none = HessianFactors(
        np.empty((0, 4), dtype=np.int64), np.empty((0, 3, 4, 3)), np.empty((0, 3))
    )
    matrix = assembled([none, none], COUNT)
    assert matrix.shape == (3 * COUNT, 3 * COUNT)
    assert matrix.nnz == 0
    assert not (matrix @ np.ones(3 * COUNT)).any()


kit: Any = pytest.importorskip("ipctk")

ALMOST_PARALLEL = (SLANTED, FENCE, range(POINTS))
ALL_KINDS = KINDS | {"two edges that are almost parallel": ALMOST_PARALLEL}
#: ipctk's lists.
LISTS = {
    "two points": "vv_collisions",
    "a point and an edge": "ev_collisions",
    "two edges": "ee_collisions",
    "a point and a triangle": "fv_collisions",
}


def one(kind: str, area_weighted: bool, aside: float = 0.0) -> Close:
    """A single collision of a kind."""
    corners, collider, features = ALL_KINDS[kind]
    lowest = corners[:, 2] == GAP
    # A little turned, in the plane of what is close alone.
    moved = corners + aside * lowest[:, None] * np.array([0.3, 0.2, 0.0])
    found = close([FAR, tet(moved)], collider, area_weighted)
    own = found.collisions
    acting = np.flatnonzero(np.isin(own.features, features) & (own.weights > 0.0))
    single = replace(found, collisions=own.where(np.arange(len(own)) == acting[0]))
    assert (single.stencils().mollifiers < 0.5).all() == ("parallel" in kind)
    return single


def hessian(found: Close) -> Points:
    """(3V, 3V)."""
    hessian_factors = found.barrier.hessian_factors(found.stencils())
    return np.asarray(assembled([hessian_factors], len(found.points)).toarray())


def exact_hessian(found: Close, kind: str, area_weighted: bool) -> Points:
    """The (3V, 3V) Hessian of the same collision as ipctk differentiates it, not projected."""
    mesh, points = reference_mesh(found.surface), np.asfortranarray(found.points)
    collisions, alone = kit.NormalCollisions(), kit.NormalCollisions()
    collisions.build(mesh, points, REACH)
    (vertices,) = found.collisions.vertices.tolist()
    edges, faces = np.asarray(mesh.edges), np.asarray(mesh.faces)
    for pair in getattr(collisions, LISTS[kind]):
        own = [vertex for vertex in pair.vertex_ids(edges, faces) if vertex >= 0]
        if set(own) == set(vertices):
            pair.weight = float(found.collisions.weights[0])
            setattr(alone, LISTS[kind], [pair])
    assert len(alone) == 1
    potential = potential_of(REACH, STIFFNESS, area_weighted)
    return np.asarray(potential.hessian(alone, mesh, points, kit.NONE).toarray())


def apart(found: Close) -> Points:
    """(V, 3) a way on which the pair parts along its normal alone."""
    (vertices,), (normal,) = found.collisions.vertices, found.stencils().normals
    way = np.zeros_like(found.points)
    way[vertices[found.surface.object_of[vertices] == 1]] = normal
    return way


# Single pairs


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_it_is_symmetric_and_positive_semidefinite(kind, area_weighted) -> None:
    matrix = hessian(one(kind, area_weighted, 0.1))
    np.testing.assert_array_equal(matrix, matrix.T)
    values = np.linalg.eigvalsh(matrix)
    assert values[0] >= -1e-12 * values[-1]
    assert values[-1] > 0.0


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_along_the_normal_it_is_the_change_of_the_force(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.0)
    way, step = apart(found), 1e-6 * REACH
    after, before = (
        found.barrier.gradient(found.stencils(found.points + sign * step * way)) for sign in (1, -1)
    )
    change = (after - before) / (2.0 * step)
    own = hessian(found) @ way.ravel()
    assert float((change * way).sum()) > 0.0
    assert own @ way.ravel() == pytest.approx(float((change * way).sum()), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_nowhere_less_than_the_exact_one(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    more = hessian(found) - exact_hessian(found, kind, area_weighted)
    values = np.linalg.eigvalsh(more)
    assert values[0] >= -1e-7 * np.abs(hessian(found)).max()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_hardly_more_than_all_that_is_positive_of_the_exact_one(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    values, vectors = np.linalg.eigh(exact_hessian(found, kind, area_weighted))
    clamped = vectors * np.maximum(values, 0.0) @ vectors.T
    assert np.linalg.norm(hessian(found) - clamped) < 0.02 * np.linalg.norm(clamped)


@pytest.mark.parametrize("kind", ["two edges", "a point and a triangle"])
def test_what_slides_is_held_as_its_turning_normal_asks_for(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    stiffest = np.linalg.eigh(exact_hessian(found, kind, area_weighted))[1][:, -1:]
    aside = np.eye(len(stiffest)) - stiffest @ stiffest.T
    rest, exact = (
        aside @ hessian(found) @ aside,
        aside @ exact_hessian(found, kind, area_weighted) @ aside,
    )
    positive = np.linalg.eigvalsh(exact)[-1]
    assert positive > 0.0
    assert positive <= np.linalg.eigvalsh(rest)[-1] * (1.0 + 1e-9) < 3.0 * positive


def test_collisions_that_cancel_others_hold_nothing() -> None:
    found = close([FAR, tet(ROOF)], FENCE, True)
    flipped = replace(found.collisions, weights=-np.abs(found.collisions.weights))
    assert len(found.barrier.hessian_factors(replace(found, collisions=flipped).stencils())) == 0


# The barrier's own


def test_the_curvature_is_the_slope_of_the_force_and_ends_at_its_distance(area_weighted) -> None:
    found, step = one("a point and a triangle", area_weighted), 1e-6
    way = apart(found) * np.sign(apart(found)[:, 2].sum())

    def at(distance: float) -> Any:
        return found.stencils(found.points + (distance - GAP) * way)

    for share in (1e-4, 0.01, 0.3, 0.9, 0.99):
        distance = REACH * share
        after, before = (
            found.barrier.forces(at(distance * (1.0 + sign * step)))[0] for sign in (1, -1)
        )
        slope = (before - after) / (2.0 * step * distance)
        assert found.barrier.second_derivatives(at(distance))[0] == pytest.approx(slope, rel=1e-6)
    for share in (1.0, 2.0):
        assert found.barrier.second_derivatives(at(share * REACH))[0] == 0.0


@pytest.mark.parametrize("gap", [1e-12, 1e-60])
def test_surfaces_much_closer_than_any_step_leaves_them_have_a_curvature(gap) -> None:
    found = one("two points", True)
    near = found.points.copy()
    near[found.collisions.vertices[0, :2]] = [[0.0, 0.0, 0.0], [0.0, 0.0, gap]]
    assert len(found.barrier.hessian_factors(found.stencils(near))) > 0


@pytest.mark.parametrize("gap", [0.0, 1e-200, np.nan])
def test_surfaces_without_a_distance_are_named(gap) -> None:
    found = one("two points", True)
    touching = found.points.copy()
    touching[found.collisions.vertices[0, :2]] = [[0.0, 0.0, 0.0], [0.0, 0.0, gap]]
    with pytest.raises(InstabilityError, match="Body 0, Body 1, Collider: surfaces came closer"):
        found.barrier.hessian_factors(found.stencils(touching))
