# SPDX-License-Identifier: GPL-3.0-or-later
"""Test collision-free displacements of a pair against its distance at many moments by the
toolkit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from supple.core.kernels.continuous_collision import (
    BELOW_MIN_DISTANCE_RATIO,
    REMAINING_DISTANCE_RATIO,
    distance_lower_bound,
    pair_step_size,
    separation,
)

kit: Any = pytest.importorskip("ipctk")

MOMENTS = 60
#: A point above the inside of a triangle; two edges that cross.
TRIANGLE = np.array([[0.2, 0.3, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
CROSS = np.array([[-1.0, 0.1, 1.0], [1.0, 0.1, 1.0], [0.1, -1.0, 0.0], [0.1, 1.0, 0.0]])
PAIRS = pytest.mark.parametrize(("pair", "are_edges"), [(TRIANGLE, False), (CROSS, True)])


def corners(points: np.ndarray) -> tuple:
    return tuple(tuple(float(x) for x in point) for point in points)


def distance(points: np.ndarray, are_edges: bool) -> float:
    square = kit.edge_edge_distance if are_edges else kit.point_triangle_distance
    return math.sqrt(square(*points))


def share(before: np.ndarray, after: np.ndarray, are_edges: bool, floor: float = 0.0) -> float:
    return pair_step_size(corners(before), corners(after), are_edges, floor, 1.0)


def random_ways(count: int) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    random, ways = np.random.default_rng(1), []
    for index in range(count):
        before = random.normal(size=(4, 3))
        way = 10.0 ** random.uniform(-2.0, 1.5) * random.normal(size=(4, 3))
        ways.append((before, before + way + 3.0 * random.normal(size=3), bool(index % 2)))
    return ways


@pytest.mark.parametrize("flat", [False, True])
def test_the_distance_is_that_of_the_toolkit(flat) -> None:
    random = np.random.default_rng(2)
    for index in range(400):
        points = random.normal(size=(4, 3))
        if flat:
            points[:, 2] *= 1e-6
        a, b, c, d = corners(points)
        found = separation(a, b, c, d, bool(index % 2))
        expected = distance(points, bool(index % 2))
        # Of what is all but flat, rounding leaves a lower bound.
        assert (0.9 if flat else 1.0 - 1e-6) * expected <= found[1] <= (1.0 + 1e-9) * expected
        assert np.linalg.norm(found[0]) == pytest.approx(1.0)


def test_a_random_pair_keeps_its_share_of_the_distance_and_goes_nearly_as_far_as_it_can() -> None:
    cut = 0
    for before, after, are_edges in random_ways(200):
        free, start = share(before, after, are_edges), distance(before, are_edges)
        times = np.linspace(0.0, free, MOMENTS)
        least = min(distance(before + t * (after - before), are_edges) for t in times)
        assert least > 0.999 * REMAINING_DISTANCE_RATIO * start
        if free < 1.0:
            cut += 1
            end = distance(before + free * (after - before), are_edges)
            assert end < (REMAINING_DISTANCE_RATIO + 0.03) * start
    assert cut > 15


def test_the_least_distance_on_a_way_is_never_told_too_large() -> None:
    told = 0
    for before, after, are_edges in random_ways(300):
        bound = distance_lower_bound(corners(before), corners(after), are_edges)
        times = np.linspace(0.0, 1.0, MOMENTS)
        assert bound <= min(distance(before + t * (after - before), are_edges) for t in times)
        told += bound > 0.0
    assert told > 50


@PAIRS
@pytest.mark.parametrize("gap", [1.0, 1e-4, 1e-10, 1e-13])
def test_what_leaves_or_slides_along_is_free_however_near(pair, are_edges, gap) -> None:
    before = pair.copy()
    before[: 2 if are_edges else 1, 2] = gap
    for way in ([0.0, 0.0, 3.0], [0.7, -0.2, 0.0], [5.0, 5.0, 1e-3]):
        after = before.copy()
        after[: 2 if are_edges else 1] += way
        assert share(before, after, are_edges, floor=1e-9) == 1.0
        # As much as what both do together.
        assert share(before, after + 7.0, are_edges, floor=1e-9) == 1.0


@PAIRS
@pytest.mark.parametrize("gap", [1e-10, 1e-13])
def test_what_is_nearer_than_the_floor_comes_hardly_nearer(pair, are_edges, gap) -> None:
    before = pair.copy()
    before[: 2 if are_edges else 1, 2] = gap
    after = before.copy()
    after[: 2 if are_edges else 1, 2] -= 2.0 * gap
    free = share(before, after, are_edges, floor=1e-9)
    assert 0.0 < free < BELOW_MIN_DISTANCE_RATIO


@PAIRS
def test_nothing_comes_nearer_than_the_floor(pair, are_edges) -> None:
    after = pair.copy()
    after[: 2 if are_edges else 1, 2] -= 3.0
    free = share(pair, after, are_edges, floor=0.4)
    assert free == pytest.approx(0.2, abs=1e-9)
    assert free <= 0.2


def test_turning_all_the_way_over_ends_before_it_meets() -> None:
    """An edge that turns about another one a hair's breadth away, as corners go, straight."""
    before = np.array([[-1.0, 0, 1e-10], [1.0, 0, 1e-10], [-1.0, 1e-3, 0], [1.0, -1e-3, 0]])
    after = before.copy()
    after[:2] = [[-1.0, 0, -1.0], [1.0, 0, 1.0]]
    free = share(before, after, True)
    times = np.linspace(0.0, free, MOMENTS)
    assert min(distance(before + t * (after - before), True) for t in times) > 0.0
    assert free > 0.0


def test_a_pair_without_extent_is_no_obstacle_to_the_answer() -> None:
    before = np.zeros((4, 3))
    before[0, 2] = 1.0
    after = before.copy()
    after[0, 2] = -1.0
    assert 0.0 < share(before, after, False) <= 0.5
    # As edges they touch at the start.
    assert share(before, after, True) == 0.0
    # One point leaves the other three.
    assert share(np.zeros((4, 3)), after, False) == 1.0


def test_enough_cuts_the_work_but_no_smaller_answer() -> None:
    for before, after, are_edges in random_ways(100):
        whole = share(before, after, are_edges)
        for sufficient in (0.5 * whole, whole, min(1.0, 1.1 * whole)):
            found = pair_step_size(corners(before), corners(after), are_edges, 0.0, sufficient)
            assert found >= min(sufficient, whole)
            if sufficient > whole:
                assert found == whole


def turned(points: np.ndarray, seed: int) -> np.ndarray:
    """Points in another orientation, in which coordinates are rounded."""
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return points @ rotation


@pytest.mark.parametrize("seed", range(6))
@PAIRS
def test_a_pair_that_touches_at_the_start_moves_on_only_to_part(pair, are_edges, seed) -> None:
    before, first = pair.copy(), slice(0, 2 if are_edges else 1)
    before[first, 2] = 0.0
    for way, expected in (
        ([0.0, 0.0, 0.5], 1.0),
        ([0.2, 0.1, 0.5], 1.0),
        # A pair in one plane has no side.
        ([0.2, 0.1, -0.5], 1.0),
        # In the common plane, over each other.
        ([0.05, 0.02, 0.0], 0.0),
    ):
        after = before.copy()
        after[first] += way
        start, end = turned(before, seed), turned(after, seed)
        assert share(start, end, are_edges) == expected
        # Nor does it matter what both do together, or from where the distance is to be kept.
        assert share(start, end + 0.5, are_edges) == expected
        assert share(start, end, are_edges, floor=1e-3) == expected
    assert share(before, before + 0.5, are_edges) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_edges_of_one_plane_that_cross_at_the_start_do_not_move_on(seed) -> None:
    before = np.array([[-1.0, 0.1, 0], [1.0, -0.1, 0], [0.2, -1.0, 0], [-0.1, 1.0, 0]])
    after = before.copy()
    after[0] = [-0.3, -0.4, 0.0]
    assert share(turned(before, seed), turned(after, seed), True) == 0.0


@pytest.mark.parametrize("corner", range(1, 4))
def test_a_vertex_leaves_the_corner_that_it_touches(corner) -> None:
    before = TRIANGLE.copy()
    before[0] = before[corner]
    outwards = before[corner] - before[1:].mean(axis=0)
    after = before.copy()
    after[0] += outwards
    assert share(before, after, False) == 1.0
    after[0] -= 1.5 * outwards
    assert share(before, after, False) == 0.0
