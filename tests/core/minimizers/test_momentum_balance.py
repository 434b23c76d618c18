# SPDX-License-Identifier: GPL-3.0-or-later
"""Net forces and net moments that a search has left over are taken away."""

from __future__ import annotations

import numpy as np
import torch

from supple.core import Contact, Ground, Scene, SoftBody
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.minimizers.momentum_balance import MomentumBalance
from supple.core.potentials import TimeStep
from supple.core.system import System
from supple.verification.meshes import block

STEP = 1.0 / 24.0
CPU = torch.device("cpu")


def begun(*bodies: SoftBody, **options) -> tuple[IncrementalPotential, torch.Tensor]:
    objective = IncrementalPotential(System(Scene(list(bodies), **options), CPU, torch.float64))
    rest = objective.system.rest_positions()
    if objective.contact is not None:
        objective.contact.begin(None)
    objective.begin(TimeStep(rest, rest, STEP, STEP))
    return objective, rest


def cube(at: float = 0.0, **options) -> SoftBody:
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2), (at, 0.0, 0.0))
    return SoftBody(mesh, StableNeoHookean(1e5, 0.3), **options)


def left_over(objective: IncrementalPotential, at: torch.Tensor) -> tuple[float, float]:
    """The net force and the net moment, in newtons and newton metres."""
    gradient, mass = objective.gradient(at), objective.system.mass
    arms = at - ((mass * at).sum(1) / mass.sum())[:, None]
    moment = torch.linalg.cross(arms, gradient, dim=0).sum(1)
    return float(gradient.sum(1).norm()), float(moment.norm())


def test_a_body_that_has_turned_and_shifted_goes_back_to_where_nothing_pulls() -> None:
    objective, rest = begun(cube(), gravity=(0.0, 0.0, 0.0))
    axis = torch.tensor([[0.01], [-0.02], [0.015]], dtype=torch.float64).expand_as(rest)
    centre = rest.mean(1, keepdim=True)
    moved = rest + torch.linalg.cross(axis, rest - centre, dim=0) + 0.003
    before = left_over(objective, moved)
    balanced = MomentumBalance(objective)(moved)
    after = left_over(objective, balanced)
    assert after[0] < 1e-9 * before[0]
    assert after[1] < 2e-2 * before[1]
    # What is left of it is of second order, and the shape is the same.
    again = left_over(objective, MomentumBalance(objective)(balanced))
    assert again[1] < 1e-3 * before[1]
    sizes = [(at[:, 1:] - at[:, :-1]).norm(dim=0) for at in (moved, balanced)]
    torch.testing.assert_close(*sizes, rtol=0.0, atol=1e-12)


def test_what_is_pinned_stays() -> None:
    objective, rest = begun(cube(pinned=np.array([0])), gravity=(0.0, 0.0, 0.0))
    moved = torch.where(objective.system.free, rest + 0.003, rest)
    assert torch.equal(MomentumBalance(objective)(moved), moved)


def test_bodies_that_do_not_touch_are_balanced_one_by_one() -> None:
    objective, rest = begun(cube(), cube(1.0), gravity=(0.0, 0.0, 0.0), contact=Contact())
    first, second = objective.system.body_slices()
    moved = rest.clone()
    moved[0, first] += 0.002
    moved[1, second] -= 0.003
    balanced = MomentumBalance(objective)(moved)
    torch.testing.assert_close(balanced, rest, rtol=0.0, atol=1e-9)


def test_bodies_that_would_meet_on_their_ways_keep_the_momentum_of_both() -> None:
    bodies = cube(), cube(1.0)
    objective, rest = begun(*bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())
    first, second = objective.system.body_slices()
    moved = rest.clone()
    moved[0, first] += 1.3
    moved[1, second] += 0.01
    balanced = MomentumBalance(objective)(moved)
    net_force, _ = left_over(objective, moved)
    assert left_over(objective, balanced)[0] < 1e-9 * net_force
    assert float(balanced[0, first].min()) > float(balanced[0, second].max())


def test_nothing_is_balanced_to_below_the_ground() -> None:
    # In the step it falls by 17 mm.
    objective, rest = begun(cube(), ground=Ground(-0.01))
    moved = rest + torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64)
    assert torch.equal(MomentumBalance(objective)(moved), moved)
