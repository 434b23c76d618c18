# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import SoftBody
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.barrier import AdaptiveStiffness
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.tests.core.potentials.contact.close_bodies import (
    FORMULATIONS,
    REACH,
    contact_of,
    gradient,
    rest,
    stack,
)
from supple.verification.meshes import block

kit: Any = pytest.importorskip("ipctk")

STEP = 1.0 / 24.0


def test_the_convergent_barrier_and_a_chosen_stiffness_stay_as_they_are() -> None:
    for formulation in FORMULATIONS:
        contact = contact_of(stack(formulation, "boundary", {}))
        assert not contact.adapts
        assert contact.barrier.stiffness == 1e6
        assert not contact.after_iteration(rest(stack(formulation, "boundary", {})))


def test_the_convergent_stiffness_lies_between_those_of_the_two_bodies() -> None:
    scene = stack("convergent", "boundary", {})
    scene.contact.stiffness = None
    scene.bodies[1].material = StableNeoHookean(4e7, 0.3)
    scene.bodies.append(SoftBody(block(), StableNeoHookean(1e3, 0.3)))
    # Whatever else there is; and what touches a collider, or itself, is alone with it.
    expected = np.array(
        [[1e4, 2e5, 1e3, 1e4], [2e5, 4e6, 2e4, 4e6], [1e3, 2e4, 1e2, 1e2], [1e4, 4e6, 1e2, 0.0]]
    )
    np.testing.assert_allclose(contact_of(scene).barrier.stiffness, expected)


# The original formulation's


def adaptive() -> tuple[MeshContact, torch.Tensor, torch.Tensor]:
    """Contact, where surfaces are close, and a pull downwards in newtons."""
    scene = stack("original", "boundary", {"friction": 0.0})
    scene.contact.stiffness = None
    contact, positions = contact_of(scene), rest(scene)
    pull = torch.zeros_like(positions)
    pull[2] = 50.0
    return contact, positions, pull


def started(
    contact: MeshContact, positions: torch.Tensor, step: float, pull: torch.Tensor
) -> float:
    contact.adapt_at_start(positions, step, pull)
    return float(contact.barrier.stiffness)


def nearer(positions: torch.Tensor, gap: float) -> torch.Tensor:
    """With so many metres between the lower block and the table."""
    close = positions.clone()
    close[2] -= 0.5 * REACH - gap
    return close


def test_every_step_begins_with_a_stiffness_of_its_own() -> None:
    contact, positions, pull = adaptive()
    first = started(contact, positions, STEP, pull)
    for gap in (1e-8, 5e-9, 2e-9):
        close = nearer(positions, gap)
        contact.build_static_candidates(close)
        contact.after_iteration(close)
    assert contact.barrier.stiffness == 4.0 * first
    assert started(contact, positions, STEP, pull) == first
    # And it remembers no distance of the step before: closer than that is not closer than before.
    close = nearer(positions, 1e-9)
    contact.build_static_candidates(close)
    assert not contact.after_iteration(close)
    closer = nearer(positions, 5e-10)
    contact.build_static_candidates(closer)
    assert contact.after_iteration(closer)


def test_it_begins_as_stiff_as_balances_all_other_forces_best() -> None:
    contact, positions, pull = adaptive()
    contact.barrier.stiffness = 1.0
    contact.build_static_candidates(positions)
    pressing = gradient(contact, positions)
    weakest = started(contact, positions, STEP, 0.0 * pull)
    for times in (3.0, 30.0):
        # Beside what presses back, some that nothing presses against.
        forces = -times * weakest * pressing
        aside = torch.zeros_like(forces)
        aside[:, pressing.abs().sum(dim=0) == 0.0] = 1e3
        # And twice, since it does not matter how stiff it was before.
        for _ in range(2):
            found = started(contact, positions, STEP, forces + aside)
            assert found == pytest.approx(times * weakest, rel=1e-9)


def test_where_nothing_presses_the_weakest_barrier_goes_with_one_over_the_step_squared() -> None:
    contact, positions, pull = adaptive()
    away = positions + torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64)
    long, short = (started(contact, away, step, 0.0 * pull) for step in (STEP, 0.1 * STEP))
    assert short == pytest.approx(100.0 * long, rel=1e-9)


@pytest.mark.parametrize("pressure", [-1e12, 0.0, 50.0, 1e3, 1e12])
@pytest.mark.parametrize("step", [STEP, 0.01 * STEP])
def test_it_begins_and_goes_on_as_the_toolkit_has_it(pressure, step) -> None:
    random = np.random.default_rng(5)
    points, barrier_gradient = random.normal(size=(2, 30, 3))
    gradient = random.normal(size=(30, 3)) - pressure * barrier_gradient
    own, diagonal = AdaptiveStiffness(REACH, 0.3), float(np.linalg.norm(np.ptp(points, axis=0)))
    begun, most = kit.initial_barrier_stiffness(
        diagonal,
        kit.ClampedLogBarrier(),
        REACH,
        0.3,
        gradient.ravel(),
        barrier_gradient.ravel(),
        1e11 / (step * step),
    )
    stiffness = own.begin_step(points, step, gradient, barrier_gradient)
    assert stiffness == pytest.approx(begun, rel=1e-9)
    before = np.inf
    for gap in diagonal * np.array([2e-9, 0.9e-9, 0.8e-9, 0.85e-9, 0.5e-9, 0.4e-9, 3e-9]):
        begun = kit.update_barrier_stiffness(before**2, gap**2, most, begun, diagonal)
        stiffness, before = own.update(stiffness, float(gap)), gap
        assert stiffness == pytest.approx(begun, rel=1e-9)


def test_it_stiffens_while_surfaces_come_too_close() -> None:
    contact, positions, pull = adaptive()
    first = started(contact, positions, STEP, pull)
    assert first > 0.0
    assert not contact.after_iteration(positions)
    stiffened = []
    for gap in (1e-8, 5e-9, 2e-9, 3e-9):
        close = nearer(positions, gap)
        contact.build_static_candidates(close)
        stiffened.append(contact.after_iteration(close))
    assert stiffened == [False, True, True, False]
    assert contact.barrier.stiffness == 4.0 * first
