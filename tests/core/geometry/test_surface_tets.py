# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.surface_tets import SurfaceTets

# A tet below z = 0, and two copies of the one above it, from which a gap along x = y parts them.
VERTICES = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 2.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ]
)
# The last lies over them, and has an edge alone in common with the one below.
TETS = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5], [0, 1, 6, 7]])
BEYOND, ONE, TWO, OVER = range(4)
# The sides of the gap, which go down into the tet beyond.
SIDE_ONE = np.array([[0.35, 0.25, -0.2], [0.35, 0.25, 0.2], [0.45, 0.3, 0.0]])
SIDE_TWO = SIDE_ONE[:, [1, 0, 2]]


def surface(*rows: tuple[np.ndarray, int]) -> SurfaceTets:
    triangles = np.array([triangle for triangle, _ in rows])
    return SurfaceTets(triangles.mean(axis=1), triangles, np.array([tet for _, tet in rows]))


EVERYTHING = surface((SIDE_ONE, BEYOND), (SIDE_ONE, ONE), (SIDE_TWO, BEYOND), (SIDE_TWO, TWO))


def followed(ways: SurfaceTets, points: np.ndarray) -> list[int]:
    owner, least = ways.followed(points, VERTICES, TETS)
    assert least.min() >= -1e-9
    return owner.tolist()


def test_a_point_follows_what_its_own_side_of_a_gap_runs_through() -> None:
    above = np.array([[0.35, 0.25, 0.1], [0.25, 0.35, 0.1]])
    assert followed(EVERYTHING, above) == [ONE, TWO]
    assert followed(EVERYTHING, above * [1, 1, -1]) == [BEYOND, BEYOND]


def test_beyond_where_its_own_triangle_goes_it_follows_the_closer_side() -> None:
    short = SIDE_ONE - np.array([0.0, 0.0, 0.1])
    aside = 0.05 * np.array([1.0, -1.0, 0.0])
    ways = surface((short, BEYOND), (SIDE_ONE + aside, ONE), (SIDE_TWO, TWO))
    point = np.array([[0.35, 0.25, 0.05]])
    assert followed(ways, point) == [ONE]
    swapped = surface((short, BEYOND), (SIDE_ONE + aside, TWO), (SIDE_TWO, ONE))
    owner, least = swapped.followed(point, VERTICES, TETS)
    assert owner == [TWO]
    assert least == pytest.approx(0.025)


def test_of_the_tets_that_its_own_triangle_runs_through_a_point_follows_the_one_it_is_in() -> None:
    point = np.array([[0.35, 0.25, 0.1]])
    for row in ([BEYOND, OVER], [OVER, BEYOND]):
        ways = surface(*((SIDE_ONE, tet) for tet in row), (SIDE_TWO, ONE))
        assert followed(ways, point) == [OVER]


def test_a_side_is_as_close_as_the_closest_of_its_triangles() -> None:
    short, away = SIDE_ONE - np.array([0.0, 0.0, 0.1]), SIDE_ONE + np.array([5.0, 0.0, 0.0])
    point = np.array([[0.35, 0.25, 0.05]])
    for first, second in ((ONE, TWO), (TWO, ONE)):
        near = SIDE_ONE + np.array([0.05, -0.05, 0.0])
        ways = surface((short, BEYOND), (away, first), (near, first), (SIDE_TWO, second))
        assert followed(ways, point) == [first]
