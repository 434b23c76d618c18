# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.geometry.rigid_motion import rigid_velocity
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, Integrator
from supple.core.integrators.implicit_stepper import ImplicitStepper
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


def test_forces_and_pins_are_those_of_the_end_of_each_stage(make_block, monkeypatch) -> None:
    simulator = Simulator(Scene([SoftBody(make_block())]), SDIRK2(), substeps=2)
    solve, times = ImplicitStepper._solve, []

    def timed(stepper, state, coasting, end_time, *args):
        times.append(end_time)
        return solve(stepper, state, coasting, end_time, *args)

    monkeypatch.setattr(ImplicitStepper, "_solve", timed)
    list(simulator.run(2))
    first = 1.0 - math.sqrt(0.5)
    assert [frame for frame, _ in times] == [0] * 4 + [1] * 4
    fractions = [0.5 * first, 0.5, 0.5 + 0.5 * first, 1.0]
    assert [fraction for _, fraction in times] == pytest.approx(2 * fractions)


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
def test_bdf2_free_fall_follows_the_closed_form_of_the_scheme(make_block, substeps: int) -> None:
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
