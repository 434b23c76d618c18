# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from supple.verification.exact_intersections import (
    count_intersections,
    intersect_exactly,
    intersecting_pairs,
)
from supple.verification.meshes import block

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
ONE, OTHER = [0, 1, 2], [3, 4, 5]


def count(first, second) -> int:
    vertices = np.concatenate([np.asarray(first, float), np.asarray(second, float)])
    answers = {
        count_intersections(vertices[order], [ONE, OTHER])
        for order in ([0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2], [1, 2, 0, 5, 4, 3])
    }
    assert answers == {int(intersect_exactly(first, second))}
    return answers.pop()


INTERSECTING = {
    "crossing": [[0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1]],
    "a corner on the face": [[0.25, 0.25, 0], [0.2, 0.2, 1], [0.3, 0.3, 1]],
    "a corner on an edge": [[0.5, 0.5, 0], [1, 1, 1], [1, 1, 2]],
    "corner on corner": [[0, 0, 0], [-1, 0, 1], [0, -1, 1]],
    "an edge on the face": [[0.25, 0.25, 0], [0.5, 0.25, 0], [0.25, 0.25, 1]],
    "an edge across the face": [[-1, 0.25, 0], [2, 0.25, 0], [0, 0, 1]],
    "edge across edge": [[0.5, -1, -1], [0.5, 1, 1], [0.5, -1, 1]],
    "inside of it, in its plane": [[0.125, 0.125, 0], [0.25, 0.125, 0], [0.125, 0.25, 0]],
    "overlapping in its plane": [[0.25, 0.25, 0], [2, 0.25, 0], [0.25, 2, 0]],
    "the same": CORNERS,
    "side by side": [[1, 0, 0], [0, 1, 0], [1, 1, 0]],
    "a line through it": [[0.25, 0.25, -1], [0.25, 0.25, 1], [0.25, 0.25, 1]],
    "a line in its plane": [[-1, 0.25, 0], [2, 0.25, 0], [0.5, 0.25, 0]],
    "a point on it": [[0.25, 0.25, 0]] * 3,
}
APART = {
    "beside": [[2, 2, -1], [2, 3, 1], [3, 2, 1]],
    "one step of a number above": [[0.25, 0.25, np.nextafter(0.0, 1.0)], [0, 0, 1], [1, 0, 1]],
    "apart in its plane": [[1, 1, 0], [2, 1, 0], [1, 2, 0]],
    "one step apart in its plane": [[np.nextafter(1.0, 2.0), 0, 0], [2, 0, 0], [2, 1, 0]],
    "its line crosses, it does not": [[0.25, 0.25, 1], [0.25, 0.25, 2], [0.25, 0.5, 2]],
    "a line on the line of an edge": [[1.5, 0, 0], [2, 0, 0], [3, 0, 0]],
    "a point in its plane": [[1.0, 1.0, 0]] * 3,
}


@pytest.mark.parametrize("name", INTERSECTING)
def test_triangles_that_share_a_point(name):
    assert count(CORNERS, INTERSECTING[name]) == 1


@pytest.mark.parametrize("name", APART)
def test_triangles_that_share_none(name):
    assert count(CORNERS, APART[name]) == 0


def test_one_step_of_a_number_decides_in_a_plane_at_an_angle():
    """Halfway along an edge that no plane of the grid contains: x + y + z = 3 there exactly."""
    slanted = [[3.0, 0, 0], [0, 3, 0], [0, 0, 3]]
    tip, away = np.array([1.0, 1.0, 1.0]), [[2.0, 2, 2], [2, 3, 2]]
    assert count(slanted, [tip, *away]) == 1
    for k in range(3):
        beyond, before = tip.copy(), tip.copy()
        beyond[k], before[k] = np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)
        assert count(slanted, [beyond, *away]) == 0
        assert count(slanted, [before, *away]) == 1


def test_neighbours_are_not_counted():
    fan = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.2, 0.2, 0]]
    assert count_intersections(fan, [[0, 1, 2], [0, 1, 3]]) == 0
    assert count_intersections(fan, [[0, 1, 2], [0, 3, 4]]) == 0
    mesh = block((4, 4, 4))
    assert count_intersections(mesh.vertices, mesh.surface) == 0


def test_only_the_pairs_asked_for_are_compared():
    mesh = block((2, 2, 2))
    count = len(mesh.vertices)
    vertices = np.concatenate([mesh.vertices, mesh.vertices + 0.3, mesh.vertices - 0.3])
    triangles = np.concatenate([mesh.surface + k * count for k in range(3)])
    objects = np.repeat([0, 1, 2], count)
    every = intersecting_pairs(vertices, triangles, objects)
    owners = objects[triangles[every, 0]]
    assert {tuple(pair) for pair in owners} == {(0, 1), (0, 2), (1, 2)}
    some = intersecting_pairs(vertices, triangles, objects, {(1, 0)})
    np.testing.assert_array_equal(some, every[(owners != (0, 1)).any(axis=1)])
    assert count_intersections(vertices, triangles, np.zeros_like(objects), {(0, 0)}) == 0


def test_boxes_face_to_face_touch():
    mesh = block((3, 3, 3))
    vertices = np.concatenate([mesh.vertices, mesh.vertices + np.array([0.0, 0, 1])])
    triangles = np.concatenate([mesh.surface, mesh.surface + len(mesh.vertices)])
    assert count_intersections(vertices, triangles) > 0
    vertices[len(mesh.vertices) :, 2] = np.nextafter(vertices[len(mesh.vertices) :, 2], 9.0)
    assert count_intersections(vertices, triangles) == 0


@pytest.mark.parametrize("spread", [None, 4])
def test_every_pair_of_random_triangles_is_as_fractions_say(spread):
    """Triangles of any numbers, and of small whole ones, where planes and edges meet all the
    time."""
    random = np.random.default_rng(1)
    corners = random.normal(size=(40, 3, 3))
    if spread is not None:
        corners = random.integers(-spread, spread, size=(60, 3, 3)).astype(float)
    vertices, triangles = corners.reshape(-1, 3), np.arange(corners.size // 3).reshape(-1, 3)
    found = {tuple(pair) for pair in intersecting_pairs(vertices, triangles)}
    expected = {
        (i, j) for i, j in combinations(range(len(corners)), 2) if _share(corners[i], corners[j])
    }
    assert found == expected
    assert expected


def _share(first, second) -> bool:
    """Whether the polytopes a + u (b - a) + v (c - a), u, v >= 0, u + v <= 1, share a point.

    By eliminating one unknown after the other from the equations and inequalities on
    (u, v, s, t): Fourier and Motzkin's way, with fractions.
    """
    a, b, c, d, e, f = (
        [Fraction(float(value)) for value in corner] for corner in (*first, *second)
    )
    rows = [[b[k] - a[k], c[k] - a[k], d[k] - e[k], d[k] - f[k], d[k] - a[k]] for k in range(3)]
    equal = [*rows]
    # Rows (c, r) of c · unknowns <= r.
    less = [[-1, 0, 0, 0, 0], [0, -1, 0, 0, 0], [1, 1, 0, 0, 1]]
    less += [[0, 0, -1, 0, 0], [0, 0, 0, -1, 0], [0, 0, 1, 1, 1]]
    less = [[Fraction(value) for value in row] for row in less]
    for column in range(4):
        pivot = next((row for row in equal if row[column] != 0), None)
        if pivot is not None:
            equal = [_without(row, pivot, column) for row in equal if row is not pivot]
            less = [_without(row, pivot, column) for row in less]
            continue
        above = [row for row in less if row[column] > 0]
        below = [row for row in less if row[column] < 0]
        less = [row for row in less if row[column] == 0]
        less += [
            [x / p[column] - y / n[column] for x, y in zip(p, n, strict=True)]
            for p in above
            for n in below
        ]
    return all(row[4] == 0 for row in equal) and all(row[4] >= 0 for row in less)


def _without(row, pivot, column):
    share = row[column] / pivot[column]
    return [x - share * y for x, y in zip(row, pivot, strict=True)]


@pytest.mark.parametrize("stretch", [(1, 1, 1), (1e150, 1, 1e-150), (1, 0, 0)])
def test_small_triangles_among_large_ones_are_found_once(stretch):
    random = np.random.default_rng(3)
    size = 10.0 ** random.uniform(-2.0, 1.0, (60, 1, 1))
    corners = (random.random((60, 1, 3)) + size * random.normal(size=(60, 3, 3))) * stretch
    found = intersecting_pairs(corners.reshape(-1, 3), np.arange(180).reshape(-1, 3))
    expected = [
        pair for pair in combinations(range(60), 2) if intersect_exactly(*corners[list(pair)])
    ]
    assert [tuple(pair) for pair in found] == expected
