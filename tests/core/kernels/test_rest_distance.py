# SPDX-License-Identifier: GPL-3.0-or-later
"""The activation distances of single pairs, beside distances that ipctk finds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core.kernels.collisions import POINT_EDGE, POINT_FACE, POINTS
from supple.core.kernels.rest_distance import (
    REST_DISTANCE_RATIO,
    SEARCH_RADIUS_RATIO,
    TOUCHING_RATIO,
    activation_distance,
    limit_activation,
    nearest_square,
    shortening,
)
from supple.core.potentials.contact.surface import Topology, topology
from supple.tests.core.toolkit import ipctk

DHAT, JOINED = 0.1, np.ones((1, 1), dtype=bool)
SAME, TABLE = np.zeros(4, dtype=np.int32), np.full((1, 1), DHAT)


def separation(x: np.ndarray, are_edges: bool) -> float:
    """The distance of two edges, or a vertex and a face, in metres."""
    kit = ipctk()
    squared = kit.edge_edge_distance(*x) if are_edges else kit.point_triangle_distance(*x)
    return math.sqrt(squared)


def expected(x: np.ndarray, are_edges: bool, dhat: float = DHAT) -> float:
    return min(dhat, max(REST_DISTANCE_RATIO * separation(x, are_edges), TOUCHING_RATIO * dhat))


def of_pair(x: np.ndarray, are_edges: bool, joined: np.ndarray = JOINED) -> float:
    return float(activation_distance(x, SAME, TABLE, joined, 0, 1, 2, 3, are_edges))


@pytest.mark.parametrize("are_edges", [True, False])
def test_a_pair_pushes_from_a_quarter_of_its_distance_wherever_its_parts_lie(are_edges) -> None:
    """Next to each other along each axis, on either side, near and far, small and large."""
    random = np.random.default_rng(2)
    limited = 0
    for _ in range(300):
        x = random.normal(size=(4, 3)) * 10.0 ** random.uniform(-2.0, 0.0)
        apart = np.zeros(3)
        apart[random.integers(3)] = random.choice([-1.0, 1.0]) * random.uniform(0.0, 1.2)
        x[: 2 if are_edges else 1] += apart
        assert of_pair(x, are_edges) == pytest.approx(expected(x, are_edges), rel=1e-6)
        limited += expected(x, are_edges) < DHAT
    assert 50 < limited < 250


@pytest.mark.parametrize("are_edges", [True, False])
def test_objects_that_are_not_joined_push_from_their_own_distance(are_edges) -> None:
    x = np.random.default_rng(3).normal(size=(4, 3)) * 1e-3
    assert of_pair(x, are_edges, ~JOINED) == DHAT


@pytest.mark.parametrize(("apart", "expected_distance"), [(0.0, 0.2), (1e-3, 1e-3)])
def test_parts_that_touch_at_rest_have_the_distance_of_their_corners(
    apart: float, expected_distance: float
) -> None:
    tip = [0.2, 0.0, apart]
    x = np.array([tip, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    # The nearest corner is 0.2 m away.
    assert of_pair(x, False) == pytest.approx(REST_DISTANCE_RATIO * expected_distance)
    crossing = np.array([[0.2, -0.3, apart], [0.2, 0.3, apart], [0.0, 0, 0], [1.0, 0, 0]])
    corners = math.hypot(0.2, 0.3) if apart == 0.0 else expected_distance
    assert of_pair(crossing, True) == pytest.approx(min(DHAT, REST_DISTANCE_RATIO * corners))


def test_where_corners_coincide_hardly_anything_pushes() -> None:
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 0]])
    assert of_pair(x, True) == TOUCHING_RATIO * DHAT
    assert of_pair(x[[0, 2, 1, 3]], False) == TOUCHING_RATIO * DHAT


@pytest.mark.parametrize("are_edges", [True, False])
def test_the_nearest_corners_are_found_among_all_of_both_parts(are_edges) -> None:
    first, second = ([0, 1], [2, 3]) if are_edges else ([0], [1, 2, 3])
    for one in first:
        for other in second:
            x = np.diag([10.0, 20.0, 30.0, 40.0])[:, :3] + [[0.0], [50.0], [0.0], [90.0]]
            x[other] = x[one] + [0.3, 0.0, 0.4]
            points = tuple(map(tuple, x))
            assert nearest_square(points, are_edges) == pytest.approx(0.25)


def test_the_search_is_shortened_by_what_a_pair_pushes_from_nearer() -> None:
    half = (0.5 * DHAT / REST_DISTANCE_RATIO) ** 2
    assert shortening(DHAT, half) == pytest.approx(SEARCH_RADIUS_RATIO * 0.5 * DHAT)
    assert shortening(DHAT, 4.0 * half) == pytest.approx(0.0, abs=1e-12)
    assert shortening(DHAT, 9.0 * half) == 0.0
    assert shortening(0.0, half) == 0.0
    most = SEARCH_RADIUS_RATIO * DHAT * (1.0 - TOUCHING_RATIO)
    assert shortening(DHAT, 0.0) == pytest.approx(most, rel=1e-12)


# Collisions of a vertex and an edge, and of two vertices


def sheets() -> tuple[np.ndarray, Topology]:
    """Two rough sheets of triangles, one over the other, as one object."""
    random = np.random.default_rng(8)
    x, y = np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij")
    low = np.column_stack([x.ravel(), y.ravel(), np.zeros(16)])
    rest = 0.1 * np.concatenate([low, low + np.array([0.3, 0.2, 1.0])])
    rest += random.uniform(-0.04, 0.04, rest.shape)
    corner = (4 * np.arange(3)[:, None] + np.arange(3)).ravel()
    half = np.column_stack([corner, corner + 4, corner + 5])
    other = np.column_stack([corner, corner + 5, corner + 1])
    faces = np.concatenate([half, other])
    faces = np.concatenate([faces, faces[:, ::-1] + 16]).astype(np.int32)
    return rest, topology(rest, faces, np.zeros(32, dtype=np.int32), 1)


REST, MESH = sheets()
EDGES = [tuple(map(int, edge)) for edge in MESH.edges]
CORNERS = {
    (a, b): [int(c) for c in MESH.edge_corners[MESH.edge_offsets[k] : MESH.edge_offsets[k + 1]]]
    for k, (a, b) in enumerate(EDGES)
}
FACES = {tuple(sorted((a, b, c))) for (a, b), corners in CORNERS.items() for c in corners}


def least(pairs: list[tuple[tuple[int, ...], bool]], dhat: float) -> float:
    return min(expected(REST[list(pair)], are_edges, dhat) for pair, are_edges in pairs)


def pairs_of_edge(tip: int, a: int, b: int) -> list[tuple[tuple[int, ...], bool]]:
    """All pairs that have the vertex and the edge in common."""
    pairs: list[tuple[tuple[int, ...], bool]] = [
        ((*edge, a, b), True) for edge in EDGES if tip in edge and not {a, b} & set(edge)
    ]
    faces = [face for face in FACES if {a, b} <= set(face) and tip not in face]
    return pairs + [((tip, *face), False) for face in faces]


def pairs_of_points(a: int, b: int) -> list[tuple[tuple[int, ...], bool]]:
    pairs: list[tuple[tuple[int, ...], bool]] = []
    for first in EDGES:
        for second in EDGES:
            if a in first and b in second and not set(first) & set(second):
                pairs.append(((*first, *second), True))
    for tip, end in ((a, b), (b, a)):
        pairs += [((tip, *face), False) for face in FACES if end in face and tip not in face]
    return pairs


def limited(feature: int, vertices: tuple[int, ...], points: np.ndarray, dhat: float):
    rows = np.array([vertices], dtype=np.int32)
    objects, dhats = np.zeros((1, 2), dtype=np.int32), np.array([dhat])
    is_near = np.zeros(1, dtype=bool)
    features = np.array([feature], dtype=np.int64)
    limit_activation(rows, features, objects, JOINED, MESH, REST, points, dhats, is_near)
    return float(dhats[0]), bool(is_near[0])


@pytest.mark.parametrize("turned", [False, True])
def test_a_vertex_and_an_edge_push_from_the_least_of_all_their_pairs(turned: bool) -> None:
    for tip in range(16):
        for a, b in EDGES:
            # Of the same sheet those that have a corner beside the vertex, as well.
            if tip in (a, b) or not pairs_of_edge(tip, a, b):
                continue
            points = REST.copy()
            points[tip] = REST[a]
            ends = (b, a) if turned else (a, b)
            # The last place of a vertex and an edge holds nothing.
            dhat, is_near = limited(POINT_EDGE, (tip, *ends, tip), points, 1.0)
            assert dhat == pytest.approx(least(pairs_of_edge(tip, a, b), 1.0), rel=1e-6)
            assert is_near


def test_two_vertices_push_from_the_least_of_all_their_pairs() -> None:
    for a, b in ((0, 17), (5, 21), (10, 30), (15, 16), (26, 6), (5, 6), (0, 5)):
        points = REST.copy()
        points[a] = REST[b]
        dhat, is_near = limited(POINTS, (a, b, a, a), points, 1.0)
        assert dhat == pytest.approx(least(pairs_of_points(a, b), 1.0), rel=1e-6)
        assert is_near


@pytest.mark.parametrize(("place", "distance"), [(-0.3, 0.5), (0.25, 0.4), (1.3, 0.5)])
def test_a_vertex_is_near_an_edge_by_the_distance_to_its_nearest_place(place, distance) -> None:
    tip, (a, b) = 5, next(edge for edge in EDGES if edge[0] >= 16)
    at_least = least(pairs_of_edge(tip, a, b), 1.0)
    for ratio, expected_near in ((0.99, True), (1.01, False)):
        points, unit = REST.copy(), ratio * at_least / distance
        points[a], points[b] = (0.0, 0.0, 0.0), (unit, 0.0, 0.0)
        points[tip] = unit * place, 0.0, 0.4 * unit
        assert limited(POINT_EDGE, (tip, a, b, tip), points, 1.0)[1] == expected_near


def test_whole_pairs_and_vertices_are_near_by_their_own_distance() -> None:
    for feature, vertices, are_edges in (
        (POINT_FACE, (0, *next(face for face in FACES if min(face) >= 16)), False),
        (0, (*EDGES[0], *EDGES[-1]), True),
    ):
        own = expected(REST[list(vertices)], are_edges, 1.0)
        for ratio, is_near in ((0.99, True), (1.01, False)):
            scale = ratio * own / separation(REST[list(vertices)], are_edges)
            dhat, found = limited(feature, vertices, scale * REST, 1.0)
            assert (dhat, found) == (pytest.approx(own, rel=1e-6), is_near)
    at_least = least(pairs_of_points(0, 17), 1.0)
    for ratio, is_near in ((0.99, True), (1.01, False)):
        points = REST.copy()
        points[17] = points[0] + [0.6 * ratio * at_least, 0.0, 0.8 * ratio * at_least]
        assert limited(POINTS, (0, 17, 0, 0), points, 1.0)[1] == is_near


@pytest.mark.parametrize(
    ("objects", "is_limited"), [((0, 1), False), ((1, 0), False), ((1, 1), True)]
)
def test_collisions_of_what_is_not_joined_keep_their_distance(objects, is_limited) -> None:
    joined = np.array([[False, False], [False, True]])
    rows, pairs = np.array([[0, 17, 0, 0]], dtype=np.int32), np.array([objects], dtype=np.int32)
    dhats, is_near = np.array([1.0]), np.zeros(1, dtype=bool)
    features, points = np.array([POINTS], dtype=np.int64), REST.copy()
    points[0] = REST[17]
    limit_activation(rows, features, pairs, joined, MESH, REST, points, dhats, is_near)
    assert (dhats[0] < 1.0) == is_limited
    assert is_near[0]
