# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, PairFriction, Scene, SoftBody
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.tests.core.potentials.contact.close_bodies import (
    FORMULATIONS,
    REACH,
    SLIP,
    TRIANGLE,
    contact_of,
    gradient,
    pyramid,
    rest,
    stack,
)
from supple.verification.meshes import block

pytest.importorskip("ipctk")

#: Where each level goes relative to what lies below it.
SLIDES = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [-0.6, 0.8, 0]], dtype=torch.float64)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_pair_rubs_with_its_own_coefficient_times_the_normal_force(formulation) -> None:
    options = {"friction": 0.6, "formulation": formulation, "stiffness": 1e5}
    named = [PairFriction("Level 2", "Level 1", 0.3, 0.25)]
    contact, positions, levels = pyramid(pairs=named, **options)
    start, shift = positions.clone(), torch.zeros(3, dtype=torch.float64)
    for where, slide in zip(levels, SLIDES, strict=True):
        shift = shift + 5.0 * SLIP * slide
        start[:, where] -= shift[:, None]
    contact.begin_step(start, SLIP)
    contact.build_static_candidates(positions)
    contact.update_lagged(positions)
    with_friction = gradient(contact, positions)
    contact._friction = None
    pressed = gradient(contact, positions)
    rubbed = torch.stack([(with_friction - pressed)[:, where].sum(1) for where in levels])
    # What lies above a level is borne through it.
    normal = -torch.stack([pressed[2, where].sum() for where in levels]).flip(0).cumsum(0).flip(0)
    assert (normal > 0.0).all()
    expected = torch.tensor([math.sqrt(0.9 * 0.1), math.sqrt(0.9 * 0.4), 0.25], dtype=torch.float64)
    own = (expected * normal)[:, None] * SLIDES
    own[:-1] -= own[1:].clone()
    torch.testing.assert_close(rubbed, own, rtol=1e-6, atol=1e-6 * float(normal.max()))


@pytest.mark.parametrize(("ways", "share"), [(0.25, 0.4375), (0.5, 0.75), (1.0, 1.0), (3.0, 1.0)])
def test_what_sticks_is_held_by_a_part_of_the_force_that_breaks_it_loose(ways, share) -> None:
    assert rubbing(ways, friction=0.5) == pytest.approx(0.5 * share, rel=1e-6)


@pytest.mark.parametrize("ways", [2.0, 9.0])
def test_what_slides_is_held_with_the_kinetic_coefficient(ways) -> None:
    assert rubbing(ways, friction=0.8, kinetic_friction=0.2) == pytest.approx(0.2, rel=1e-6)


def test_before_it_slides_it_is_held_with_up_to_the_static_coefficient() -> None:
    held = [rubbing(w, friction=0.8, kinetic_friction=0.2) for w in np.linspace(0.05, 2.0, 40)]
    assert max(held) == pytest.approx(0.8, rel=0.01)


def rubbing(ways: float, **friction) -> float:
    """Friction in units of the normal force, so many slips from where a block began."""
    scene = Scene(
        [SoftBody(block((2, 2, 1), (1.0, 1.0, 0.3), (0.0, 0.0, 0.4 * REACH)))],
        colliders=[Collider(TRIANGLE, [[0, 1, 2]])],
        contact=Contact(distance=REACH, **friction),
    )
    contact, positions = contact_of(scene), rest(scene)
    start = positions.clone()
    start[0] -= ways * SLIP
    contact.begin_step(start, SLIP)
    contact.build_static_candidates(positions)
    contact.update_lagged(positions)
    total = gradient(contact, positions).sum(1)
    assert abs(float(total[1])) < 1e-9 * abs(float(total[2]))
    return float(-total[0] / total[2])


def test_friction_holds_with_the_forces_it_was_given_last_and_as_often_as_allowed() -> None:
    contact, positions, levels = pyramid(friction=0.5, friction_updates=2, stiffness=1e5)
    closer, closest = positions.clone(), positions.clone()
    closer[2, levels[2]] -= 0.1 * REACH
    closest[2, levels[2]] -= 0.2 * REACH
    aside = torch.zeros_like(positions)
    aside[0, levels[2]] = SLIP
    contact.begin_step(positions, SLIP)
    contact.collision_free_step_size(positions, closest + aside)
    held = friction_at(contact, positions + aside)
    assert held > 0.0
    assert friction_at(contact, closer + aside) == pytest.approx(held, rel=1e-3)
    changed, whole = contact.update_lagged(closer)
    assert 0.0 < changed < whole
    grown = friction_at(contact, closer + aside)
    assert grown > 1.02 * held
    # The second time was the last.
    assert contact.update_lagged(closest) == (0.0, 0.0)
    assert friction_at(contact, closest + aside) == pytest.approx(grown, rel=1e-3)
    contact.begin_step(positions, SLIP)
    assert contact.update_lagged(closest)[0] > 0.0


def friction_at(contact: MeshContact, positions: torch.Tensor) -> float:
    """Its energy, in joules."""
    friction = contact._friction
    assert friction is not None
    return float(friction.energy(contact.points(positions)))


def test_forces_taken_where_they_were_taken_before_have_not_changed() -> None:
    contact, positions, _ = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    changed, whole = contact.update_lagged(positions)
    assert changed == 0.0
    assert whole > 0.0


def test_what_stuck_creeps_by_as_many_slips_as_it_moved() -> None:
    contact, positions, levels = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    aside = torch.tensor([[SLIP], [0.0], [0.0]], dtype=torch.float64)
    assert contact.stick_drift(positions, positions) == 0.0
    assert contact.stick_drift(positions, positions + 0.25 * aside) == pytest.approx(0.25)
    assert contact.stick_drift(positions + 0.9 * aside, positions - aside) == pytest.approx(1.9)
    # What slid already may move on.
    assert contact.stick_drift(positions + 1.1 * aside, positions + 6.0 * aside) < 1e-9
    one = positions.clone()
    one[:, levels[2]] += 0.5 * aside
    # The farthest counts, whatever slides below.
    slid = one.clone()
    slid[:, levels[0]] += 7.0 * aside
    slid[:, levels[1]] += 7.0 * aside
    assert contact.stick_drift(positions, one) == pytest.approx(0.5)
    assert contact.stick_drift(slid, slid + aside) < 1e-9


def test_without_friction_nothing_lags_or_creeps() -> None:
    scene = stack("convergent", "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    contact.begin_step(positions, SLIP)
    assert contact.update_lagged(positions) == (0.0, 0.0)
    assert contact.stick_drift(positions, positions + 1.0) == 0.0
