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
    Path,
    as_set,
    broad_phase,
    falling,
    jumping,
    near,
    persistent,
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


@pytest.mark.parametrize("ratio", [0.3, 1.0])
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
    assert ((more > of_edges).mean() > 0.5) == (ratio == 1.0)
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
