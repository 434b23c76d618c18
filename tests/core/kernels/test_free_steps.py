# SPDX-License-Identifier: GPL-3.0-or-later
"""How far points may go by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.contact_constraints import Interpolation
from supple.core.kernels.continuous_collision import (
    CandidateStencils,
    distances,
    pair_step_size,
    stencil,
)
from supple.core.kernels.free_steps import (
    KEPT_HEIGHT_RATIO,
    pair_step_sizes,
    shorten,
    shorten_falls,
)
from supple.core.kernels.ground_constraints import GroundLaws
from supple.core.math3.vectors import four_points

#: Two corners above a triangle, one beside it, and an edge above one of its own.
CORNERS, EDGE = [[0.0, 0, 1], [0.3, 0.2, 1], [9, 9, 9]], [[0.0, -4, 2], [0, -2, 2]]
POINTS = np.array([*CORNERS, [-3.0, -3, 0], [3, -3, 0], [0, 3, 0], *EDGE])
OBJECTS = np.array([0, 0, 0, 1, 1, 1, 2, 2])
PAIRS = CandidateStencils(
    np.array([[0, 1]], dtype=np.int32),
    np.array([[0, 0], [0, 1], [0, 2]], dtype=np.int32),
    np.array([[6, 7], [3, 4]], dtype=np.int32),
    np.array([[3, 4, 5]], dtype=np.int32),
)
MIN_DISTANCES = np.array([[0.0, 0.2, 0.0], [0.2, 0.0, 0.5], [0.0, 0.5, 0.0]])
DOWN = np.array([0.0, 0.0, -1.0])


def steps(after: np.ndarray, known: float = 1.0) -> np.ndarray:
    """Where so much of the distances is known."""
    out, apart = np.full(4, 77.0), np.empty(4)
    distances(PAIRS, POINTS, apart)
    own = (known * apart, OBJECTS, MIN_DISTANCES, out, np.empty(4))
    pair_step_sizes(PAIRS, POINTS, after, *own)
    return out


def bounds(after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is said of distances after, and what they are."""
    said, before, apart = np.empty((3, 4))
    distances(PAIRS, POINTS, before)
    pair_step_sizes(PAIRS, POINTS, after, before, OBJECTS, MIN_DISTANCES, np.empty(4), said)
    distances(PAIRS, after, apart)
    return said, apart


def cut(pair_sizes: list[float], interpolation: Interpolation, sizes: np.ndarray) -> int:
    return int(shorten(PAIRS, np.array(pair_sizes), interpolation, sizes))


THEMSELVES = Interpolation(np.arange(8, dtype=np.int32)[:, None], np.ones((8, 1)))


def test_each_pair_goes_until_its_objects_are_at_their_least_distance() -> None:
    after = POINTS.copy()
    after[0] += 4.0 * DOWN
    after[6:] += 3.0 * DOWN
    # The edges may lose 1.5 of their 2 m, the first corner 0.8 of its metre.
    assert steps(after) == pytest.approx([1.5 / 3.0, 0.8 / 4.0, 1.0, 1.0], rel=0.03)
    assert (steps(after)[:2] <= [1.5 / 3.0, 0.8 / 4.0]).all()


def test_the_share_of_each_pair_is_its_own() -> None:
    random = np.random.default_rng(1)
    for size in np.linspace(0.1, 3.0, 60):
        after = POINTS + random.normal(scale=size, size=POINTS.shape)
        found = steps(after)
        np.testing.assert_array_equal(steps(after, 0.0), found)
        for k in range(4):
            *corners, are_edges = stencil(PAIRS, k)
            least = MIN_DISTANCES[OBJECTS[corners[0]], OBJECTS[corners[3]]]
            ends = four_points(POINTS, *corners), four_points(after, *corners)
            assert found[k] == pair_step_size(*ends, are_edges, least, 1.0)


def test_what_is_known_to_be_farther_apart_than_it_goes_is_not_looked_at() -> None:
    # It is believed, so that one can tell.
    assert steps(POINTS - 20.0 * POINTS, 1e3).tolist() == [1.0] * 4


def test_no_pair_is_said_to_be_farther_apart_afterwards_than_it_is() -> None:
    random = np.random.default_rng(2)
    for size in np.linspace(0.01, 2.0, 40):
        said, apart = bounds(POINTS + random.normal(scale=size, size=POINTS.shape))
        assert (said <= apart).all()
    said, apart = bounds(POINTS + 50.0 * DOWN)
    np.testing.assert_allclose(said, apart, atol=1e-12)


def test_where_nothing_meets_all_go_their_whole_way() -> None:
    sizes = np.array([1.0, 0.4, *[1.0] * 6])
    assert steps(POINTS - DOWN).tolist() == [1.0] * 4
    assert cut([1.0] * 4, THEMSELVES, sizes) == 0
    assert sizes.tolist() == [1.0, 0.4, *[1.0] * 6]


@pytest.mark.parametrize("own", [0.3, 0.0])
def test_the_corners_of_what_meets_are_cut_and_no_others(own) -> None:
    sizes = np.ones(8)
    assert cut([1.0, own, 1.0, 1.0], THEMSELVES, sizes) == 1
    assert sizes.tolist() == [own, 1, 1, own, own, own, 1, 1]


def test_each_corner_goes_no_farther_than_the_least_of_its_pairs() -> None:
    for pairs in ([0.5, 0.3, 0.6, 1.0], [0.2, 0.6, 0.9, 1.0]):
        sizes = np.ones(8)
        assert cut(pairs, THEMSELVES, sizes) == 3
        least, of_face = min(pairs), min(pairs[1:])
        assert sizes.tolist() == [pairs[1], pairs[2], 1, least, least, of_face, pairs[0], pairs[0]]
    kept = np.full(8, 0.25)
    cut([0.5, 0.3, 0.1, 1.0], THEMSELVES, kept)
    assert kept.tolist() == [0.25, 0.1, 0.25, 0.1, 0.1, 0.1, 0.25, 0.25]


def test_all_nodes_that_carry_an_embedded_point_are_cut() -> None:
    nodes, weights = np.full((8, 3), -1, dtype=np.int32), np.full((8, 3), 77.0)
    nodes[:, 0], weights[:, 0] = np.arange(8), 1.0
    # The first corner is in the nodes 0, 8 and 10; it has an empty place and one that weighs
    # nothing besides.
    nodes, weights = (np.hstack([part, part[:, 1:]]) for part in (nodes, weights))
    nodes[0], weights[0] = [8, -1, 9, 0, 10], [0.5, 0.1, 0.0, 0.7, -0.2]
    sizes = np.ones(11)
    assert cut([1.0, 0.3, 1.0, 1.0], Interpolation(nodes, weights), sizes) == 1
    assert np.flatnonzero(sizes == 0.3).tolist() == [0, 3, 4, 5, 8, 10]
    assert (np.delete(sizes, [0, 3, 4, 5, 8, 10]) == 1.0).all()


#: Points above a ground at 0.5: each of its own, the last between the first two nodes; and an empty
#: place.
FALLING = np.array([[0.0, 0, 1.5], [0, 0, 2.5], [0, 0, 1.0], [0, 0, 0.5 + 1e-6]])
LANDING = Interpolation(
    np.array([[0, -1], [1, -1], [2, -1], [3, -1], [0, 1]], dtype=np.int32),
    np.array([[1.0, 77], [1, 77], [1, 77], [1, 77], [0.25, 0.75]]),
)


GROUND = GroundLaws(*np.ones((4, 5)), height=0.5)


def fallen(drops: list[float], least: float = 1e-5) -> tuple[int, list[float]]:
    """How many points came to the ground, and how far each node may go."""
    sizes, moves = np.ones(4), np.zeros((4, 3))
    moves[:, 2] = -np.array(drops)
    own = (FALLING, moves, sizes)
    return int(shorten_falls(LANDING, GROUND, least, *own)), sizes.tolist()


def test_what_would_come_to_the_ground_keeps_a_share_of_its_height() -> None:
    count, sizes = fallen([0.0, 0.0, 2.0, 0.0])
    assert (count, sizes) == (1, [1, 1, (1.0 - KEPT_HEIGHT_RATIO) * 0.5 / 2.0, 1])
    assert fallen([0.9, 1.9, 0.4, 0.0]) == (0, [1.0] * 4)
    # Who is there already may stay and rise, and goes no deeper.
    assert fallen([0.0, 0.0, 0.0, -1e-7]) == (0, [1.0] * 4)
    assert fallen([0.0, 0.0, 0.0, 1e-7])[0] == 1
    assert fallen([0.0, 0.0, 0.499, 0.0]) == (0, [1.0] * 4)
    assert fallen([0.0, 0.0, 0.499, 0.0], 0.01)[0] == 1


def test_all_nodes_that_carry_what_would_come_to_the_ground_stop() -> None:
    count, sizes = fallen([-20.0, 20.0, 0.0, 0.0])
    # The second node by itself may go 0.09 of its way, between the two 1.75 m fall 10.
    assert count == 2
    between, alone = 0.9 * 1.75 / 10.0, 0.9 * 2.0 / 20.0
    np.testing.assert_allclose(sizes, [between, min(between, alone), 1.0, 1.0], rtol=1e-14)


def test_what_has_fallen_through_the_ground_stays_where_it_is() -> None:
    sizes, moves = np.ones(4), np.array([[0.0, 0, 0], [0, 0, 0], [0, 0, -1], [0, 0, 0]])
    below = FALLING - [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert shorten_falls(LANDING, GROUND, 1e-5, below, moves, sizes) == 1
    assert sizes.tolist() == [1, 1, 0, 1]
