# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import SDIRK2
from supple.core.integrators.implicit_stepper import ImplicitStepper
from supple.core.materials import StableNeoHookean

FRAME = 1.0 / 24.0
WEIGHTLESS = (0.0, 0.0, 0.0)
GAMMA = 1.0 - math.sqrt(0.5)


@pytest.mark.parametrize("substeps", [1, 3])
def test_free_fall_is_exact(make_block, substeps: int) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), velocity=(1.0, 0.0, 2.0))
    for frame in Simulator(Scene([body]), SDIRK2(), substeps=substeps).run(12):
        drop = 0.5 * 9.81 * frame.time**2
        expected = body.mesh.vertices + np.array([frame.time, 0.0, 2.0 * frame.time - drop])
        np.testing.assert_allclose(frame.positions[0].numpy(), expected, atol=1e-9)
        fallen = 2.0 - 9.81 * frame.time
        np.testing.assert_allclose(frame.velocities[0][:, 2].numpy(), fallen, atol=1e-9)


def test_what_falls_in_air_comes_to_the_speed_at_which_the_air_bears_it(make_block) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), damping=20.0)
    *_, last = Simulator(Scene([body]), SDIRK2(), substeps=1).run(48)
    np.testing.assert_allclose(last.velocities[0][:, 2].numpy(), -9.81 / 20.0, rtol=1e-9)


def test_both_stages_solve_the_equations_of_the_scheme(make_block) -> None:
    """x₁ = x + γh v₁, v₁ = v + γh a₁; x' = x + h((1 − γ) v₁ + γ v'), v' = v + h((1 − γ) a₁ + γ a'),
    of a body with two planes of symmetry, which does not turn."""
    mesh = make_block()
    side = np.sign(mesh.vertices[:, :2] - mesh.vertices[:, :2].mean(axis=0))
    start = mesh.vertices.copy()
    start[:, :2] += 0.02 * side
    pinned = np.flatnonzero(mesh.vertices[:, 2] == mesh.vertices[:, 2].min())
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.4), initial_positions=start, pinned=pinned)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), SDIRK2(1e-10), substeps=1)
    list(simulator.run(1))
    before = simulator.state
    list(simulator.run(1))
    after, system, stepper = simulator.state, simulator.system, simulator.stepper
    assert isinstance(stepper, ImplicitStepper)
    ((first, last),) = stepper.stage_ends

    def acceleration(positions: torch.Tensor) -> torch.Tensor:
        pull = sum(part.gradient(positions) for part in system.potentials)
        return -system.inverse_mass * pull

    part = GAMMA * FRAME
    speed = (first - before.positions) / part
    one, other = acceleration(first), acceleration(last)
    scale = float(one.abs().max())
    torch.testing.assert_close(
        (speed - before.velocities) / part, one, rtol=1e-6, atol=1e-6 * scale
    )
    gained = after.velocities - before.velocities - FRAME * (1.0 - GAMMA) * one - part * other
    assert float(gained.abs().max()) < 1e-6 * FRAME * scale
    went = (1.0 - GAMMA) * speed + GAMMA * after.velocities
    torch.testing.assert_close(last, before.positions + FRAME * went, rtol=0.0, atol=1e-9)


def test_a_stiff_body_that_starts_out_of_shape_is_at_rest_at_once(make_block) -> None:
    """A vibration far too fast for a step ends with the first one."""
    mesh = make_block()
    pinned = np.flatnonzero(mesh.vertices[:, 2] == mesh.vertices[:, 2].min())
    body = SoftBody(
        mesh,
        StableNeoHookean(1e10, 0.3),
        initial_positions=mesh.vertices * [1.0, 1.0, 1.001],
        pinned=pinned,
    )
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), SDIRK2(1e-6), substeps=1)
    start = simulator.system.energies(simulator.state).total
    *_, last = simulator.run(2)
    assert last.report.energies.total < 1e-4 * start
