# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways that contact had no part in, of single vertices and pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from supple.core.kernels.clearance import (
    DEVIATION_RATIO,
    fit_parabolas,
    follow,
    max_own_displacement,
    min_clearances,
    path_bends,
    stay_separated,
)
from supple.core.kernels.continuous_collision import CandidateStencils
from supple.core.kernels.held_pairs import Hold

REACH = 1e-3
#: A still point, one that moves, and a triangle across the x-axis.
FIN = np.array([[5.0, 5, 5], [9, 9, 9], [0, -0.03, -1], [0, 0.03, -1], [0, 0, 1]])
PAIRS = CandidateStencils(
    np.empty((0, 2), dtype=np.int32),
    np.array([[0, 0], [0, 1]], dtype=np.int32),
    np.empty((0, 2), dtype=np.int32),
    np.array([[2, 3, 4]], dtype=np.int32),
)
OBJECTS = np.array([0, 0, 1, 1, 1], dtype=np.int32)
SEPARATE = np.eye(2, dtype=bool)


def no_hold(count: int) -> Hold:
    """The hold of points that no tetrahedra hold apart."""
    nodes, weights = np.full((count, 4), -1, dtype=np.int32), np.zeros((count, 4))
    return Hold(nodes, weights, np.zeros((1, 3)), np.zeros(count))


@pytest.mark.parametrize("shares", [(0.0, 0.1, 0.4, 1.0), (0.0, 0.6, 0.9, 1.0)])
def test_under_constant_acceleration_ways_bend_as_closed_forms_say(shares) -> None:
    times, acceleration = np.array(shares), np.array([3.0, 4.0, 0.0])
    start, speed = np.array([1.0, 2.0, 3.0]), np.array([7.0, -8.0, 9.0])
    path = start + np.outer(times, speed) + 0.5 * np.outer(times**2, acceleration)
    path, gaps = path[None], np.diff(times)
    turns = [5.0 * max(a, b) * 0.5 * (a + b) for a, b in pairwise(gaps)]
    bends, sagittas, out = np.full_like(path, np.nan), np.empty((1, 3)), np.empty(1)
    path_bends(path, times, bends)
    for first, last in ((0, 3), (0, 2), (1, 3)):
        fit_parabolas(path, times, np.zeros_like(path), first, last, sagittas, out)
        span = times[last] - times[first]
        np.testing.assert_allclose(sagittas[0], -(span**2) / 8.0 * acceleration, rtol=1e-9)
        assert out[0] == pytest.approx(0.0, abs=1e-12)
    fit_parabolas(path, times, bends, 0, 3, sagittas, out)
    assert out[0] == pytest.approx(DEVIATION_RATIO * max(turns), rel=1e-9)
    for piece, turn in ((0, turns[0]), (1, max(turns)), (2, turns[1])):
        fit_parabolas(path, times, bends, piece, piece + 1, sagittas, out)
        assert not sagittas.any()
        assert out[0] == pytest.approx(DEVIATION_RATIO * turn, rel=1e-9)
        assert out[0] >= 5.0 / 8.0 * gaps[piece] ** 2


def test_the_parabola_is_the_nearest_to_a_path_and_the_rest_is_its_deviation() -> None:
    times, path = np.array([0.0, 0.3, 0.45, 0.8, 1.0]), np.zeros((1, 5, 3))
    path[0] = np.random.default_rng(4).normal(size=(5, 3))
    heights = 4.0 * times * (1.0 - times)
    apart = path[0] - path[0, 0] - np.outer(times, path[0, -1] - path[0, 0])
    expected = np.linalg.lstsq(heights[:, None], apart, rcond=None)[0]
    sagittas, out = np.empty((1, 3)), np.empty(1)
    fit_parabolas(path, times, np.zeros_like(path), 0, 4, sagittas, out)
    np.testing.assert_allclose(sagittas, expected, rtol=1e-9)
    farthest = np.linalg.norm(apart - np.outer(heights, expected), axis=1).max()
    assert out[0] == pytest.approx(farthest, rel=1e-9)


def test_bends_point_to_where_the_path_turns() -> None:
    """Between unequal times, and none where a path begins and ends."""
    times, acceleration = np.array([0.0, 0.2, 0.3, 1.0]), np.array([3.0, -4.0, 12.0])
    path = 0.5 * times[:, None] ** 2 * np.stack([acceleration, 0.0 * acceleration])[:, None]
    bends = np.full_like(path, np.nan)
    path_bends(path, times, bends)
    # The rates of the pieces are those of their middles.
    for index, (longer, middles) in enumerate(((0.2, 0.15), (0.7, 0.4)), start=1):
        expected = DEVIATION_RATIO * longer * middles * acceleration
        np.testing.assert_allclose(bends[:, index], [expected, [0.0] * 3], rtol=1e-12)
    assert not bends[:, [0, -1]].any()


def test_the_own_way_is_that_of_the_vertex_that_leaves_the_others() -> None:
    still = np.random.default_rng(1).normal(size=(5, 3))
    as_a_whole = still + np.array([10.0, 0.0, 0.0])
    one_leaves = as_a_whole + np.array([[0, 0, 0], [0, 0, 0], [0, 4.0, 0], [0, 0, 0], [90, 0, 0]])
    path = np.stack([still, one_leaves, as_a_whole], axis=1)
    # Of four vertices the mean goes a quarter of the way; the fifth is another object's.
    assert max_own_displacement(path, 0, 4) == pytest.approx(3.0)
    assert max_own_displacement(path, 0, 2) == pytest.approx(0.0, abs=1e-12)


def separated(path, bends, out) -> None:
    distances = np.full((2, 2), REACH)
    rest = (FIN, OBJECTS, distances, SEPARATE, no_hold(len(FIN)))
    stay_separated(PAIRS, by_vertex(path), by_vertex(bends), 0, len(path) - 1, *rest, out)


def by_vertex(path: np.ndarray) -> np.ndarray:
    """(V, K, 3) places of a path."""
    return np.ascontiguousarray(path.swapaxes(0, 1))


@pytest.mark.parametrize("last", [(0.05, 0.0), (0.0, 0.0)])
def test_a_pair_that_meets_on_its_last_piece_alone_is_seen_among_others(last) -> None:
    def are_apart(*places: tuple[float, float]) -> bool:
        path = np.repeat(FIN[None], len(places), axis=0)
        path[:, 1, :2], path[:, 1, 2] = places, 0.0
        out = np.zeros(1, dtype=np.int64)
        separated(path, np.zeros_like(path), out)
        return bool(out[0])

    assert not are_apart((0.05, 0.1), (-0.05, 0.0), last)
    assert are_apart((0.05, 0.1), (-0.05, 0.0), (-0.05, 0.1))
    assert are_apart((0.05, 0.1), (-0.05, 0.0))


def test_a_pair_is_looked_at_between_two_of_the_times_alone() -> None:
    path = np.repeat(FIN[None], 5, axis=0)
    path[:, 1] = [[-0.05, 0, 0], [-0.05, 0, 0], [0.05, 0, 0], [0.05, 0, 0], [0.05, 0, 0]]
    bends = np.zeros_like(path)
    bends[3, 1] = [-0.06, 0.0, 0.0]
    paths, rest = (by_vertex(path), by_vertex(bends)), np.full((2, 2), REACH)
    for first, last, is_apart in ((0, 1, 1), (0, 2, 0), (1, 2, 0), (2, 4, 0), (3, 4, 0), (4, 4, 1)):
        out = np.zeros(1, dtype=np.int64)
        others = FIN, OBJECTS, rest, SEPARATE, no_hold(len(FIN))
        stay_separated(PAIRS, *paths, first, last, *others, out)
        assert out[0] == is_apart


@pytest.mark.parametrize("index", [0, 1, 2])
def test_bends_against_each_other_count_as_much_as_the_distance(index: int) -> None:
    path = np.repeat(FIN[None], 3, axis=0)
    path[:, 1] = [-0.05, 0.0, 0.0]
    for bend, is_apart in ((0.0485, 1), (0.0495, 0)):
        out, bends = np.empty(1, dtype=np.int64), np.zeros_like(path)
        bends[index, 1, 0], bends[index, 4, 0] = 0.5 * bend, -0.5 * bend
        separated(path, bends, out)
        assert out[0] == is_apart


def test_what_bends_alike_stays_apart_and_so_does_what_goes_alike() -> None:
    """However far both go."""
    path = np.repeat(FIN[None], 3, axis=0)
    path[:, 1] = [-0.05, 0.0, 0.0]
    path[1:] += [0.0, 3.0, 0.0]
    bends, out = np.zeros_like(path), np.zeros(1, dtype=np.int64)
    bends[1] = [2.0, 0.0, 0.0]
    separated(path, bends, out)
    assert out[0] == 1
    # One corner that stays behind is enough.
    bends[1, 3], out[0] = 0.0, 0
    separated(path, bends, out)
    assert out[0] == 0


BARS = CandidateStencils(
    np.array([[0, 1]], dtype=np.int32),
    np.empty((0, 2), dtype=np.int32),
    np.array([[0, 1], [2, 3]], dtype=np.int32),
    np.empty((0, 3), dtype=np.int32),
)


@pytest.mark.parametrize("corner", range(4))
def test_any_end_of_two_edges_that_bends_towards_the_other_counts(corner: int) -> None:
    places = np.array([[-1.0, 0, 0], [1, 0, 0], [0, -1, 0.1], [0, 1, 0.1]])
    path, bends = np.repeat(places[None], 3, axis=0), np.zeros((3, 4, 3))
    objects, distances = np.array([0, 0, 1, 1], dtype=np.int32), np.full((2, 2), REACH)
    for bend, is_apart in ((0.0985, 1), (0.0995, 0)):
        bends[1, corner, 2] = bend
        out, paths = np.zeros(1, dtype=np.int64), (by_vertex(path), by_vertex(bends))
        rest = places, objects, distances, SEPARATE, no_hold(4)
        stay_separated(BARS, *paths, 0, 2, *rest, out)
        assert out[0] == is_apart


@pytest.mark.parametrize(("rest", "expected"), [(0.3, 0.05 - REACH), (REACH, 0.05 - 0.25 * REACH)])
def test_room_is_what_is_left_of_the_distance_within_an_object(rest, expected) -> None:
    at_rest, now, out = FIN.copy(), FIN.copy(), np.empty(1)
    at_rest[1], now[1] = (rest, 0.0, 0.0), (0.05, 0.0, 0.0)
    distances = np.full((2, 2), REACH)
    min_clearances(PAIRS, now, at_rest, np.zeros_like(OBJECTS), distances, SEPARATE, out)
    assert out[0] == pytest.approx(expected, rel=1e-9)
    min_clearances(PAIRS, now, at_rest, OBJECTS, distances, SEPARATE, out)
    assert out[0] == np.inf


STEP, MEMORY = 0.02, 0.5


def test_velocities_are_those_of_the_step_and_changes_of_them_are_forgotten_in_part() -> None:
    generator = np.random.default_rng(5)
    before, after, velocities = generator.normal(size=(3, 6, 3))
    changes = np.array([0.0, 0.0, 0.0, 1e6, 1e6, 1e6])
    expected = (after - before) / STEP
    largest = np.linalg.norm(expected - velocities, axis=1)
    follow(before, after, STEP, MEMORY, velocities, changes)
    np.testing.assert_allclose(velocities, expected, rtol=1e-14)
    np.testing.assert_allclose(changes[:3], largest[:3], rtol=1e-14)
    np.testing.assert_array_equal(changes[3:], MEMORY * 1e6)
