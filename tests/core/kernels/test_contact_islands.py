# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts that move each other, apart from those that do not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from supple.core.kernels.contact_islands import Islands, _pass, distribute, find_islands
from supple.core.kernels.contact_islands import relax_islands as relax_islands_or_halves
from supple.core.kernels.flat_tets import no_flat_tets, relax_flat
from supple.tests.core.kernels.linear_contacts import (
    UP,
    contacts,
    initialize_forces,
    minimum,
    random_contacts,
    relax_each,
)

FLOOR = 0.25
NO_CORNERS = np.empty((0, 4), dtype=np.int32)


def relax_islands(islands: Islands, *rest) -> int:
    """Relax islands of which none is halved."""
    return relax_islands_or_halves(islands, -1, np.empty(0), 0.0, *rest)


def members(offsets: np.ndarray, order: np.ndarray) -> list[list[int]]:
    return [order[a:b].tolist() for a, b in itertools.pairwise(offsets)]


def of_contacts(nodes: list[list[int]], mobility: np.ndarray) -> list[list[int]]:
    found = find_islands(np.array(nodes, dtype=np.int32), NO_CORNERS, mobility)
    return members(found.contact_offsets, found.contacts)


def test_contacts_with_a_node_in_common_are_of_one_island() -> None:
    nodes = [[0, 1], [4, 5], [2, 3], [1, 7], [9, 2], [7, 8]]
    assert of_contacts(nodes, np.ones(10)) == [[0, 3, 5], [1], [2, 4]]


def test_islands_that_meet_late_are_one() -> None:
    assert of_contacts([[8, 9], [0, 1], [4, 5], [9, 4], [5, 0]], np.ones(10)) == [[0, 1, 2, 3, 4]]


def test_what_nothing_moves_joins_nothing() -> None:
    mobility = np.ones(6)
    mobility[2] = 0.0
    assert of_contacts([[0, 2], [2, 1], [3, 1]], mobility) == [[0], [1, 2]]
    assert of_contacts([[2, 2], [2, 0]], mobility) == [[1]]


def test_places_that_are_empty_join_nothing() -> None:
    assert of_contacts([[0, 1, -1, 0], [2, 3, -1, 0]], np.ones(4)) == [[0], [1]]


def test_flat_tets_join_what_touches_them() -> None:
    nodes = np.array([[0, 1], [4, 5], [8, 9]], dtype=np.int32)
    corners = np.array([[1, 2, 3, 4], [10, 11, 12, 13]], dtype=np.int32)
    found = find_islands(nodes, corners, np.ones(14))
    assert members(found.contact_offsets, found.contacts) == [[0, 1], [2], []]
    assert members(found.tet_offsets, found.tets) == [[0], [], [1]]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_islands_are_shared_out_evenly_whatever_their_order(count) -> None:
    rng = np.random.default_rng(count)
    sizes = rng.permutation(np.array([300] * count + [2] * 100 + [5] * 60))
    contacts = rng.integers(0, sizes + 1)
    offsets = [np.concatenate([[0], np.cumsum(each)]) for each in (contacts, sizes - contacts)]
    shares = distribute(
        Islands(NO_CORNERS[:, 0], offsets[0], NO_CORNERS[:, 0], offsets[1]), -1, count
    )
    work = np.bincount(shares, sizes, count)
    assert np.ptp(work) <= 5
    assert work.sum() == sizes.sum()


def test_what_is_larger_than_all_others_is_alone_in_its_share() -> None:
    offsets = np.array([0, 1, 2, 3, 90, 91, 92])
    shares = distribute(Islands(NO_CORNERS[:, 0], offsets, NO_CORNERS[:, 0], 0 * offsets), -1, 2)
    assert shares.tolist() == [1, 1, 1, 0, 1, 1]


def relaxed(seed: int, max_passes: int, tolerance: float) -> tuple:
    """Two scenes of which neither knows of the other, as one."""
    own, mobility, wanted = random_contacts(seed, static=0.4, kinetic=0.3)
    other, others, theirs = random_contacts(seed + 1, static=0.4, kinetic=0.3)
    shifted = np.where(other.nodes >= 0, other.nodes + len(mobility), -1)
    other = other._replace(nodes=shifted.astype(np.int32))
    both = type(own)(*(np.concatenate(pair) for pair in zip(own, other, strict=True)))
    mobility, moves = np.concatenate([mobility, others]), np.concatenate([wanted, theirs])
    islands = find_islands(both.nodes, NO_CORNERS, mobility)
    rest = (no_flat_tets(1), FLOOR, mobility, moves, max_passes, tolerance, 2)
    solved = relax_islands(islands, both, *rest)
    return both, moves, solved, len(islands.contact_offsets) - 1


@pytest.mark.parametrize("passes", [1, 4])
def test_each_island_is_relaxed_as_if_it_were_alone(passes) -> None:
    both, moves, solved, count = relaxed(5, passes, 0.0)
    assert count == 2
    assert solved == passes * len(both.forces)
    place = 0
    for seed in (5, 6):
        own, mobility, alone = random_contacts(seed, static=0.4, kinetic=0.3)
        initialize_forces(own, len(own.forces), mobility, alone)
        for _ in range(passes):
            relax_each(own, len(own.forces), mobility, alone)
        np.testing.assert_array_equal(moves[place : place + len(alone)], alone)
        place += len(alone)


def test_an_island_that_has_converged_is_left_alone() -> None:
    separate, pairs = np.full(4, 0.5), [[0, 1], [2, 3]]
    own = contacts(pairs, [[1.0, -1.0]] * 2, [UP] * 2, [0.9, 0.1], separate)
    moves = np.zeros((4, 3))
    moves[2, 2] = -3.0
    islands = find_islands(own.nodes, NO_CORNERS, separate)
    # A single contact is solved in one pass; the next one sees that nothing changes.
    solved = relax_islands(islands, own, no_flat_tets(1), FLOOR, separate, moves, 20, 1e-7, 1)
    assert solved <= 4
    assert (own.forces > 0.0).all()


def chain(length: int) -> tuple:
    """Contacts of which each shares a node with the one before; all but the first are content."""
    nodes, mobility = [[k, k + 1] for k in range(length)], np.ones(length + 1)
    own = contacts(nodes, [[1.0, -1.0]] * length, [UP] * length, [0.9] * length, mobility)
    own.scales[:] = 1e-9
    moves = np.zeros((length + 1, 3))
    moves[0, 2] = -1.5
    return own, mobility, moves


def test_contacts_rest_until_something_around_them_changes() -> None:
    own, mobility, moves = chain(60)
    islands = find_islands(own.nodes, NO_CORNERS, mobility)
    solved = relax_islands(islands, own, no_flat_tets(1), FLOOR, mobility, moves, 20, 0.2, 1)
    assert 60 < solved < 4 * 60
    whole, _, expected = chain(60)
    initialize_forces(whole, 60, mobility, expected)
    for _ in range(20):
        relax_each(whole, 60, mobility, expected)
    gaps, wanted = (0.9 + each[:-1, 2] - each[1:, 2] for each in (moves, expected))
    np.testing.assert_allclose(gaps, wanted, rtol=0.2)


def test_relaxed_to_the_end_all_are_at_the_least_of_their_energy() -> None:
    own, mobility, wanted = random_contacts(7)
    moves = wanted.copy()
    islands = find_islands(own.nodes, NO_CORNERS, mobility)
    rest = (no_flat_tets(1), FLOOR, mobility, moves, 3000, 1e-9, 1)
    solved = relax_islands(islands, own, *rest)
    assert solved < 3000 * len(own.forces)
    np.testing.assert_allclose(moves, minimum(own, mobility, wanted), atol=2e-5)


def halved(own, tets, places, cut, mobility, moves, passes, tolerance) -> int:
    """Relax all contacts and tets as one island in halves."""
    offsets = [np.array([0, len(part.forces)]) for part in (own, tets)]
    rows = [np.arange(len(part.forces)) for part in (own, tets)]
    island = Islands(rows[0], offsets[0], rows[1], offsets[1])
    rest = (own, tets, FLOOR, mobility, moves, passes, tolerance, 2)
    return relax_islands_or_halves(island, 0, places, cut, *rest)


def no_tets():
    tets = no_flat_tets(1)
    return type(tets)(*(part[:0] for part in tets))


@pytest.mark.parametrize("cut", [0.5, -1.0, 2.0])
def test_halves_of_an_island_come_to_the_least_of_its_energy(cut) -> None:
    own, mobility, wanted = random_contacts(7)
    places = np.random.default_rng(2).uniform(size=len(mobility))
    moves = wanted.copy()
    solved = halved(own, no_tets(), places, cut, mobility, moves, 3000, 1e-9)
    assert solved < 3000 * len(own.forces)
    np.testing.assert_allclose(moves, minimum(own, mobility, wanted), atol=2e-5)


def test_halves_are_relaxed_one_after_the_other_and_then_what_joins_them() -> None:
    """In the order of rows: below the cut, above it, across it; what is fixed is on no side."""
    passes, places = 3, np.array([0.0, 0.1, 1.0, 1.1, 0.2, 9.0])
    mobility = np.array([1.0, 0.8, 0.6, 0.9, 0.7, 0.0])
    pairs = [[1, 2], [2, 3], [0, 1], [4, 5], [3, 5]]
    order = [2, 3, 1, 4, 0]

    def scene(nodes):
        gaps = [0.5, 0.3, 0.4, 0.2, 0.35]
        gaps = [gaps[pairs.index(pair)] for pair in nodes]
        return contacts(nodes, [[1.0, -1.0]] * 5, [UP] * 5, gaps, mobility, static=0.3)

    own, moves = scene(pairs), np.zeros((6, 3))
    # One is alone on its side, and rests before the last pass.
    assert halved(own, no_tets(), places, 0.5, mobility, moves, passes, 0.0) == 5 * passes - 1
    alone, expected = scene([pairs[k] for k in order]), np.zeros((6, 3))
    initialize_forces(alone, 5, mobility, expected)
    for _ in range(passes):
        relax_each(alone, 5, mobility, expected)
    np.testing.assert_array_equal(moves, expected)


def test_halves_relax_their_flat_tets() -> None:
    tets, own, mobility, moves = pressed([0.96, 0.93, 0.9])
    places = np.arange(15.0)  # the last island is above the cut
    islands = find_islands(own.nodes, tets.corners, mobility)
    halved(own, tets, places, 9.5, mobility, moves, 4, 0.0)
    others, alone, _, expected = pressed([0.96, 0.93, 0.9])
    rest = (others, FLOOR, mobility, expected, 4, 0.0, 1)
    relax_islands(islands, alone, *rest)
    np.testing.assert_array_equal(moves, expected)
    np.testing.assert_array_equal(tets.forces, others.forces)


@pytest.mark.parametrize("has_halves", [False, True])
def test_it_ends_after_a_pass_with_little_work(has_halves) -> None:
    """The test has many contacts, of which one is pressed far and changes for long."""
    own, mobility, wanted = random_contacts(7)
    own.scales[:] *= 1e-4
    islands = find_islands(own.nodes, NO_CORNERS, mobility)
    results = {}
    for tolerance in (0.2, 1e-9):
        constraints, moves = type(own)(*(part.copy() for part in own)), wanted.copy()
        if has_halves:
            places = np.arange(float(len(mobility)))
            solved = halved(constraints, no_tets(), places, 9.5, mobility, moves, 3000, tolerance)
        else:
            rest = (no_flat_tets(1), FLOOR, mobility, moves, 3000, tolerance, 1)
            solved = relax_islands(islands, constraints, *rest)
        results[tolerance] = solved, moves, constraints.forces
    (early, moves, forces), (late, end, final) = results.values()
    assert early < late / 2
    done = (((end - wanted) ** 2).sum(1) / mobility).sum()
    assert (((moves - end) ** 2).sum(1) / mobility).sum() < 0.05 * done
    assert np.linalg.norm(forces - final) < 0.2 * np.linalg.norm(final)


def test_a_pass_says_how_much_it_did() -> None:
    """The measure is the energy of forces, of contacts and of flat tets."""
    tets, own, mobility, moves = pressed([0.1, 0.3, 5.0])
    tets.forces[:], own.forces[:] = 0.3, (0.2, 0.1, 0.0)
    before = own.forces.copy(), tets.forces.copy()
    rows = np.arange(3)
    rest = (own, tets, FLOOR, mobility, moves, np.zeros(len(mobility), np.int64), 1, 0.2)
    solved, moved, changed, grown = _pass(rows, 0, 3, rows, 0, 3, *rest)
    pressed_tets = int((tets.compliances * abs(tets.forces - before[1]) > 0.2 * FLOOR).sum())
    assert (solved, moved) == (3, 2 + pressed_tets)
    assert pressed_tets > 0
    pairs = list(zip((own, tets), before, strict=True))
    change = sum((part.compliances * (part.forces - old) ** 2).sum() for part, old in pairs)
    growth = sum((part.compliances * (part.forces**2 - old**2)).sum() for part, old in pairs)
    assert all((part.forces != old).any() for part, old in pairs)
    assert changed == pytest.approx(change, rel=1e-12)
    assert grown == pytest.approx(growth, rel=1e-12)


def test_beside_a_halved_island_all_others_are_relaxed() -> None:
    tets, own, mobility, moves = pressed([0.96, 0.93])
    islands = find_islands(own.nodes, tets.corners, mobility)
    rest = (own, tets, FLOOR, mobility, moves, 4, 0.0, 2)
    solved = relax_islands_or_halves(islands, 1, np.arange(10.0), 6.0, *rest)
    assert solved == 8
    assert moves[:5].any() and moves[5:].any()
    assert (own.forces > 0.0).all()


def test_only_so_many_contacts_as_are_named_count() -> None:
    own, mobility, wanted = random_contacts(4)
    islands = find_islands(own.nodes[:10], NO_CORNERS, mobility)
    rest = (no_flat_tets(1), FLOOR, mobility, wanted.copy(), 20, 0.2, 1)
    relax_islands(islands, own, *rest)
    assert own.forces[:10].any() and not own.forces[10:].any()


def pressed(gaps: Sequence[float]) -> tuple:
    """Flat tets, each with a contact at its last corner, none of which knows of the others."""
    rest = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    scenes = len(gaps)
    tets, mobility, moves = no_flat_tets(scenes), np.ones(5 * scenes), np.zeros((5 * scenes, 3))
    starts = 5 * np.arange(scenes)
    tets.corners[:], tets.ratios[:] = starts[:, None] + np.arange(4), 0.1
    tets.gradients[:] = [[-1, -1, -1], *rest[1:]]
    tets.energies[:], tets.forces[:] = 2.0, 0.0
    tets.compliances[:] = (tets.gradients[0] ** 2).sum()
    nodes = (starts[:, None] + [3, 4]).tolist()
    own = contacts(nodes, [[1.0, -1.0]] * scenes, [UP] * scenes, gaps, mobility)
    return tets, own, mobility, moves


def test_flat_tets_are_relaxed_with_the_contacts() -> None:
    tets, own, mobility, moves = pressed([5.0])
    islands = find_islands(own.nodes, tets.corners, mobility)
    relax_islands(islands, own, tets, FLOOR, mobility, moves, 20, 0.2, 1)
    reached = 0.1 + (tets.gradients[0] * moves[:4]).sum()
    assert 0.1 < reached < FLOOR
    assert tets.forces[0] == pytest.approx(2.0 * (1.0 - reached / FLOOR) ** 2)


def test_flat_tets_are_relaxed_with_the_contacts_of_their_own_island() -> None:
    """As if it were the only one, one contact after the other."""
    gaps = [0.96, 0.93, 0.9]
    tets, own, mobility, moves = pressed(gaps)
    islands = find_islands(own.nodes, tets.corners, mobility)
    assert members(islands.tet_offsets, islands.tets) == [[0], [1], [2]]
    passes = 4
    relax_islands(islands, own, tets, FLOOR, mobility, moves, passes, 0.0, 2)
    alone, single, _, expected = pressed(gaps)
    initialize_forces(single, 3, mobility, expected)
    for _ in range(passes):
        for k in range(3):
            relax_flat(alone, k, FLOOR, mobility, expected)
        relax_each(single, 3, mobility, expected)
    np.testing.assert_array_equal(moves, expected)
    np.testing.assert_array_equal(tets.forces, alone.forces)
    assert (tets.forces > 0.0).all() and (own.forces > 0.0).all()
    assert len(set(tets.forces.tolist())) == 3


def test_flat_tets_that_press_each_other_are_relaxed_without_contacts() -> None:
    """Two are above each other, and both push the light corner that they have in common."""

    def heights(passes: int, tolerance: float) -> np.ndarray:
        tets, mobility, moves = no_flat_tets(2), np.full(7, 0.1), np.zeros((7, 3))
        mobility[3] = 1.0
        tets.corners[:], tets.ratios[:] = [[0, 1, 2, 3], [4, 5, 6, 3]], (0.1, 0.05)
        tets.gradients[:] = 0.0
        tets.gradients[:, :, 2] = [[0, 0, -1, 1], [0, 0, 1, -1]]
        tets.energies[:], tets.forces[:], tets.compliances[:] = 20.0, 0.0, 1.1
        own = contacts([[0, 1]], [[1.0, -1.0]], [UP], [9.0], mobility)
        own = type(own)(*(part[:0] for part in own))
        islands = find_islands(own.nodes, tets.corners, mobility)
        relax_islands(islands, own, tets, FLOOR, mobility, moves, passes, tolerance, 1)
        changes = (tets.gradients * moves[tets.corners]).sum(axis=(1, 2))
        return np.array([0.1, 0.05]) + changes

    reached = heights(40, 0.2)
    assert (reached > 0.5 * FLOOR).all()
    np.testing.assert_allclose(reached, heights(3000, 1e-12), atol=0.2 * FLOOR)


def test_a_tet_that_becomes_flat_wakes_the_contacts_around_it() -> None:
    """One contact presses it flat after another one, at a corner opposite, was content."""
    tets, _, _, _ = pressed([1.0])
    tets.ratios[:], tets.energies[:] = FLOOR + 0.05, 50.0
    mobility, moves = np.ones(6), np.zeros((6, 3))
    own = contacts([[4, 3], [0, 5]], [[1.0, -1.0]] * 2, [UP] * 2, [1.0, 0.05], mobility)
    own.scales[:], own.dhats[:] = (0.1, 1e-9), (1.0, 0.04)
    moves[4, 2] = -2.0
    islands = find_islands(own.nodes, tets.corners, mobility)
    relax_islands(islands, own, tets, FLOOR, mobility, moves, 20, 0.2, 1)
    assert moves[0, 2] < -0.01
    assert 0.05 + moves[0, 2] - moves[5, 2] > 0.0
