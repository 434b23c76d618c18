# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates that serve many steps, beside all that is near at every moment of each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from supple.core.potentials.contact.persistent_candidates import (
    DEVIATION_RATIO,
    RADIUS_RATIO,
    PersistentCandidates,
)
from supple.tests.core.potentials.contact.moving_blocks import (
    NEAR,
    OWNERS,
    PATHS,
    RADII,
    STEP,
    SURFACE,
    Counted,
    Path,
    as_set,
    broad_phase,
    corners_of,
    falling,
    jumping,
    near,
    persistent,
    scattering,
    surface_of,
    trembling,
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("twice", [False, True])
def test_all_that_comes_near_on_a_step_is_among_the_candidates(path: Path, twice: bool) -> None:
    own, trees = persistent()
    seen, count = 0, 150
    for number in range(count):
        before, after = path(number * STEP), path((number + 1) * STEP)
        if twice:
            own.cover(before, before, 0.0)
            assert as_set(own.candidates) >= near(before, before)
        own.cover(before, after, STEP)
        needed = near(before, after)
        assert as_set(own.candidates) >= needed
        seen += len(needed)
        own.advance(before, after, STEP)
    assert seen > 50 * count
    assert trees.asked < (1 + twice) * count


@pytest.mark.parametrize("path", [falling, jumping])
def test_steps_of_any_length_are_covered(path: Path) -> None:
    own, _ = persistent()
    time, random = 0.0, np.random.default_rng(4)
    for _ in range(60):
        step = STEP * random.uniform(0.1, 3.0)
        before, after = path(time), path(time + step)
        # A step that was tried, and is made shorter then.
        own.cover(before, path(time + 2.0 * step), 2.0 * step)
        assert as_set(own.candidates) >= near(before, path(time + 2.0 * step))
        own.cover(before, after, step)
        assert as_set(own.candidates) >= near(before, after)
        own.advance(before, after, step)
        time += step


def asked(path: Path, steps: int) -> int:
    own, trees = persistent()
    for number in range(steps):
        before, after = path(number * STEP), path((number + 1) * STEP)
        own.cover(before, after, STEP)
        own.advance(before, after, STEP)
    return trees.asked


def test_where_all_goes_on_as_it_did_candidates_serve_many_steps() -> None:
    assert asked(falling, 150) <= 15


def test_what_goes_ever_faster_is_allowed_as_much_as_that_leads_away() -> None:
    def path(time: float) -> np.ndarray:
        return SURFACE.rest + (OWNERS == 1)[:, None] * np.array([0.0, 0.0, 40.0 * time**2])

    assert asked(path, 150) <= 6


def test_what_rests_is_looked_for_once_in_many_steps() -> None:
    # What goes on together has candidates for 64 steps.
    assert asked(lambda _: SURFACE.rest, 120) == 2
    together = asked(lambda time: SURFACE.rest + time * np.array([300.0, -200.0, 100.0]), 120)
    assert together <= 3


def test_what_leaps_through_everything_in_one_step_is_covered() -> None:
    own, _ = persistent()
    before, after = falling(0.0), falling(0.001)
    for vertex in (3, 11):
        leaped = after.copy()
        leaped[vertex] += [0.4, 0.3, -2.0]
        own.cover(before, leaped, STEP)
        assert as_set(own.candidates) >= near(before, leaped) > near(before, after)


@pytest.mark.parametrize(("length", "time"), [(2.0**-9, 1.0), (1.0, 2.0**-9), (2.0**8, 2.0**7)])
def test_nothing_depends_on_the_units_of_length_and_time(length: float, time: float) -> None:
    scaled = surface_of(length)
    (own, trees), other_trees = persistent(), broad_phase(scaled)
    other = PersistentCandidates(scaled, other_trees, length * RADII)
    for number in range(90):
        before, after = jumping(number * STEP), jumping((number + 1) * STEP)
        own.cover(before, after, STEP)
        own.advance(before, after, STEP)
        other.cover(length * before, length * after, time * STEP)
        other.advance(length * before, length * after, time * STEP)
        assert trees.asked == other_trees.asked
        assert as_set(own.candidates) == as_set(other.candidates)


def test_what_has_trembled_and_rests_is_looked_for_as_if_it_had_not() -> None:
    (own, trees), (fresh, _) = persistent(), persistent()
    points, trembled = falling(0.06), falling(0.06)
    trembled[::3] += 0.05
    for number in range(10):
        ends = (points, trembled) if number % 2 == 0 else (trembled, points)
        own.cover(*ends, STEP)
        own.advance(*ends, STEP)
    asked_before = trees.asked
    for _ in range(200):
        own.cover(points, points, STEP)
        own.advance(points, points, STEP)
    assert trees.asked > asked_before + 1
    fresh.cover(points, points, STEP)
    assert as_set(own.candidates) == as_set(fresh.candidates)


def test_a_few_points_that_tremble_do_not_have_all_looked_for_again() -> None:
    def path(time: float) -> np.ndarray:
        points = falling(time)
        points[::5, 0] += 0.003 * (-1.0) ** round(time / STEP)
        return points

    assert asked(path, 100) <= 25


@pytest.mark.parametrize("ratio", [0.3, 2.0])
def test_what_rests_has_all_that_is_a_little_farther_than_its_radii(ratio: float) -> None:
    """A part of their edges counts, or of their radii where edges are short for these."""
    radii = ratio * RADII
    own = PersistentCandidates(SURFACE, broad_phase(), radii)
    points = falling(0.06)
    of_bodies = SURFACE.edges[SURFACE.edges[:, 0] < SURFACE.body_count]
    first, second = SURFACE.rest[of_bodies].swapaxes(0, 1)
    mean = np.linalg.norm(first - second, axis=1).mean()
    of_edges = DEVIATION_RATIO * np.minimum(SURFACE.edge_lengths, mean)
    more = np.maximum(of_edges, RADIUS_RATIO * radii)
    assert ((more > of_edges).mean() > 0.5) == (ratio == 2.0)
    own.cover(points, points, STEP)
    assert as_set(own.candidates) == as_set(NEAR.candidates(points, points, radii + more))


def test_what_begins_with_its_velocities_keeps_to_its_path() -> None:
    """And needs no more room than what rests."""
    own, trees = persistent()
    velocity = np.array([0.0, 0.0, -30.0])
    own.begin(np.tile(velocity, (len(RADII), 1)))
    places = [SURFACE.rest + number * STEP * velocity for number in range(6)]
    for before, after in itertools.pairwise(places):
        own.cover(before, after, STEP)
        own.advance(before, after, STEP)
    assert trees.asked == 1
    rests, _ = persistent()
    rests.cover(SURFACE.rest, SURFACE.rest, STEP)
    assert as_set(own.candidates) == as_set(rests.candidates)


def test_beginning_anew_leaves_nothing_of_before() -> None:
    (fresh, _), (used, trees) = persistent(), persistent()
    for number in range(20):
        before, after = jumping(number * STEP), jumping((number + 1) * STEP)
        used.cover(before, after, STEP)
        used.advance(before, after, STEP)
    used.begin(np.zeros((len(RADII), 3)))
    assert len(used.candidates) == 0 and len(used.stencils.edge_edges) == 0
    asked_before = trees.asked
    for number in range(40, 60):
        before, after = trembling(number * STEP), trembling((number + 1) * STEP)
        for own in (fresh, used):
            own.cover(before, after, STEP)
            own.advance(before, after, STEP)
        if number == 40:
            assert trees.asked == asked_before + 1
        np.testing.assert_array_equal(used.candidates.edge_edges, fresh.candidates.edge_edges)
        np.testing.assert_array_equal(used.candidates.face_vertices, fresh.candidates.face_vertices)


def test_stencils_are_of_the_candidates() -> None:
    own, _ = persistent()
    own.cover(SURFACE.rest, SURFACE.rest, STEP)
    stencils = own.stencils
    assert stencils.edge_edges is own.candidates.edge_edges
    assert stencils.face_vertices is own.candidates.face_vertices
    np.testing.assert_array_equal(stencils.edges, SURFACE.edges)
    np.testing.assert_array_equal(stencils.triangles, SURFACE.triangles)


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
