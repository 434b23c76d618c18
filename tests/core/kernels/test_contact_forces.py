# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces that contacts begin with, and the work against them."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.contact_constraints import GROUND, SURFACES
from supple.core.kernels.contact_relaxation import (
    prescribed_work,
    surface_energy,
)
from supple.tests.core.kernels.linear_contacts import (
    MOBILITY,
    UP,
    barrier_of,
    contacts,
    force_of,
    initialize_forces,
    matrix,
    pair,
    random_contacts,
    relax_each,
)

KINDS = pytest.mark.parametrize("kind", [SURFACES, GROUND])


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
