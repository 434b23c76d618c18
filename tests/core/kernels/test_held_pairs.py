# SPDX-License-Identifier: GPL-3.0-or-later
"""Tetrahedra that hardly deform hold parts of their body apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core.geometry.embedding import embed
from supple.core.kernels.held_pairs import (
    MAX_LEAF_SPREAD,
    Hold,
    is_held,
    leaf_spreads,
    limit_spreads,
    pair_spread,
)
from supple.core.kernels.rest_distance import REST_DISTANCE_RATIO
from supple.core.math3.closest_points import closest_points
from supple.core.potentials.contact.collision_detection import BroadPhase
from supple.verification.meshes import block

MESH = block((3, 2, 2), (3.0, 2.0, 2.0))


def hold_of(points: np.ndarray, at: np.ndarray, bends: np.ndarray | None = None) -> Hold:
    """The hold of points at rest while the vertices are near a place."""
    embedding = embed(MESH, points)
    spreads = np.full(len(points), math.inf)
    tets = MESH.tets.astype(np.int32)
    bends = np.zeros_like(at) if bends is None else bends
    # Beside two places of the whole at rest.
    paths = np.stack([MESH.vertices, at, MESH.vertices + 5.0], axis=1)
    every = np.stack([np.zeros_like(at), bends, np.zeros_like(at)], axis=1)
    rows = paths.reshape(len(at), -1), every.reshape(len(at), -1)
    limit_spreads(*rows, tets, MESH.shape_gradients, embedding.indices, spreads)
    return Hold(embedding.indices, embedding.weights, MESH.vertices, spreads)


def asked(hold: Hold, points: np.ndarray, are_edges: bool = True) -> bool:
    return bool(
        is_held(hold, points, (0, 1, 2, 3), are_edges, np.empty(16, np.int32), np.empty(16))
    )


def spread(hold: Hold, points: np.ndarray, enough: float = 0.0) -> float:
    """κ of two edges."""
    scratch = np.empty(16, np.int32), np.empty(16)
    return float(pair_spread(hold, points, (0, 1, 2, 3), True, enough, *scratch))


def turned(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def pair(rng: np.random.Generator) -> np.ndarray:
    """Four points of two short edges somewhere in the block, near each other."""
    middle = rng.uniform(0.2, 0.8, 3) * [3.0, 2.0, 2.0]
    return middle + rng.uniform(-0.15, 0.15, (4, 3))


def distance(points: np.ndarray, are_edges: bool) -> float:
    rows = tuple(tuple(point) for point in points)
    return float(np.linalg.norm(closest_points(are_edges, rows)[0]))


@pytest.mark.parametrize("are_edges", [True, False])
@pytest.mark.parametrize("strain", [0.05, 0.1, 0.5])
def test_what_is_held_stays_farther_apart_than_it_pushes(are_edges: bool, strain: float) -> None:
    rng, held = np.random.default_rng(7), 0
    for _ in range(300):
        points = pair(rng)
        at = MESH.vertices @ turned(rng.uniform(0.0, 6.0)).T
        at = at + strain * rng.uniform(-1.0, 1.0, at.shape)
        hold = hold_of(points, at)
        if not asked(hold, points, are_edges):
            continue
        held += 1
        now = np.einsum("vk,vki->vi", hold.weights, at[hold.nodes])
        assert distance(now, are_edges) > REST_DISTANCE_RATIO * distance(points, are_edges)
    assert (held > 275) == (strain < 0.1)
    assert (held > 0) == (strain < 0.5)


def test_a_rotation_holds_all_that_a_shape_at_rest_holds() -> None:
    points = pair(np.random.default_rng(1))
    for at in (MESH.vertices, MESH.vertices @ turned(2.0).T):
        assert hold_of(points, at).max_spreads.min() > 1e6
        assert asked(hold_of(points, at), points)


@pytest.mark.parametrize(("stretch", "expected"), [(0.3, True), (0.24, False), (-1.0, False)])
def test_what_is_pressed_or_turned_inside_out_holds_nothing(stretch, expected) -> None:
    """A stretch below a quarter lets parts come as near as they push."""
    points = pair(np.random.default_rng(1))
    hold = hold_of(points, MESH.vertices * [1.0, 1.0, stretch])
    assert asked(hold, points) == expected
    assert bool((hold.max_spreads > 0.0).all()) == expected


def test_the_spread_that_is_held_is_what_gradients_leave() -> None:
    """One vertex moves: around it gradients differ by the move over the edge."""
    at = MESH.vertices.copy()
    inside = int(np.linalg.norm(at - [1.0, 1.0, 1.0], axis=1).argmin())
    at[inside, 0] += 0.1
    hold = hold_of(at[[inside]], at)
    edges = at[MESH.tets[:, 1:]] - at[MESH.tets[:, :1]]
    rest = MESH.vertices[MESH.tets[:, 1:]] - MESH.vertices[MESH.tets[:, :1]]
    gradients = edges.swapaxes(1, 2) @ np.linalg.inv(rest.swapaxes(1, 2))
    around = gradients[np.isin(MESH.tets, hold.nodes[0]).any(axis=1)].reshape(-1, 9)
    low, high = around.min(axis=0), around.max(axis=0)
    centre = 0.5 * (low + high).reshape(3, 3)
    stretch = math.sqrt(1.0 - np.linalg.norm(centre.T @ centre - np.eye(3)))
    expected = (stretch - REST_DISTANCE_RATIO) / (0.5 * np.linalg.norm(high - low))
    assert hold.max_spreads[0] == pytest.approx(expected, rel=1e-9)


def test_a_path_that_may_bend_to_either_side_holds_less() -> None:
    """One vertex at rest may leave its place: gradients differ by that over the edge."""
    inside = int(np.linalg.norm(MESH.vertices - [1.0, 1.0, 1.0], axis=1).argmin())
    bends = np.zeros_like(MESH.vertices)
    bends[inside, 0] = 0.1
    points = MESH.vertices[[inside]]
    hold = hold_of(points, MESH.vertices, bends)
    touched = np.isin(MESH.tets, hold.nodes[0]).any(axis=1)
    changes = np.where((MESH.tets == inside)[..., None], MESH.shape_gradients, 0.0).sum(axis=1)
    half = np.linalg.norm(0.1 * abs(changes[touched]).max(axis=0))
    expected = (1.0 - REST_DISTANCE_RATIO) / half
    assert hold.max_spreads[0] == pytest.approx(expected, rel=1e-9)
    assert hold_of(points, MESH.vertices, -bends).max_spreads[0] == hold.max_spreads[0]


def test_parts_without_a_vertex_in_common_are_not_held() -> None:
    points = np.array([[0.1, 0.1, 0.1], [0.2, 0.1, 0.1], [2.9, 1.9, 1.9], [2.8, 1.9, 1.9]])
    assert not asked(hold_of(points, MESH.vertices), points)


def test_points_of_one_tet_are_held_up_to_a_spread_of_one() -> None:
    shares = np.random.default_rng(2).dirichlet(np.ones(4), 4)
    points = shares @ MESH.vertices[MESH.tets[0]]
    hold = hold_of(points, MESH.vertices)
    assert spread(hold, points) == 1.0
    for limit, expected in ((1.01, True), (0.99, False)):
        spreads = np.array([9.0, 9.0, 9.0, limit])
        assert asked(hold._replace(max_spreads=spreads), points) == expected
    for moved in range(4):
        others = points.copy()
        others[moved] = [2.9, 1.9, 1.9]
        assert spread(hold_of(others, MESH.vertices), others) != 1.0


def test_a_bound_of_a_spread_is_no_lower_than_it_and_exact_where_it_matters() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        points = pair(rng)
        hold = hold_of(points, MESH.vertices)
        exact, loose = spread(hold, points), spread(hold, points, enough=1e9)
        assert exact <= loose
        assert spread(hold, points, enough=0.99 * exact) == exact


def surface_parts(points: np.ndarray, triangles: np.ndarray) -> BroadPhase:
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    groups, can_collide = np.zeros(len(points), dtype=np.intp), np.ones((1, 1), dtype=bool)
    return BroadPhase(points, np.unique(sides, axis=0), triangles, groups, can_collide)


def test_two_leaves_need_the_largest_spread_of_their_parts() -> None:
    """A grid of points in a block: pairs of leaves beside each other, and far from each other."""
    x, y = np.meshgrid(np.arange(9), np.arange(9), indexing="ij")
    points = np.stack([0.1 + 0.33 * x, 0.1 + 0.22 * y, 0.9 + 0.011 * x], axis=2).reshape(-1, 3)
    # No two edges are parallel, so that all closest points are unique.
    points += np.random.default_rng(5).uniform(-0.05, 0.05, points.shape)
    first = (9 * np.arange(8)[:, None] + np.arange(8)).ravel()
    triangles = np.concatenate(
        [
            np.stack([first, first + 9, first + 1], 1),
            np.stack([first + 1, first + 9, first + 10], 1),
        ]
    ).astype(np.int32)
    broad_phase, hold = surface_parts(points, triangles), hold_of(points, MESH.vertices)
    swept = broad_phase.sweep(points, points, np.full(len(points), 1.0))
    spreads = np.empty(len(swept.leaves))
    leaf_spreads(swept.leaves, swept.edges, swept.faces, swept.vertices, hold, points, spreads)
    edges, faces, vertices = swept.edges, swept.faces, swept.vertices
    for (one, other, _), expected in zip(swept.leaves, spreads, strict=True):
        pairs = [
            (True, (*edges.corners[i], *edges.corners[j]))
            for i in range(*edges.ranges[one])
            for j in range(
                i + 1 if one == other else edges.ranges[other, 0], edges.ranges[other, 1]
            )
        ] + [
            (False, (vertices.indices[i], *faces.corners[j]))
            for a, b in {(one, other), (other, one)}
            for i in range(*vertices.ranges[a])
            for j in range(*faces.ranges[b])
        ]
        apart = [(kind, corners) for kind, corners in pairs if len(set(corners)) == 4]
        most = max(
            pair_spread(hold, points, corners, kind, 0.0, np.empty(16, np.int32), np.empty(16))
            for kind, corners in apart
        )
        assert expected == (pytest.approx(most) if most <= MAX_LEAF_SPREAD else math.inf)
    assert 0 < np.isinf(spreads).sum() < len(spreads)
    assert len(set(spreads[np.isfinite(spreads)].round(6))) > 3
