# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs that would collide are pushed apart or divided by planes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core.kernels.contact_constraints import Interpolation
from supple.core.kernels.continuous_collision import CandidateStencils, distances, stencil
from supple.core.kernels.division import (
    KEPT_DISTANCE_RATIO,
    divide,
    divide_pair,
    find_collisions,
    find_near,
    limit_falls,
    push_apart,
    push_up,
    reaches,
)
from supple.core.kernels.flat_tets import no_flat_tets
from supple.core.math3.vectors import four_points

NO_EDGES, NO_PAIRS = np.zeros((0, 2), dtype=np.int32), np.zeros((0, 2), dtype=np.int32)
EDGES = np.array([[0, 1], [2, 3]], dtype=np.int32)
FACE = np.array([[1, 2, 3]], dtype=np.int32)
TWO_EDGES = CandidateStencils(np.array([[0, 1]], dtype=np.int32), NO_PAIRS, EDGES, FACE)
A_FACE = CandidateStencils(NO_PAIRS, np.array([[0, 0]], dtype=np.int32), EDGES, FACE)


def interpolation_of(random: np.random.Generator, points: int, nodes: int) -> Interpolation:
    """Points that are sums of three nodes, with weights of both signs."""
    chosen = np.array([random.permutation(nodes)[:3] for _ in range(points)], dtype=np.int32)
    weights = random.normal(size=(points, 3))
    weights[:, 2] = 1.0 - weights[:, :2].sum(axis=1)
    return Interpolation(chosen, weights)


def moved(interpolation: Interpolation, moves: np.ndarray) -> np.ndarray:
    return np.einsum("pe,pei->pi", interpolation.weights, moves[interpolation.nodes])


def least_distance(stencils: CandidateStencils, before: np.ndarray, after: np.ndarray) -> float:
    """On the way, by many samples."""
    out, least = np.empty(1), math.inf
    for time in np.linspace(0.0, 1.0, 101):
        distances(stencils, (1.0 - time) * before + time * after, out)
        least = min(least, float(out[0]))
    return least


@pytest.mark.parametrize("stencils", [TWO_EDGES, A_FACE], ids=["edges", "face"])
def test_a_divided_pair_stays_apart_whatever_moves_are_shortened_later(stencils) -> None:
    random = np.random.default_rng(3)
    divided = 0
    for _ in range(300):
        points = random.normal(size=(4, 3))
        interpolation = interpolation_of(random, 4, 6)
        moves = random.normal(scale=0.7, size=(6, 3))
        apart = np.empty(1)
        distances(stencils, points, apart)
        floor = float(random.uniform(0.0, 1.2)) * apart[0]
        *indices, are_edges = stencil(stencils, 0)
        corners = four_points(points, *indices)
        owners, sizes = np.arange(6), random.uniform(size=6)
        changed = sizes.copy()
        own = (interpolation, owners, moves, sizes, changed)
        divide_pair(tuple(indices), corners, are_edges, floor, *own)
        assert (changed <= sizes).all() and (changed >= 0.0).all()
        divided += bool((changed < sizes).any())
        for factors in (np.ones(6), random.uniform(size=6), np.round(random.uniform(size=6))):
            after = points + moved(interpolation, (factors * changed)[:, None] * moves)
            least = least_distance(stencils, points, after)
            assert least >= min(floor, apart[0]) * (1.0 - 1e-12)
    assert 50 < divided < 300


def test_what_goes_along_the_plane_or_leaves_it_is_not_shortened() -> None:
    points = np.array([[0.3, 0.3, 0.01], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    themselves = Interpolation(np.arange(4, dtype=np.int32)[:, None], np.ones((4, 1)))
    moves = np.array([[5.0, 0, 0], [0, -7, 0], [0, 0, -3], [0, 0, 0]])
    changed = np.ones(4)
    own = (themselves, np.arange(4), moves, np.ones(4), changed)
    divide_pair((0, 1, 2, 3), four_points(points, 0, 1, 2, 3), False, 0.02, *own)
    assert changed.tolist() == [1.0] * 4


def test_the_room_goes_to_who_needs_it() -> None:
    points = np.array([[0.3, 0.3, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    themselves = Interpolation(np.arange(4, dtype=np.int32)[:, None], np.ones((4, 1)))
    moves = np.zeros((4, 3))
    moves[0, 2], moves[1:, 2] = -3.0, 1.0
    changed = np.ones(4)
    own = (themselves, np.arange(4), moves, np.ones(4), changed)
    divide_pair((0, 1, 2, 3), four_points(points, 0, 1, 2, 3), False, 0.2, *own)
    room = (1.0 - KEPT_DISTANCE_RATIO) * 0.8
    np.testing.assert_allclose(changed, [0.75 * room / 3.0, *[0.25 * room] * 3], rtol=1e-12)


def test_what_is_prescribed_goes_as_a_whole() -> None:
    points = np.array([[0.3, 0.3, 1.0], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    themselves = Interpolation(np.arange(4, dtype=np.int32)[:, None], np.ones((4, 1)))
    moves = np.zeros((4, 3))
    moves[1:, 2] = [1.0, 2.0, 8.0]
    sizes = np.ones(4)
    owners = np.array([0, 1, 1, 1])
    own = (A_FACE, points, np.array([0.2]), themselves, owners, moves, sizes)
    assert divide(np.array([0]), np.array([True]), *own) == 1
    assert sizes[0] == 1.0 and sizes[1] < 0.2


def layers(random: np.random.Generator, count: int) -> tuple:
    """Triangles above each other: points, all pairs of them, and the objects of points."""
    points = np.concatenate(
        [
            np.array([[0, 0, 0.1 * k], [1, 0, 0.1 * k], [0, 1, 0.1 * k]])
            + random.normal(0, 0.01, (3, 3))
            for k in range(count)
        ]
    )
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    pairs = [
        (e, f)
        for e in range(len(edges))
        for f in range(e + 1, len(edges))
        if edges[e, 0] // 3 != edges[f, 0] // 3
    ]
    corners = [(f, v) for f in range(count) for v in range(3 * count) if v // 3 != f]
    edge_edges, face_vertices = (np.array(part, dtype=np.int32) for part in (pairs, corners))
    return points, CandidateStencils(edge_edges, face_vertices, edges.astype(np.int32), triangles)


def collisions(stencils, points, after, floors) -> np.ndarray:
    count = len(floors)
    collides, nothing = np.empty(count, dtype=bool), np.zeros(count)
    find_collisions(stencils, points, after, nothing, floors, collides, np.empty(count))
    return collides


def test_surfaces_that_press_on_each_other_at_random_never_cross() -> None:
    random = np.random.default_rng(5)
    for _ in range(60):
        points, stencils = layers(random, 5)
        count, nodes = len(points), len(points) + 3
        interpolation = interpolation_of(random, count, nodes)
        own = random.uniform(size=count) < 0.6
        interpolation.nodes[own, 0] = np.flatnonzero(own)
        interpolation.weights[own] = [1.0, 0.0, 0.0]
        moves = random.normal(scale=0.15, size=(nodes, 3))
        owners, sizes = np.arange(nodes), np.ones(nodes)
        owners[:3] = 0
        pairs = len(stencils.edge_edges) + len(stencils.face_vertices)
        floors, apart, reach = np.full(pairs, 0.01), np.empty(pairs), np.empty(count)
        distances(stencils, points, apart)
        reaches(interpolation, moves, reach)
        near = np.empty(pairs, dtype=bool)
        find_near(stencils, reach, apart, floors, near)
        hit = collisions(stencils, points, points + moved(interpolation, moves), floors)
        assert not (hit & ~near).any()
        rows = np.flatnonzero(near)
        own_pairs = (stencils, points, floors)
        divide(rows, hit[rows], *own_pairs, interpolation, owners, moves, sizes)
        after = points + moved(interpolation, sizes[owners][:, None] * moves)
        tight = np.minimum(floors, 0.99 * apart)
        assert hit.any() and not collisions(stencils, points, after, 0.999 * tight).any()
        # Planes are no wall: something still moves.
        assert sizes.max() > 0.5


def test_impulses_keep_momentum_lose_energy_and_part_what_they_can() -> None:
    random = np.random.default_rng(7)
    points, stencils = layers(random, 4)
    count = len(points)
    themselves = Interpolation(np.arange(count, dtype=np.int32)[:, None], np.ones((count, 1)))
    mass = random.uniform(0.5, 2.0, count)
    moves = np.zeros((count, 3))
    moves[-3:, 2] = -0.3
    pairs = len(stencils.edge_edges) + len(stencils.face_vertices)
    floors = np.full(pairs, 0.01)
    momentum = mass @ moves
    energies = [mass @ (moves**2).sum(axis=1)]
    for _ in range(12):
        rows = np.flatnonzero(collisions(stencils, points, points + moves, floors))
        if len(rows) == 0:
            break
        own = (themselves, floors, 1.0 / mass, moves, no_flat_tets(0), 0, 0.0, 4)
        push_apart(rows, stencils, points, *own, moves)
        energies.append(mass @ (moves**2).sum(axis=1))
    assert len(rows) == 0 and len(energies) > 1
    assert (np.diff(energies) <= 1e-15).all()
    np.testing.assert_allclose(mass @ moves, momentum, atol=1e-15)


def test_what_is_prescribed_pushes_and_is_not_pushed() -> None:
    points = np.array([[0.3, 0.3, 0.1], [0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
    themselves = Interpolation(np.arange(4, dtype=np.int32)[:, None], np.ones((4, 1)))
    moves = np.zeros((4, 3))
    moves[1:, 2] = 0.5
    mobility, floors = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.01])
    ways = 2.0 * moves
    own = (themselves, floors, mobility, ways, no_flat_tets(0), 0, 0.0, 1)
    work = push_apart(np.array([0]), A_FACE, points, *own, moves)
    np.testing.assert_array_equal(moves[1:, 2], 0.5)
    least = 0.01 + KEPT_DISTANCE_RATIO * 0.09
    assert 0.1 + moves[0, 2] - 0.5 == pytest.approx(least, rel=1e-12)
    # In the whole step the corners that push move by a metre; so does a newton the vertex.
    assert work == pytest.approx(moves[0, 2], rel=1e-12)


def test_points_stop_above_the_ground() -> None:
    nodes = np.array([[0.0, 0, 1.5], [0, 0, 0.505], [0, 0, 1.0]])
    landing = Interpolation(
        np.array([[0, -1], [1, -1], [0, 2]], dtype=np.int32),
        np.array([[1.0, 77], [1, 77], [0.5, 0.5]]),
    )
    floors = np.full(3, 0.01)
    for drops in ([2.0, 0.0, 0.0], [0.0, 1e-3, 0.0], [-3.0, 0.0, 9.0], [0.5, 0.004, -2.0]):
        moves, sizes = np.zeros((3, 3)), np.ones(3)
        moves[:, 2] = -np.array(drops)
        before = landing.weights[2] @ nodes[[0, 2], 2] - 0.5
        limit_falls(landing, floors, 0.5, nodes, np.arange(3), moves, sizes)
        for factors in (np.ones(3), np.array([0.3, 1.0, 1.0]), np.array([1.0, 1.0, 0.0])):
            after = nodes[:, 2] - 0.5 + factors * sizes * moves[:, 2]
            assert after[0] >= 0.01 and after[1] >= 0.005
            assert 0.5 * (after[0] + after[2]) >= min(before, 0.01)
    moves = np.array([[0.0, 0, -2.0], [0, 0, 0], [0, 0, -0.2]])
    assert push_up(landing, floors, 0.5, nodes, np.ones(3), moves) == 1
    assert nodes[0, 2] + moves[0, 2] - 0.5 >= 0.01
    still = np.zeros((3, 3))
    assert push_up(landing, floors, 0.5, nodes, np.ones(3), still) == 0
    assert not still.any()
