# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.surface_tets import SurfaceTets, TetsAround, barycentric_maps

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


# Below, a tet with a corner at the origin; on its face z = 0 two copies of another, of which the
# second is higher; and two that share the origin alone with it, over both.
POSITIONS = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 2.0],
        [3.0, -0.5, -0.5],
        [-0.5, 3.0, -0.5],
        [-0.5, -0.5, 3.0],
        [-0.5, -0.5, 6.0],
    ]
)
BELOW, LOW, HIGH, APART, LONG = range(5)
TETS_AROUND_TETS = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5], [0, 6, 7, 8], [0, 6, 7, 9]])


def located(tets, *point: float) -> tuple[int, float, int]:
    around, maps = (
        TetsAround(TETS_AROUND_TETS[tets], len(POSITIONS)),
        barycentric_maps(POSITIONS, TETS_AROUND_TETS[tets]),
    )
    parts = around.locate(maps, TETS_AROUND_TETS[tets], np.array([point]), np.array([0]))
    owner, least, rival = (part[0] for part in parts)
    return int(owner), float(least), int(rival)


def test_a_point_in_the_tet_that_is_near_stays_there() -> None:
    owner, least, rival = located([BELOW, LOW, APART], 0.2, 0.3, -0.1)
    assert (owner, rival) == (0, -1)
    assert least == pytest.approx(0.1)


def test_where_tets_overlap_the_one_with_more_corners_in_common_is_followed() -> None:
    for order in ([BELOW, LOW, APART], [BELOW, APART, LOW]):
        owner, least, rival = located(order, 0.25, 0.25, 0.05)
        assert (order[owner], rival) == (LOW, -1)
        assert least == pytest.approx(0.05)


def test_copies_that_have_as_many_in_common_are_rivals_and_the_deeper_first() -> None:
    for order in ([BELOW, LOW, HIGH], [BELOW, HIGH, LOW]):
        owner, least, rival = located(order, 0.25, 0.25, 0.1)
        assert (order[owner], order[rival]) == (LOW, HIGH)
        assert least == pytest.approx(0.1)


def test_rivals_of_a_tet_are_none_of_one_with_more_corners_in_common() -> None:
    for pair in ([APART, LONG], [LONG, APART]):
        owner, _, rival = located([BELOW, *pair], 0.25, 0.25, 0.05)
        assert {owner, rival} == {1, 2}
        owner, _, rival = located([BELOW, *pair, LOW], 0.25, 0.25, 0.05)
        assert (owner, rival) == (3, -1)


def test_a_point_in_none_follows_the_one_it_is_least_outside_of() -> None:
    owner, least, rival = located([BELOW, LOW], 0.25, 0.25, 0.8)
    assert (owner, rival) == (1, -1)
    assert least == pytest.approx(-0.3)
