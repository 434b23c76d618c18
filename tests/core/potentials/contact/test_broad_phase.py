# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidate pairs beside all pairs, by the toolkit's distances."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from supple.core.compiled import numba
from supple.core.potentials.contact.collision_detection import BroadPhase, Candidates
from supple.verification.meshes import block

kit: Any = pytest.importorskip("ipctk")

CELLS, MOMENTS = (1, 1, 2), 9
BLOCK = block(CELLS)
OBJECTS = 4


def surface() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Blocks in a row, and the last object of two pieces, one at either end."""
    used, triangles = np.unique(BLOCK.surface, return_inverse=True)
    points, faces, objects = [], [], []
    for index, owner in enumerate([0, 1, 2, 3, 3]):
        place = [0.0, 1.03, 2.06, -1.03, 3.09][index]
        points.append(BLOCK.vertices[used] + [place, 0.02 * index, 0.0])
        faces.append(triangles.reshape(-1, 3) + index * len(used))
        objects.append(np.full(len(used), owner))
    faces = np.concatenate(faces).astype(np.int32)
    edges = np.asarray(kit.edges(np.asfortranarray(faces)))
    return np.concatenate(points), edges, faces, np.concatenate(objects)


POINTS, EDGES, FACES, OWNERS = surface()
ALL = np.ones((OBJECTS, OBJECTS), dtype=bool)


# How much farther than by their radii objects are looked for.
NOTHING = np.zeros((OBJECTS, OBJECTS))
EXTRAS = np.array(
    [[0.0, 0.05, 0.0, 0.02], [0.05, 0.01, 0.0, 0.0], [0.0, 0.0, 0.3, 0.02], [0.02, 0.0, 0.02, 0.04]]
)


# The vertices of a pair of edges, and of a face and a vertex.
CORNERS = (
    lambda pair: {*EDGES[pair[0]], *EDGES[pair[1]]},
    lambda pair: {*FACES[pair[0]], pair[1]},
)


def broad_phase(can_collide: np.ndarray = ALL, extras: np.ndarray | None = None) -> BroadPhase:
    return BroadPhase(POINTS, EDGES, FACES, OWNERS, can_collide, extras)


def as_sets(found: Candidates) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    edges, faces = ({(a, b) for a, b in own.tolist()} for own in vars(found).values())
    assert (len(edges), len(faces)) == (len(found.edge_edges), len(found.face_vertices))
    return edges, faces


def expected(
    before: np.ndarray,
    after: np.ndarray,
    radii: np.ndarray,
    can_collide: np.ndarray,
    extras: np.ndarray = NOTHING,
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The pairs whose distance at some moment is less than the sum of their radii and the extra
    one.
    """
    widest = radii + 0.5 * extras.max()
    places = [before + t * (after - before) for t in np.linspace(0.0, 1.0, MOMENTS)]
    pairs: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
    for i, k in _whose_boxes_meet(places, widest, EDGES, EDGES):
        a, b = EDGES[i], EDGES[k]
        if i >= k or set(a) & set(b) or not can_collide[OWNERS[a[0]], OWNERS[b[0]]]:
            continue
        reach = radii[a].max() + radii[b].max() + extras[OWNERS[a[0]], OWNERS[b[0]]]
        if any(kit.edge_edge_distance(*x[a], *x[b]) < reach**2 for x in places):
            pairs[0].add((i, k))
    for i, k in _whose_boxes_meet(places, widest, FACES, np.arange(len(POINTS))[:, None]):
        face = FACES[i]
        if k in face or not can_collide[OWNERS[face[0]], OWNERS[k]]:
            continue
        reach = radii[face].max() + radii[k] + extras[OWNERS[face[0]], OWNERS[k]]
        if any(kit.point_triangle_distance(x[k], *x[face]) < reach**2 for x in places):
            pairs[1].add((i, k))
    return pairs


def _whose_boxes_meet(
    places: list[np.ndarray], radii: np.ndarray, first: np.ndarray, second: np.ndarray
) -> Iterator[tuple[int, int]]:
    boxes = []
    for parts in (first, second):
        own, reach = np.stack(places)[:, parts], radii[parts].max(axis=1)[:, None]
        boxes.append((own.min(axis=(0, 2)) - reach, own.max(axis=(0, 2)) + reach))
    (low, high), (other_low, other_high) = boxes
    meet = (low[:, None] <= other_high).all(axis=2) & (other_low <= high[:, None]).all(axis=2)
    yield from map(tuple, np.argwhere(meet).tolist())


@pytest.fixture
def moved() -> np.ndarray:
    """All go their ways, and one vertex far through everything."""
    random = np.random.default_rng(3)
    after = POINTS + random.normal(scale=0.02, size=POINTS.shape)
    after[OWNERS == 1] += [0.0, 0.2, 0.1]
    after[5] += [4.0, 0.3, 0.2]
    return after


def near_ones(points: np.ndarray) -> np.ndarray:
    """(V,) radii that differ between objects and vertices."""
    random = np.random.default_rng(4)
    return random.uniform(0.0, 0.03, len(points)) * np.array([1.0, 0.1, 2.0, 1.0])[OWNERS]


def test_nothing_that_comes_near_is_missing_and_little_else_is_there(moved) -> None:
    radii = near_ones(POINTS)
    found = as_sets(broad_phase().candidates(POINTS, moved, radii))
    wanted = expected(POINTS, moved, radii, ALL)
    for own, needed in zip(found, wanted, strict=True):
        assert len(needed) > 50
        assert own >= needed
        assert len(own) < 4 * len(needed)


def test_where_nothing_moves_there_is_exactly_what_is_near() -> None:
    radii = near_ones(POINTS)
    found = as_sets(broad_phase().candidates(POINTS, POINTS, radii))
    wanted = expected(POINTS, POINTS, radii, ALL)
    assert found == wanted


@pytest.mark.parametrize("ratio", [1.0, 2.5])
def test_two_objects_are_looked_for_as_much_farther_as_was_asked(moved, ratio) -> None:
    radii, trees = near_ones(POINTS), broad_phase(extras=EXTRAS)
    found = as_sets(trees.candidates(POINTS, POINTS, radii, ratio))
    wanted = expected(POINTS, POINTS, radii, ALL, ratio * EXTRAS)
    assert found == wanted
    assert wanted > expected(POINTS, POINTS, radii, ALL)
    swept = as_sets(trees.candidates(POINTS, moved, radii, ratio))
    wanted = expected(POINTS, moved, radii, ALL, ratio * EXTRAS)
    for own, needed in zip(swept, wanted, strict=True):
        assert own >= needed


def test_what_all_do_together_adds_nothing() -> None:
    radii = near_ones(POINTS)
    trees = broad_phase()
    still = as_sets(trees.candidates(POINTS, POINTS, radii))
    assert as_sets(trees.candidates(POINTS, POINTS + np.array([9.0, -7.0, 3.0]), radii)) == still


def test_who_may_not_meet_does_not(moved) -> None:
    can_collide = ALL.copy()
    can_collide[0, 0] = False
    can_collide[1, 2] = can_collide[2, 1] = False
    radii = near_ones(POINTS)
    found = broad_phase(can_collide).candidates(POINTS, moved, radii)
    everything = broad_phase().candidates(POINTS, moved, radii)
    for own, before, first, second in (
        (found.edge_edges, everything.edge_edges, EDGES[:, 0], EDGES[:, 0]),
        (found.face_vertices, everything.face_vertices, FACES[:, 0], np.arange(len(POINTS))),
    ):
        allowed = can_collide[OWNERS[first[before[:, 0]]], OWNERS[second[before[:, 1]]]]
        assert not allowed.all()
        np.testing.assert_array_equal(own, before[allowed])


@pytest.mark.parametrize("vertices", [[5], [0, 30], list(range(20, 40))])
def test_around_what_goes_another_way_all_pairs_of_that_are_found_and_no_others(
    moved, vertices: list[int]
) -> None:
    trees, radii, is_moved = broad_phase(), near_ones(POINTS), np.zeros(len(POINTS), dtype=bool)
    is_moved[vertices] = True
    before, after = POINTS.copy(), moved.copy()
    swept = trees.sweep(before, after, radii)
    after[vertices] += [0.3, -0.9, 0.05]
    before[vertices] += [0.0, 0.02, 0.0]
    radii[vertices] *= 2.0
    again = trees.sweep_moved(swept, is_moved, before, after, radii)
    found = as_sets(trees.among(again, again.leaves))
    wanted = expected(before, after, radii, ALL)
    for own, needed, of in zip(found, wanted, CORNERS, strict=True):
        assert all(of(pair) & set(vertices) for pair in own)
        needed = {pair for pair in needed if of(pair) & set(vertices)}
        assert own >= needed and len(needed) > 0
    # What is known of the others still holds.
    assert as_sets(trees.among(again, trees.sweep(before, after, radii).leaves)) == found


@pytest.mark.parametrize("vertices", [[5], [0, 30], list(range(20, 40))])
def test_of_queried_vertices_all_pairs_are_found_and_no_others(moved, vertices: list[int]) -> None:
    trees, radii = broad_phase(), near_ones(POINTS)
    queried = np.zeros(len(POINTS), dtype=bool)
    queried[vertices] = True
    whole = trees.sweep(POINTS, moved, radii)
    needed = as_sets(trees.among(whole, whole.leaves))
    at_once = trees.sweep(POINTS, moved, radii, queried=queried)
    for swept in (at_once, trees.around(whole, queried), trees.around(at_once, queried)):
        found = as_sets(trees.among(swept, swept.leaves))
        for own, of_all, of in zip(found, needed, CORNERS, strict=True):
            assert own == {pair for pair in of_all if of(pair) & set(vertices)}
            assert 0 < len(own) < len(of_all)


def test_pairs_are_in_order_and_the_same_with_any_number_of_threads(moved) -> None:
    radii = near_ones(POINTS)
    answers = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        answers.append(broad_phase().candidates(POINTS, moved, radii))
    for own in vars(answers[0]).values():
        np.testing.assert_array_equal(own, own[np.lexsort((own[:, 1], own[:, 0]))])
    for first, second in zip(vars(answers[0]).values(), vars(answers[1]).values(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert (answers[0].edge_edges[:, 0] < answers[0].edge_edges[:, 1]).all()


def test_more_pairs_than_there_was_room_for_are_all_there() -> None:
    trees = broad_phase()
    radii = np.full(len(POINTS), 10.0)
    found = trees.candidates(POINTS, POINTS, radii)
    apart = sum(not set(a) & set(b) for a, b in itertools.combinations(EDGES.tolist(), 2))
    assert len(found.edge_edges) == apart
    corners = sum(len(set(face)) for face in FACES.tolist())
    assert len(found.face_vertices) == len(FACES) * len(POINTS) - corners
    assert len(found) == len(found.edge_edges) + len(found.face_vertices)


def test_a_vertex_without_a_triangle_meets_nothing() -> None:
    points = np.vstack([POINTS, POINTS[0] + 1e-3])
    owners = np.append(OWNERS, 1)
    trees = BroadPhase(points, EDGES, FACES, owners, ALL)
    found = trees.candidates(points, points, np.full(len(points), 0.01))
    assert len(POINTS) not in found.face_vertices[:, 1]
