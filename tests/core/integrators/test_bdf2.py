# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.geometry.rigid_motion import rigid_velocity
from supple.core.integrators import BDF2, ImplicitEuler, Integrator
from supple.core.materials import StableNeoHookean

FRAME = 1.0 / 24.0
WEIGHTLESS = (0.0, 0.0, 0.0)
MakeBlock = Callable[..., TetMesh]


def _stretched(make_block: MakeBlock, amount: float = 1.1, **options) -> SoftBody:
    mesh = make_block()
    return SoftBody(
        mesh,
        StableNeoHookean(1e5, 0.4),
        initial_positions=mesh.vertices * [amount, 1.0, 1.0],
        **options,
    )


@pytest.mark.parametrize("substeps", [1, 7])
def test_free_fall_follows_the_closed_form_of_the_scheme(make_block, substeps: int) -> None:
    # BDF2 is exact for parabolas. Its first step, of implicit Euler, falls ½ g h² too far, and the
    # recursion e' = (4e − e₋₁)/3 takes that to ¾ g h² (1 − 3⁻ⁿ).
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), velocity=(1.0, 0.0, 2.0))
    simulator = Simulator(Scene([body]), BDF2(), substeps=substeps)
    h = FRAME / substeps
    for frame in simulator.run(24):
        steps = frame.index * substeps
        drop = 9.81 * (0.5 * frame.time**2 + 0.75 * h * h * (1.0 - 3.0**-steps))
        expected = body.mesh.vertices + np.array([frame.time, 0.0, 2.0 * frame.time - drop])
        np.testing.assert_allclose(frame.positions[0].numpy(), expected, atol=1e-9)
        fallen = 2.0 - 9.81 * frame.time
        np.testing.assert_allclose(frame.velocities[0][:, 2].numpy(), fallen, atol=1e-9)


def test_the_first_step_is_one_of_implicit_euler(make_block) -> None:
    (first,), (euler,) = (
        Simulator(Scene([_stretched(make_block)]), kind(1e-9), substeps=1).run(1)
        for kind in (BDF2, ImplicitEuler)
    )
    torch.testing.assert_close(first.positions, euler.positions, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(first.velocities, euler.velocities, rtol=0.0, atol=1e-10)


def test_later_steps_solve_the_equations_of_the_scheme(make_block) -> None:
    # x' = (4x − x₋₁)/3 + 2h/3 v', M (v' − (4v − v₋₁)/3) = −2h/3 ∇E(x').
    simulator = Simulator(Scene([_stretched(make_block)]), BDF2(1e-9), substeps=1)
    states = [simulator.state]
    for _ in range(3):
        list(simulator.run(1))
        states.append(simulator.state)
    before, now, after = states[1:]
    system, span = simulator.system, 2.0 / 3.0 * FRAME
    gradient = sum(potential.gradient(after.positions) for potential in system.potentials)
    coasting = (4.0 * now.velocities - before.velocities) / 3.0
    impulse = system.mass * (after.velocities - coasting)
    # Up to the rotation that keeps the angular momentum, which the scheme does not.
    lacking = (-span * gradient - impulse) / system.mass
    turn = rigid_velocity(system.mass, after.positions, lacking).at(after.positions)
    assert float(turn.abs().max()) < 2e-3 * float(after.velocities.abs().max())
    np.testing.assert_allclose(impulse + system.mass * turn, -span * gradient, rtol=1e-6, atol=1e-6)
    base = (4.0 * now.positions - before.positions) / 3.0
    went = base + span * (after.velocities + turn)
    np.testing.assert_allclose(after.positions, went, atol=1e-9)


def test_a_wobble_lasts_longer_than_with_implicit_euler(make_block) -> None:
    def energy_ratio(integrator: Integrator) -> float:
        scene = Scene([_stretched(make_block)], gravity=WEIGHTLESS)
        simulator = Simulator(scene, integrator, substeps=4)
        start = simulator.system.energies(simulator.state).total
        *_, last = simulator.run(12)
        return last.report.energies.total / start

    assert 10.0 * energy_ratio(ImplicitEuler()) < energy_ratio(BDF2()) < 1.0


def _landing(make_block: MakeBlock) -> Simulator:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.1)),
        StableNeoHookean(3e4, 0.4),
        velocity=(1.0, 0.0, -2.0),
        damping=0.5,
    )
    return Simulator(Scene([body], ground=Ground()), BDF2())


def test_a_run_that_is_resumed_ends_with_the_same_bits(make_block) -> None:
    whole, resumed = _landing(make_block), _landing(make_block)
    list(whole.run(5))
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    list(whole.run(7))
    resumed.state = resumed.state.restored(5, arrays)
    list(resumed.run(7))
    assert resumed.state.frame == whole.state.frame == 12
    assert torch.equal(resumed.state.positions, whole.state.positions)
    assert torch.equal(resumed.state.velocities, whole.state.velocities)


def test_what_lay_before_is_part_of_the_state(make_block) -> None:
    whole, resumed = _landing(make_block), _landing(make_block)
    list(whole.run(5))
    arrays = whole.state.to_arrays()
    forgetful = {name: v for name, v in arrays.items() if not name.endswith("before")}
    assert len(forgetful) == len(arrays) - 2
    list(whole.run(1))
    resumed.state = resumed.state.restored(5, forgetful)
    list(resumed.run(1))
    assert not torch.allclose(resumed.state.positions, whole.state.positions, atol=1e-6)
