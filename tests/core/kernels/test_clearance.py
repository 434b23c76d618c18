# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways that contact had no part in, of single vertices and pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from supple.core.kernels.clearance import (
    DEVIATION_RATIO,
    deviations,
    max_own_displacement,
    min_clearances,
    stay_separated,
)
from supple.core.kernels.detection import CandidateStencils

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


@pytest.mark.parametrize("shares", [(0.0, 0.1, 0.4, 1.0), (0.0, 0.6, 0.9, 1.0)])
def test_under_constant_acceleration_ways_bend_as_closed_forms_say(shares) -> None:
    times, acceleration = np.array(shares), np.array([3.0, 4.0, 0.0])
    start, speed = np.array([1.0, 2.0, 3.0]), np.array([7.0, -8.0, 9.0])
    path = start + np.outer(times, speed) + 0.5 * np.outer(times**2, acceleration)
    path, gaps = path[:, None], np.diff(times)
    turns = [5.0 * max(a, b) * 0.5 * (a + b) for a, b in pairwise(gaps)]
    aside = (0.5 * 5.0 * times * (1.0 - times)).max()
    for is_linear, expected in ((True, aside), (False, aside + DEVIATION_RATIO * max(turns))):
        out = np.empty(1)
        deviations(path, times, 0, 3, is_linear, out)
        assert out[0] == pytest.approx(expected, rel=1e-9)
    assert out[0] > 5.0 / 8.0  # what the whole way leaves its chord by
    deviations(path, times, 0, 2, True, out)
    assert out[0] == pytest.approx(2.5 * times[1] * (times[2] - times[1]), rel=1e-9)
    for piece, own in ((0, turns[0]), (1, max(turns)), (2, turns[1])):
        deviations(path, times, piece, piece + 1, False, out)
        assert out[0] == pytest.approx(DEVIATION_RATIO * own, rel=1e-9)
        assert out[0] >= 5.0 / 8.0 * gaps[piece] ** 2


def test_the_own_way_is_that_of_the_vertex_that_leaves_the_others() -> None:
    still = np.random.default_rng(1).normal(size=(5, 3))
    as_a_whole = still + np.array([10.0, 0.0, 0.0])
    one_leaves = as_a_whole + np.array([[0, 0, 0], [0, 0, 0], [0, 4.0, 0], [0, 0, 0], [90, 0, 0]])
    path = np.stack([still, one_leaves, as_a_whole])
    # Of four vertices the mean goes a quarter of the way; the fifth is another object's.
    assert max_own_displacement(path, 0, 4) == pytest.approx(3.0)
    assert max_own_displacement(path, 0, 2) == pytest.approx(0.0, abs=1e-12)


def separated(path, aside, out) -> None:
    reaches = np.linalg.norm(path - path[0], axis=2).max(axis=0) + aside.max(axis=0)
    distances = np.full((2, 2), REACH)
    stay_separated(PAIRS, path, aside, reaches, FIN, OBJECTS, distances, SEPARATE, out)


@pytest.mark.parametrize("last", [(0.05, 0.0), (0.0, 0.0)])
def test_a_pair_that_meets_on_its_last_piece_alone_is_seen_among_others(last) -> None:
    def are_apart(*places: tuple[float, float]) -> bool:
        path = np.repeat(FIN[None], len(places), axis=0)
        path[:, 1, :2], path[:, 1, 2] = places, 0.0
        out = np.empty(1, dtype=np.int64)
        none = np.zeros((len(places) - 1, len(FIN)))
        separated(path, none, out)
        return bool(out[0])

    assert not are_apart((0.05, 0.1), (-0.05, 0.0), last)
    assert are_apart((0.05, 0.1), (-0.05, 0.0), (-0.05, 0.1))
    assert are_apart((0.05, 0.1), (-0.05, 0.0))


def test_bends_count_as_much_as_the_distance() -> None:
    path = np.repeat(FIN[None], 2, axis=0)
    path[:, 1] = [[-0.05, 0.0, 0.0]] * 2
    for bend, is_apart in ((0.04, 1), (0.0495, 0)):
        out, aside = np.empty(1, dtype=np.int64), np.zeros((1, len(FIN)))
        aside[0, 1], aside[0, 4] = 0.5 * bend, 0.5 * bend
        separated(path, aside, out)
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
