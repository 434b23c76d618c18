# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.contact.barrier import ContactBarrier
from supple.core.contact.detection import Detection
from supple.core.contact.pairs import Pairs
from supple.core.contact.surface import CollisionSurface, Points
from supple.verification.meshes import block

pytest.importorskip("ipctk")

REACH = 0.05
GAP = 0.4 * REACH
TRIANGLE = np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]])
#: Seen along y it is a line, whose upper edge is long.
FENCE = np.array([[-9.0, 0, 0], [9, 0, 0], [0, 0, -9]])
#: Its corner points up.
THORN = np.array([[0.0, 0, 0], [0.1, 0.1, -9], [-0.1, 0.1, -9]])
DART = np.array([[0.0, 0, GAP], [0.3, 0, 2], [-0.2, 0.3, 2], [-0.2, -0.3, 2]])
#: Its lowest edge lies along y.
ROOF = np.array([[0.0, -0.4, GAP], [0.0, 0.4, GAP], [0.4, 0.1, 2], [-0.4, 0.1, 2]])

KINDS = {
    "two points": (DART, THORN, "vv_collisions"),
    "a point and an edge": (DART, FENCE, "ev_collisions"),
    "two edges": (ROOF, FENCE, "ee_collisions"),
    "a point and a triangle": (DART, TRIANGLE, "fv_collisions"),
}


class Close(NamedTuple):
    surface: CollisionSurface
    barrier: ContactBarrier
    points: Points
    collisions: Any

    def pairs(self) -> Pairs:
        return Pairs.of(self.collisions, self.surface.mesh, self.points)


def close(bodies: list[TetMesh], collider: Points, by_area: bool) -> Close:
    """What is close, of bodies whose first is not close to anything."""
    scene = Scene(
        [SoftBody(mesh, name=f"Body {number}") for number, mesh in enumerate(bodies)],
        colliders=[Collider(collider, [[0, 1, 2]])],
        contact=Contact(distance=REACH),
    )
    surface = CollisionSurface(scene, bodies)
    rest = np.concatenate([mesh.vertices for mesh in bodies])
    points = surface.points(rest.T, surface.colliders_at(0, 0.0))
    detection = Detection(surface, REACH, by_area)
    detection.sweep(points, points)
    barrier = ContactBarrier(surface, REACH, 1e5, by_area)
    return Close(surface, barrier, points, detection.collisions(points))


def check_gradient(found: Close) -> None:
    """That of the barrier, from its pairs one by one."""
    pairs = found.pairs()
    assert len(pairs) == len(found.collisions) > 0
    ways = pairs.differences(found.points)
    distances = np.linalg.norm(ways, axis=1)
    forces = pairs.weights * found.barrier.force(distances)
    pushes = (forces / distances)[:, None, None] * pairs.coefficients[:, :, None] * ways[:, None]
    total = np.zeros_like(found.points)
    np.add.at(total, pairs.vertices, -pushes)
    expected = found.barrier.gradient(found.collisions, found.points)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(total, expected, atol=1e-9 * np.abs(expected).max())


def tet(corners: Points) -> TetMesh:
    return TetMesh(corners, [[0, 1, 2, 3]])


FAR = tet(DART + np.array([0.0, 0.0, 50.0]))


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def by_area(request) -> bool:
    return request.param


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def test_each_kind_of_pair_pushes_as_the_barrier_says(kind, by_area) -> None:
    corners, collider, attribute = KINDS[kind]
    found = close([FAR, tet(corners)], collider, by_area)
    assert len(getattr(found.collisions, attribute)) > 0
    check_gradient(found)


def test_differences_are_as_long_as_the_gap_and_coefficients_add_up_to_none(kind, by_area) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, by_area)
    pairs = found.pairs()
    lengths = np.linalg.norm(pairs.differences(found.points), axis=1)
    np.testing.assert_allclose(lengths, GAP, rtol=1e-12)
    np.testing.assert_allclose(pairs.coefficients.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_ends_of_a_pair_belong_to_the_two_that_are_close(kind, by_area) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, by_area)
    objects = np.sort(found.surface.object_of[found.pairs().ends()], axis=1)
    np.testing.assert_array_equal(objects, np.tile([1, 2], (len(objects), 1)))


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_vertex_of_a_pair_is_one_that_it_has_not(kind, by_area) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, by_area)
    assert (found.surface.object_of[found.pairs().vertices] > 0).all()


def test_many_pairs_push_as_the_barrier_says(by_area) -> None:
    upper = block((3, 2, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + GAP))
    # Turned, so that no edges are parallel but those of one body.
    cos, sin = np.cos(0.5), np.sin(0.5)
    turned = upper.vertices @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    bodies = [block((3, 3, 1)), TetMesh(turned + np.array([0.2, 0.0, 0.0]), upper.tets)]
    found = close(bodies, TRIANGLE - [0.0, 0.0, 9.0], by_area)
    assert len(found.collisions) > 20
    check_gradient(found)


def test_normals_turn_as_pairs_say(kind, by_area) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, by_area)
    pairs, step = found.pairs(), 1e-6 * REACH
    ways = np.random.default_rng(2).normal(size=found.points.shape)
    normal, after, before = (
        normals(found._replace(points=found.points + sign * step * ways)) for sign in (0, 1, -1)
    )
    across = np.einsum("ki,kai->ka", normal, ways[pairs.vertices])
    turned = np.einsum("ka,kai->ki", across, pairs.turning)
    change = (after - before) / (2.0 * step)
    # Where only an edge turns it, or nothing, it turns freely in other directions.
    sizes = np.linalg.norm(turned, axis=1)[:, None]
    told = turned / np.maximum(sizes, 1e-300)
    if kind in ("two edges", "a point and a triangle"):
        np.testing.assert_allclose(turned, change, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((change * told).sum(axis=1), sizes[:, 0], rtol=1e-5)
    assert (sizes > 0.0).all() == (kind != "two points")


def normals(found: Close) -> Points:
    """(K, 3)."""
    ways = found.pairs().differences(found.points)
    return np.asarray(ways / np.linalg.norm(ways, axis=1)[:, None])


def test_edges_that_are_almost_parallel_push_less_and_are_told(by_area) -> None:
    shares = []
    for slant in (1e-3, 0.02, 0.3):
        along = np.array([[-0.4, -0.4 * slant, GAP], [0.4, 0.4 * slant, GAP]])
        corners = np.concatenate([along, [[0.1, 0.4, 2.0], [0.1, -0.4, 2.0]]])
        found = close([FAR, tet(corners)], FENCE, by_area)
        pairs = found.pairs()
        first = len(found.collisions.vv_collisions) + len(found.collisions.ev_collisions)
        shares.append(pairs.skew[first])
        weight = found.collisions.ee_collisions[0].weight
        assert pairs.weights[first] == weight * shares[-1] * (2.0 - shares[-1])
    assert 0.0 < shares[0] < shares[1] <= shares[2] == 1.0


def test_edges_that_are_almost_parallel_are_as_near_as_their_nearest_points(by_area) -> None:
    # Their lines cross far beyond the end of one.
    along = np.array([[-0.4, 0.012, GAP], [0.4, 0.004, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    found = close([FAR, tet(along)], FENCE, by_area)
    pairs = found.pairs()
    assert (pairs.skew < 1.0).any()
    distances = np.linalg.norm(pairs.differences(found.points), axis=1)
    np.testing.assert_allclose(distances[pairs.skew < 1.0], np.hypot(GAP, 0.004), rtol=1e-12)
    ends = pairs.coefficients[pairs.skew < 1.0]
    assert (np.abs(ends) <= 1.0).all()


def test_edges_that_are_parallel_are_left_out(by_area) -> None:
    along = np.array([[-0.4, 0.0, GAP], [0.4, 1e-9, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    found = close([FAR, tet(along)], FENCE, by_area)
    parallel = len(found.collisions.ee_collisions)
    assert parallel > 0
    assert len(found.pairs()) == len(found.collisions) - parallel


def test_where_nothing_is_close_there_are_no_pairs(by_area) -> None:
    found = close([FAR], TRIANGLE, by_area)
    pairs = found.pairs()
    assert len(pairs) == 0
    assert pairs.differences(found.points).shape == (0, 3)
    assert pairs.ends().shape == (0, 2)


def test_the_force_is_the_slope_of_the_barrier_and_ends_at_its_distance(by_area) -> None:
    step = 1e-6 * REACH
    energies = []
    for gap in (GAP + step, GAP - step):
        found = close([FAR, tet(DART + np.array([0.0, 0.0, gap - GAP]))], TRIANGLE, by_area)
        energies.append(found.barrier.energy(found.collisions, found.points))
    (weight,) = found.pairs().weights
    slope = (energies[1] - energies[0]) / (2.0 * step)
    own = weight * found.barrier.force(np.array([GAP, REACH, 2.0 * REACH]))
    assert own[0] == pytest.approx(slope, rel=1e-6)
    np.testing.assert_array_equal(own[1:], 0.0)
