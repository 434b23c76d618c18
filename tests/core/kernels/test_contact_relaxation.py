# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts relaxed one by one, beside minima found in other ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

from supple.core.kernels.barrier import barrier_derivative, surface_force
from supple.core.kernels.contact_constraints import GROUND, SURFACES
from supple.core.kernels.contact_relaxation import (
    coulomb_friction,
    prescribed_work,
    pressed_ratio,
    surface_energy,
    surface_proximal,
)
from supple.tests.core.kernels.linear_contacts import (
    MOBILITY,
    UP,
    barrier_of,
    contacts,
    force_of,
    initialize_forces,
    matrix,
    minimum,
    pair,
    random_contacts,
    relax_each,
)

RATIOS = np.linspace(0.02, 0.999, 40)
STIFFNESSES = 10.0 ** np.arange(-8.0, 8.5, 2.0)
STARTS = [-5.0, -1.3, -0.1, 0.0, 1e-6, 0.2, 0.7, 0.95, 0.999]
KINDS = pytest.mark.parametrize("kind", [SURFACES, GROUND])


# The barrier


def test_the_force_between_surfaces_is_how_fast_the_barrier_falls() -> None:
    for u in RATIOS:
        assert surface_force(u)[0] == pytest.approx(force_of(SURFACES, u), abs=1e-7, rel=1e-6)


def test_its_slope_is_how_fast_it_grows() -> None:
    h = 1e-6
    for u in RATIOS:
        change = surface_force(u + h)[0] - surface_force(u - h)[0]
        assert surface_force(u)[1] == pytest.approx(change / (2 * h), abs=1e-6, rel=1e-6)


def test_a_distance_solves_its_equation_wherever_it_comes_from() -> None:
    for start, stiffness in itertools.product([*STARTS, -1e7], STIFFNESSES):
        u = surface_proximal(start, stiffness)
        assert 0.0 < u <= 1.0
        # The slope says how exact the force can be.
        force, slope = surface_force(u)
        rounding = 1e-8 * u * (1.0 - stiffness * slope) + 1e-15 * abs(start)
        assert u - start - stiffness * force == pytest.approx(0.0, abs=rounding)


@KINDS
def test_each_kind_is_pressed_to_the_least_of_its_own_barrier(kind) -> None:
    for start, stiffness in itertools.product([-0.5, 0.2, 0.8], [1e-2, 0.3, 5.0]):

        def energy(u: float, start: float = start, stiffness: float = stiffness) -> float:
            own = barrier_of(np.array([kind]), np.array([u]))[0]
            return 0.5 * (u - start) ** 2 + stiffness * own

        found = minimize_scalar(energy, bounds=(1e-9, 1.0), options={"xatol": 1e-12})
        assert pressed_ratio(kind, start, stiffness) == pytest.approx(found.x, abs=1e-6)


def test_the_ground_pushes_as_its_barrier_does() -> None:
    for start, stiffness in itertools.product([-0.5, 0.2, 0.8], [1e-2, 0.3, 5.0]):
        u = pressed_ratio(GROUND, start, stiffness)
        force = -float(barrier_derivative(torch.tensor(u, dtype=torch.float64)))
        assert u - start == pytest.approx(stiffness * force, rel=1e-7)


@KINDS
def test_what_is_out_of_reach_stays_where_it_is(kind) -> None:
    for start in (1.0, 1.2, 7.0):
        assert pressed_ratio(kind, start, 100.0) == start


# Friction


@pytest.mark.parametrize("size", [0.0, 0.3, 1.999])
def test_what_static_friction_can_hold_it_holds(size) -> None:
    pull = tuple(size * np.array([2.0, -3.0, 6.0]) / 7.0)
    assert coulomb_friction(pull, 4.0, 0.5, 0.1) == pull


@pytest.mark.parametrize("size", [2.001, 30.0])
def test_what_it_cannot_hold_slides_against_kinetic_friction(size) -> None:
    direction = np.array([2.0, -3.0, 6.0]) / 7.0
    held = coulomb_friction(tuple(size * direction), 4.0, 0.5, 0.1)
    np.testing.assert_allclose(held, 0.1 * 4.0 * direction, rtol=1e-14)


# One contact


@KINDS
def test_one_contact_comes_to_the_least_of_inertia_and_barrier(kind) -> None:
    for distance, closing in itertools.product([0.1, 0.35, 0.7], [-0.1, 0.3, 0.9]):
        own = pair(MOBILITY, distance, kinds=kind, scales=0.3, dhats=0.8)
        wanted = np.zeros((3, 3))
        wanted[0, 2], wanted[1, 2] = -closing, 0.2
        moves = wanted.copy()
        relax_each(own, 1, MOBILITY, moves)
        assert own.compliances[0] == pytest.approx(0.75**2 * 0.8 + 0.5 + 0.25**2 * 2.0)

        def energy(
            force: float, own=own, wanted=wanted, distance: float = distance, kind: int = kind
        ) -> float:
            ends = wanted[:, 2] + force * MOBILITY * [0.75, -1.0, 0.25]
            u = (distance + 0.75 * ends[0] + 0.25 * ends[2] - ends[1]) / 0.8
            inertia = 0.5 * ((ends - wanted[:, 2]) ** 2 / MOBILITY).sum()
            return inertia + 0.3 * barrier_of(np.array([kind]), np.array([u]))[0]

        free = (distance + 0.75 * wanted[0, 2] - 0.2) / 0.8
        if free >= 1.0:
            np.testing.assert_array_equal(moves, wanted)
            continue
        # Between where it is just above the surface and where it is out of reach.
        bounds = [(end - free) * 0.8 / own.compliances[0] for end in (1e-9, 1.0)]
        found = minimize_scalar(energy, bounds=(max(0.0, bounds[0]), bounds[1]))
        assert own.forces[0] == pytest.approx(found.x, rel=1e-4)
        np.testing.assert_allclose(
            moves - wanted, np.outer(found.x * MOBILITY * [0.75, -1.0, 0.25], UP), atol=1e-4
        )


def test_what_has_been_relaxed_stays_and_says_so() -> None:
    own, moves = (
        pair(MOBILITY, 0.4, scales=0.3, static=0.5, kinetic=0.4, displacements=0.1),
        np.zeros((3, 3)),
    )
    moves[0] = -0.3
    u = 0.4 - 0.75 * 0.3
    change = relax_each(own, 1, MOBILITY, moves)
    after = 0.4 + 0.75 * moves[0, 2] + 0.25 * moves[2, 2] - moves[1, 2]
    assert change == pytest.approx((after - u) / after, rel=1e-9)
    again = moves.copy()
    assert relax_each(own, 1, MOBILITY, again) < 1e-7
    np.testing.assert_allclose(again, moves, atol=1e-9)


def test_the_change_of_a_distance_is_in_units_of_it_whatever_its_reach() -> None:
    changes = []
    for size in (1.0, 1e-3):
        own, moves = (
            pair(MOBILITY, 0.4 * size, dhats=size, scales=0.3 * size**2),
            np.zeros((3, 3)),
        )
        changes.append(relax_each(own, 1, MOBILITY, moves))
    assert changes[0] == pytest.approx(changes[1], rel=1e-9)
    assert changes[0] > 0.01


def test_the_largest_change_of_all_is_told() -> None:
    separate = np.full(6, 0.5)
    pairs, rows = [[0, 1], [2, 3], [4, 5]], [[1.0, -1.0]] * 3
    alone = []
    for distance in (0.9, 0.1, 0.5):
        one = contacts([[0, 1]], [[1.0, -1.0]], [UP], [distance], separate)
        alone.append(relax_each(one, 1, separate, np.zeros((6, 3))))
    together = contacts(pairs, rows, [UP] * 3, [0.9, 0.1, 0.5], separate)
    assert relax_each(together, 3, separate, np.zeros((6, 3))) == max(alone)
    assert alone[1] > 2.0 * alone[2] > 2.0 * alone[0] > 0.0


def test_what_was_pressed_and_is_free_again_has_no_force_left() -> None:
    own, moves = pair(MOBILITY, 0.4, static=0.5, kinetic=0.4, displacements=0.1), np.zeros((3, 3))
    relax_each(own, 1, MOBILITY, moves)
    assert own.forces[0] > 0.0 and own.frictions[0].any()
    lifted = np.zeros((3, 3))
    lifted[0, 2] = 2.0
    moves += lifted
    relax_each(own, 1, MOBILITY, moves)
    assert own.forces[0] == 0.0 and not own.frictions[0].any()
    np.testing.assert_allclose(moves, lifted, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_what_nothing_can_move_is_left_alone(friction) -> None:
    mobility, moves = np.zeros(3), np.full((3, 3), 0.1)
    own = pair(mobility, 0.4, static=friction, kinetic=friction)
    initialize_forces(own, 1, mobility, moves)
    assert relax_each(own, 1, mobility, moves) == 0.0
    assert own.forces[0] == 0.0 and (moves == 0.1).all()


# One contact with friction


def sliding(static: float, kinetic: float):
    """A contact pressed hard that has slid and goes on to, relaxed; its moves, wanted and real."""
    normal = np.array([0.6, 0.0, 0.8])
    own = contacts(
        *([[0, 2, 1]], [[0.75, 0.25, -1.0]], [normal], [0.3], MOBILITY),
        **{"displacements": [[0.11, 0.07, -0.05]], "static": static, "kinetic": kinetic},
    )
    wanted = np.array([[0.1, -0.2, -0.6], [0.05, 0.1, 0.2], [0.3, -0.1, -0.5]])
    moves = wanted.copy()
    relax_each(own, 1, MOBILITY, moves)
    return own, normal, wanted, moves


def slid(own, normal: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """The tangential displacement of the points since the step began."""
    total = own.displacements[0] + matrix(own, 3)[0] @ moves
    return total - total @ normal * normal


def test_what_sticks_is_held_where_it_was_when_the_step_began() -> None:
    own, normal, wanted, moves = sliding(9.0, 9.0)
    assert np.linalg.norm(slid(own, normal, wanted)) > 0.1
    np.testing.assert_allclose(slid(own, normal, moves), 0.0, atol=1e-14)
    assert np.linalg.norm(own.frictions[0]) < 9.0 * own.forces[0]


def test_what_slides_is_braked_with_a_share_of_the_normal_force() -> None:
    own, normal, wanted, moves = sliding(0.3, 0.2)
    friction, before = own.frictions[0], slid(own, normal, wanted)
    assert np.linalg.norm(friction) == pytest.approx(0.2 * own.forces[0], rel=1e-12)
    np.testing.assert_allclose(
        friction / np.linalg.norm(friction), -before / np.linalg.norm(before), atol=1e-12
    )
    braked = before + own.compliances[0] * friction
    np.testing.assert_allclose(slid(own, normal, moves), braked, atol=1e-14)


def test_friction_leaves_the_normal_force_of_its_contact_as_it_is() -> None:
    without, _, _, _ = sliding(0.0, 0.0)
    with_it, normal, _, _ = sliding(0.3, 0.2)
    assert with_it.forces[0] == pytest.approx(without.forces[0], rel=1e-14)
    assert with_it.frictions[0] @ normal == pytest.approx(0.0, abs=1e-14)
    assert not without.frictions.any()


# Many contacts


@pytest.mark.parametrize("seed", [1, 2])
def test_many_contacts_come_to_the_least_of_the_whole_energy(seed) -> None:
    own, mobility, wanted = random_contacts(seed)
    moves, count = wanted.copy(), len(own.forces)
    for _ in range(3000):
        change = relax_each(own, count, mobility, moves)
    assert change < 1e-9
    pressed = own.forces > 0.0
    assert 5 < pressed.sum() < count
    np.testing.assert_allclose(moves, minimum(own, mobility, wanted), atol=2e-5)


@pytest.mark.parametrize("begin", [False, True])
@pytest.mark.parametrize("passes", [0, 1, 2, 7])
def test_moves_are_what_the_forces_make_after_any_number_of_passes(begin, passes) -> None:
    own, mobility, wanted = random_contacts(3, static=0.4, kinetic=0.3)
    moves, count = wanted.copy(), len(own.forces)
    if begin:
        initialize_forces(own, count, mobility, moves)
    for _ in range(passes):
        relax_each(own, count, mobility, moves)
    assert (own.forces > 0.0).sum() > (5 if begin or passes else -1)
    total = own.forces[:, None] * own.normals + own.frictions
    given = mobility[:, None] * (matrix(own, len(mobility)).T @ total)
    np.testing.assert_allclose(moves - wanted, given, atol=1e-13)
    momentum = ((moves - wanted) / mobility[:, None]).sum(axis=0)
    np.testing.assert_allclose(momentum, 0.0, atol=1e-12)
    # Friction never is more than its cone.
    limits = 0.4 * own.forces + 1e-12
    assert (np.linalg.norm(own.frictions, axis=1) <= limits).all()


@KINDS
@pytest.mark.parametrize("stiffness", [1e-3, 0.02])
def test_bodies_at_rest_begin_with_the_forces_that_hold_them(kind, stiffness) -> None:
    dhat, distance = 0.8, 0.6
    own = pair(MOBILITY, distance, kinds=kind, scales=stiffness, dhats=dhat)
    force = stiffness / dhat * force_of(kind, distance / dhat)
    moves = np.outer(-force * MOBILITY * [0.75, -1.0, 0.25], UP)
    initialize_forces(own, 1, MOBILITY, moves)
    assert own.forces[0] == pytest.approx(force, rel=1e-7)
    np.testing.assert_allclose(moves, 0.0, atol=1e-9)
    assert relax_each(own, 1, MOBILITY, moves) < 1e-8


@KINDS
def test_no_first_force_does_more_than_to_open_its_contact(kind) -> None:
    own, moves = pair(MOBILITY, 0.1, kinds=kind, scales=1e6, dhats=0.8), np.zeros((3, 3))
    moves[1, 2] = 0.05
    initialize_forces(own, 1, MOBILITY, moves)
    after = 0.1 + 0.75 * moves[0, 2] + 0.25 * moves[2, 2] - moves[1, 2]
    assert after == pytest.approx(0.8, rel=1e-12)


def test_nothing_that_opens_by_itself_or_is_out_of_reach_begins_with_a_force() -> None:
    moves = np.zeros((3, 3))
    moves[0, 2] = 3.0
    for distance, wanted in ((0.5, moves), (1.0, -moves), (1.2, -moves)):
        own, after = pair(MOBILITY, distance), wanted.copy()
        initialize_forces(own, 1, MOBILITY, after)
        assert own.forces[0] == 0.0
        np.testing.assert_array_equal(after, wanted)


def test_a_point_below_the_ground_begins_with_what_lifts_it_out() -> None:
    own = contacts([[0]], [[1.0]], [UP], [-0.3], MOBILITY, kinds=GROUND)
    moves = np.zeros((3, 3))
    initialize_forces(own, 1, MOBILITY, moves)
    # It is taken for one at the surface, where no force is too large.
    assert moves[0, 2] == pytest.approx(1.0, rel=1e-12)


# Work and energy


def test_the_energy_between_surfaces_leaves_out_the_ground_and_what_is_out_of_reach() -> None:
    own, _, _ = random_contacts(6)
    energies = own.scales * barrier_of(own.kinds, own.distances / own.dhats)
    expected = energies[:20][own.kinds[:20] == SURFACES]
    assert (expected == 0.0).any() and (expected > 0.0).sum() > 3
    assert surface_energy(own, 20) == pytest.approx(expected.sum(), rel=1e-12)


def test_what_is_prescribed_works_against_the_forces_on_it() -> None:
    own = pair(MOBILITY, 0.5)
    own.forces[0], own.frictions[0] = 3.0, (0.5, -0.2, 0.0)
    moves = np.zeros((3, 3))
    # The second part presses towards the first.
    moves[1] = (0.2, 0.3, 0.1)
    assert prescribed_work(own, 1, moves) == pytest.approx(3.0 * 0.1 + 0.5 * 0.2 - 0.2 * 0.3)
    moves[0] = (0.0, 0.0, 0.4)
    work = prescribed_work(own, 1, moves)
    assert work == pytest.approx(3.0 * 0.1 + 0.5 * 0.2 - 0.2 * 0.3 - 3.0 * 0.75 * 0.4)


def test_work_is_the_sum_over_contacts() -> None:
    own, mobility, wanted = random_contacts(5, static=0.4, kinetic=0.3)
    moves, count = wanted.copy(), len(own.forces)
    relax_each(own, count, mobility, moves)
    total = own.forces[:, None] * own.normals + own.frictions
    expected = -(total * (matrix(own, len(mobility)) @ wanted)).sum()
    assert prescribed_work(own, count, wanted) == pytest.approx(expected, rel=1e-12)
