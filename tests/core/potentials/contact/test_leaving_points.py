# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates that serve many steps, once points leave their paths."""

from __future__ import annotations

import numpy as np
import pytest

from supple.tests.core.potentials.contact.moving_blocks import (
    OWNERS,
    PATHS,
    RADII,
    STEP,
    Counted,
    Path,
    as_set,
    corners_of,
    falling,
    near,
    persistent,
    scattering,
)


def fast(time: float, speed: float) -> np.ndarray:
    """The upper body goes by a fifth of its size in a step, or so many times as far."""
    move = speed * np.array([0.12, 0.06, -0.04])
    return falling(0.06) + (OWNERS == 1)[:, None] * time / STEP * move


@pytest.mark.parametrize("speed", [1.0, 4.0])
@pytest.mark.parametrize("stops", [0.0, 0.3, 0.8])
def test_the_rest_of_a_step_in_which_few_were_in_the_way_is_looked_for_around_those(
    stops: float, speed: float
) -> None:
    own, trees = persistent()
    for number in range(3):
        ends = fast(number * STEP, speed), fast((number + 1) * STEP, speed)
        own.cover(*ends, STEP)
        own.advance(*ends, STEP)
    began, predicted = fast(3 * STEP, speed), fast(4 * STEP, speed)
    held = np.flatnonzero(OWNERS == 1)[::15]
    at = predicted.copy()
    at[held] = began[held] + stops * (predicted - began)[held]
    own.cover(began, predicted, STEP)
    asked_before = trees.asked
    own.cover(at, predicted, STEP, is_hindered=True)
    assert trees.asked == asked_before and len(trees.moved) == (stops < 0.8 or speed > 1.0)
    assert all(set(moved) <= set(held) for moved in trees.moved)
    assert as_set(own.candidates) >= near(at, predicted) | near(began, predicted)
    # What deviates a little from there is among them, and what does by more is looked for.
    known = own.candidates
    assert own.cover(at, predicted + 0.001, STEP, is_hindered=True) == 0
    assert own.candidates is known
    own.cover(at + 0.4, predicted, STEP, is_hindered=True)
    assert as_set(own.candidates) >= near(at + 0.4, predicted)
    # The step after it is covered like any other.
    own.advance(began, predicted, STEP)
    own.cover(predicted, fast(5 * STEP, speed), STEP)
    assert as_set(own.candidates) >= near(predicted, fast(5 * STEP, speed))


def assert_within_reach(points: np.ndarray, trees: Counted) -> None:
    """Check that points stay within the reach along which candidates were found."""
    start, end, reach = trees.trajectories
    along = end - start
    squares = np.maximum((along**2).sum(axis=1), 1e-300)
    share = np.clip(((points - start) * along).sum(axis=1) / squares, 0.0, 1.0)
    apart = np.linalg.norm(points - start - share[:, None] * along, axis=1)
    assert (apart <= (reach - RADII) * (1.0 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("held", "speed"), [(0.0, 1), (0.03, 1), (0.03, 8), (0.5, 8)])
def test_no_point_is_farther_from_its_path_than_candidates_were_found_for(
    path: Path, held: float, speed: int
) -> None:
    (own, trees), random = persistent(), np.random.default_rng(9)
    for number in range(50):
        before, after = path(speed * number * STEP), path(speed * (number + 1) * STEP)
        own.cover(before, after, STEP)
        for points in (before, after):
            assert_within_reach(points, trees)
        if held > 0.0:
            left = random.uniform(0.0, 1.0, len(RADII)) * (random.uniform(size=len(RADII)) < held)
            at = after - left[:, None] * (after - before)
            own.cover(at, after, STEP, is_hindered=True)
            for points in (at, after):
                assert_within_reach(points, trees)
        own.advance(before, after, STEP)
    assert trees.asked >= 2


def test_points_that_leave_their_paths_are_looked_for_alone_until_many_do() -> None:
    own, trees = persistent()
    before, after = falling(0.06), falling(0.06 + STEP)
    own.begin((after - before) / STEP)
    own.cover(before, after, STEP)
    first, leaps = as_set(own.candidates), np.array([0.4, 0.3, -2.0])
    some = np.flatnonzero(OWNERS < 2)[7::23]
    for count in range(1, len(some)):
        left = after.copy()
        left[some[:count]] += leaps
        own.cover(before, left, STEP)
        assert some[count - 1] in trees.moved[-1] and trees.asked == 1
        assert set(trees.moved[-1]) <= set(some[:count])
        assert as_set(own.candidates) >= near(before, left) | first
    left[OWNERS == 1] += leaps
    own.cover(before, left, STEP)
    assert trees.asked == 2 and len(trees.moved) == len(some) - 1
    assert as_set(own.candidates) >= near(before, left)


def test_new_paths_of_single_points_hold_until_they_turn_again() -> None:
    own, trees = persistent()
    for number in range(50):
        before, after = scattering(number * STEP), scattering((number + 1) * STEP)
        own.cover(before, after, STEP)
        own.advance(before, after, STEP)
    # Most points turn once or twice, each at times of its own.
    assert trees.asked <= 4 and len(trees.moved) <= 20
    assert 70 <= sum(map(len, trees.moved)) <= 110


def test_what_is_known_of_pairs_stays_while_they_are_candidates() -> None:
    own, _ = persistent()
    before, after = falling(0.06), falling(0.06 + STEP)
    own.cover(before, after, STEP)
    known = sorted(as_set(own.candidates))
    own.distances[:] = np.arange(1, len(known) + 1)
    own.blocked[:] = np.arange(1, len(known) + 1)
    for leaping in (slice(3, 4), slice(None)):
        left = after.copy()
        left[leaping] += np.array([0.4, 0.3, -2.0])
        own.cover(before, left, STEP)
        pairs = sorted(as_set(own.candidates))
        expected = [known.index(pair) + 1 if pair in known else 0 for pair in pairs]
        assert 0 in expected and max(expected) > 0
        assert own.distances.tolist() == own.blocked.tolist() == expected
    own.begin(np.zeros((len(RADII), 3)))
    assert len(own.distances) == len(own.blocked) == 0


def test_what_points_can_reach_on_any_path_becomes_a_candidate() -> None:
    random, (own, _) = np.random.default_rng(4), persistent()
    before = falling(0.06)
    own.cover(before, falling(0.06 + STEP), STEP)
    reaches = random.uniform(0.0, 0.3, len(RADII))
    known = as_set(own.candidates)
    some = np.arange(len(RADII)) < 10
    swept = own.add_reachable(before, reaches, some)
    of_some = as_set(own.candidates)
    own.add_reachable(before, reaches, ~some, swept)
    assert as_set(own.candidates) > of_some > known
    for _ in range(20):
        directions = random.normal(size=(len(RADII), 3))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        reached = near(before, before + reaches[:, None] * directions)
        assert as_set(own.candidates) >= reached
        assert of_some >= {pair for pair in reached if corners_of(pair) & set(range(10))}
