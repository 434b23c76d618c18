# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import pytest
import torch

from supple.core import SoftBody
from supple.core.materials import StableNeoHookean
from supple.tests.core.contact.close_bodies import FORMULATIONS, REACH, contact_of, rest, stack
from supple.verification.meshes import block

pytest.importorskip("ipctk")


def test_the_original_barrier_stiffens_while_surfaces_come_too_close() -> None:
    scene = stack("original", "boundary", {"friction": 0.0})
    scene.contact.stiffness = None
    contact, positions = contact_of(scene), rest(scene)
    weight = torch.zeros_like(positions)
    weight[2] = 50.0
    contact.adapt_at_start(positions, 1.0 / 24.0, weight)
    first = contact.barrier.stiffness
    assert first > 0.0
    assert not contact.adapt(positions)
    gaps = []
    for gap in (1e-8, 5e-9, 2e-9, 3e-9):
        close = positions.clone()
        close[2] -= 0.5 * REACH - gap
        contact.stay(close)
        gaps.append(contact.adapt(close))
    assert gaps == [False, True, True, False]
    assert contact.barrier.stiffness > first


def test_the_convergent_barrier_and_a_chosen_stiffness_stay_as_they_are() -> None:
    for formulation in FORMULATIONS:
        contact = contact_of(stack(formulation, "boundary", {}))
        assert not contact.adapts
        assert contact.barrier.stiffness == 1e6
        assert not contact.adapt(rest(stack(formulation, "boundary", {})))


@pytest.mark.parametrize("second", [4e4, 2.5e7])
def test_the_convergent_stiffness_lies_between_the_softest_and_the_stiffest_bodys(
    second,
) -> None:
    scene = stack("convergent", "boundary", {})
    scene.contact.stiffness = None
    scene.bodies[1].material = StableNeoHookean(second, 0.3)
    # What lies between the two does not matter.
    middle = SoftBody(block(), StableNeoHookean(math.sqrt(1e5 * second) * 1.1, 0.3))
    scene.bodies.append(middle)
    expected = 0.1 * math.sqrt(1e5 * second)
    assert contact_of(scene).barrier.stiffness == pytest.approx(expected)
