# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import NeoHookean, StableNeoHookean

FRAME = 1.0 / 24.0


@pytest.mark.parametrize("substeps", [1, 7])
def test_free_fall_follows_the_closed_form_of_the_scheme(make_block, substeps: int) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), velocity=(1.0, 0.0, 2.0))
    *_, last = Simulator(Scene([body]), ImplicitEuler(), substeps=substeps).run(24)
    steps, h = 24 * substeps, FRAME / substeps
    drop = 9.81 * h * h * steps * (steps + 1) / 2
    expected = body.mesh.vertices + np.array([last.time, 0.0, 2.0 * last.time - drop])
    np.testing.assert_allclose(last.positions[0].numpy(), expected, atol=1e-9)


def test_a_step_solves_the_equation_of_the_scheme(make_block) -> None:
    # M (v' − e^(−αh) v) = −∇E(x') (1 − e^(−αh))/α, x' = x + h v'.
    mesh = make_block()
    body = SoftBody(
        mesh,
        StableNeoHookean(1e5, 0.4),
        initial_positions=mesh.vertices * [1.2, 0.9, 1.0],
        velocity=(1.0, 2.0, 3.0),
        damping=2.0,
    )
    simulator = Simulator(Scene([body]), ImplicitEuler(1e-9), substeps=1)
    before, system = simulator.state, simulator.system
    list(simulator.run(1))
    after = simulator.state
    gradient = sum(potential.gradient(after.positions) for potential in system.potentials)
    impulse = system.mass * (after.velocities - math.exp(-2.0 * FRAME) * before.velocities)
    acting = (1.0 - math.exp(-2.0 * FRAME)) / 2.0
    np.testing.assert_allclose(impulse, -acting * gradient, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(
        after.positions, before.positions + FRAME * after.velocities, atol=1e-12
    )


@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean])
def test_a_body_that_wobbles_never_gains_energy(make_block, model) -> None:
    mesh = make_block()
    stretched = mesh.vertices * [1.4, 1.0, 0.9]
    body = SoftBody(mesh, model(1e4, 0.3), initial_positions=stretched, velocity=(1.0, 0.0, 0.0))
    _assert_energy_falls(Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), ImplicitEuler()))


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_body_that_falls_on_the_ground_never_gains_energy(make_block, friction: float) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.2)), StableNeoHookean(3e4, 0.4), velocity=(2.0, 0.0, -3.0)
    )
    _assert_energy_falls(
        Simulator(Scene([body], ground=Ground(friction=friction)), ImplicitEuler())
    )


def _assert_energy_falls(simulator: Simulator) -> None:
    energies = [simulator.system.energies(simulator.state).total]
    energies += [frame.report.energies.total for frame in simulator.run(36)]
    assert all(after <= before + 1e-6 * energies[0] for before, after in pairwise(energies))
    assert energies[-1] < 0.9 * energies[0]
