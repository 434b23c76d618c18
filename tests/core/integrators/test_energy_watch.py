# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit steps add no energy to what nothing drives, and tell what they lose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Attachment, Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, Integrator
from supple.core.integrators.energy_watch import GAIN_RATIO, EnergyWatch
from supple.core.integrators.rigid_frames import RigidFrames
from supple.core.integrators.stability import MARGIN_FACTOR, EnergyRounding
from supple.core.materials import StableNeoHookean, StVenantKirchhoff
from supple.core.state import Energies, State
from supple.core.system import System
from supple.verification.meshes import block

WEIGHTLESS = (0.0, 0.0, 0.0)
CPU = torch.device("cpu")
IMPLICIT = pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), BDF2(), SDIRK2()], ids=lambda one: type(one).__name__
)


def cube(young: float = 1e4, **options) -> SoftBody:
    return SoftBody(block((2, 2, 2), (0.2, 0.2, 0.2)), StableNeoHookean(young, 0.45), **options)


def watched(*bodies: SoftBody, **scene) -> tuple[System, EnergyWatch, State]:
    system = System(Scene(list(bodies), **{"gravity": WEIGHTLESS, **scene}), CPU, torch.float64)
    watch = EnergyWatch(system, RigidFrames(system), has_contact=False)
    return system, watch, system.initial_state()


def momenta(system: System, state: State) -> np.ndarray:
    momentum = system.mass * state.velocities
    turning = torch.linalg.cross(state.positions, momentum, dim=0)
    return torch.cat([momentum.sum(1), turning.sum(1)]).numpy()


@IMPLICIT
@pytest.mark.parametrize(("young", "rate"), [(1e4, 60.0), (1e5, 60.0), (1e4, 20.0)])
def test_a_soft_body_that_spins_fast_gains_no_energy(
    integrator: Integrator, young: float, rate: float
) -> None:
    body = cube(young, angular_velocity=(0.0, 0.0, rate))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), integrator)
    energy = simulator.system.energies(simulator.state).total
    start = momenta(simulator.system, simulator.state)
    most = max(frame.report.energies.total for frame in simulator.run(24))
    assert most < (1.0 + 2.0 * GAIN_RATIO) * energy
    end = momenta(simulator.system, simulator.state)
    np.testing.assert_allclose(end, start, atol=1e-3 * np.abs(start).max())


def test_energy_beyond_the_limit_is_taken_from_the_motion_within_bodies() -> None:
    system, watch, before = watched(
        cube(angular_velocity=(1.0, 2.0, 3.0), velocity=(1.0, 0.0, 0.0)), cube(velocity=(0, 5, 0))
    )
    generator = torch.Generator().manual_seed(3)
    kick = torch.randn(before.velocities.shape, generator=generator, dtype=torch.float64)
    start = system.energies(before).total
    before = replace(before, energy_limit=start)
    after = replace(before, velocities=before.velocities + kick)
    kicked = system.energies(after)
    held = watch.after_step(before, after, 0.01, touched=False)
    end = system.energies(held).total
    assert end == pytest.approx(start + GAIN_RATIO * kicked.kinetic, rel=1e-9)
    np.testing.assert_allclose(momenta(system, held), momenta(system, after), atol=1e-9)
    # Below the limit, all stays.
    high = replace(before, energy_limit=2.0 * kicked.total)
    assert torch.equal(watch.after_step(high, after, 0.01, False).velocities, after.velocities)


def test_what_surfaces_give_is_no_energy_out_of_nothing() -> None:
    system, _, before = watched(cube())
    watch = EnergyWatch(system, RigidFrames(system), has_contact=True)
    pushed = replace(before, velocities=before.velocities + 1.0, energy_limit=0.0)
    touched = watch.after_step(replace(before, energy_limit=0.0), pushed, 0.01, touched=True)
    assert touched.energy_limit is None
    free = watch.after_step(touched, touched, 0.01, touched=False)
    assert free.energy_limit == system.energies(touched).total
    assert torch.equal(free.velocities, pushed.velocities)


@pytest.mark.parametrize("kind", ["field", "pins", "attached"])
def test_what_is_driven_is_not_held(kind: str) -> None:
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2))
    corner = mesh.vertices[:1]
    bodies = [cube()]
    scene: dict[str, Any] = {}
    if kind == "pins":
        path = np.stack([corner, corner + 1.0])
        bodies = [cube(pinned=[0], pin_path=path)]
    elif kind == "field":
        scene = {"gravity": np.array([[0.0, 0, 0], [0.0, 0, -9.81]])}
    else:
        other = SoftBody(block((2, 2, 2), (0.2, 0.2, 0.2), (0.2, 0, 0)), StableNeoHookean(1e4, 0.4))
        bodies = [cube(), other]
        scene = {"attachments": [Attachment(1, [0], 0)]}
    assert not watched(*bodies, **scene)[1].is_possible
    assert watched(cube(pinned=[0]))[1].is_possible


@IMPLICIT
def test_what_steps_lose_without_damping_is_the_whole_change_of_energy(
    integrator: Integrator,
) -> None:
    body = cube(1e4, angular_velocity=(0.0, 0.0, 10.0))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), integrator)
    start = simulator.system.energies(simulator.state).total
    lost = 0.0
    for frame in simulator.run(12):
        lost += frame.report.solver_statistics.lost_energy
        end = frame.report.energies.total
    assert lost == pytest.approx(start - end, rel=1e-6)
    assert lost > 1e-3 * start


def test_what_damping_takes_is_not_lost() -> None:
    rate, seconds = 0.5, 0.5
    body = cube(1e6, velocity=(1.0, 2.0, 0.0), damping=rate)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), SDIRK2())
    start = simulator.system.energies(simulator.state).total
    frames = list(simulator.run(int(seconds * 24)))
    end = frames[-1].report.energies.total
    assert end == pytest.approx(start * math.exp(-2.0 * rate * seconds), rel=1e-3)
    lost = sum(frame.report.solver_statistics.lost_energy for frame in frames)
    assert abs(lost) < 1e-3 * start


def test_a_viscous_wobble_is_not_lost_where_steps_show_it() -> None:
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2))
    body = SoftBody(
        mesh,
        StableNeoHookean(1e4, 0.3),
        initial_positions=mesh.vertices * [1.1, 1.0, 1.0],
        viscosity=10.0,
    )
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), SDIRK2(), substeps=16)
    start = simulator.system.energies(simulator.state).total
    frames = list(simulator.run(8))
    gone = start - frames[-1].report.energies.total
    lost = sum(frame.report.solver_statistics.lost_energy for frame in frames)
    assert gone > 0.5 * start
    assert abs(lost) < 0.1 * gone


def test_the_limit_is_carried_on_by_a_checkpoint() -> None:
    scene = Scene([cube(angular_velocity=(0, 0, 20.0))], gravity=WEIGHTLESS, contact=Contact())
    simulator = Simulator(scene, SDIRK2())
    list(simulator.run(2))
    state = simulator.state
    assert state.energy_limit is not None
    restored = state.restored(state.frame, state.to_arrays())
    assert restored.energy_limit == state.energy_limit
    fresh = replace(state, energy_limit=None)
    assert fresh.restored(2, fresh.to_arrays()).energy_limit is None


def test_on_the_ground_nothing_is_told_of_losses() -> None:
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2), (0.0, 0.0, 0.001))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), velocity=(1.0, 0.0, 0.0))
    simulator = Simulator(Scene([body], ground=Ground(friction=0.5)), SDIRK2())
    frames = list(simulator.run(6))[1:]
    assert [frame.report.solver_statistics.lost_energy for frame in frames] == [0.0] * 5


# μ = 1e5 and λ = 1.5e5 Pa; a corner cut off a cube of 2 m.
YOUNG, POISSON, MU, LAMBDA, VOLUME, DENSITY = 2.6e5, 0.3, 1e5, 1.5e5, 4.0 / 3.0, 30.0
# Of the gradients of its four shape functions, in 1/m².
SQUARES = 6.0 / 4.0
NOTHING = Energies(0.0, 0.0, 0.0, 0.0)


EPSILON = torch.finfo(torch.float64).eps


def rounding(tets: int = 1) -> EnergyRounding:
    corners = 2.0 * np.vstack([np.zeros(3), np.eye(3)])
    mesh = TetMesh(np.tile(corners, (tets, 1)), np.arange(4 * tets).reshape(tets, 4))
    body = SoftBody(mesh, StVenantKirchhoff(YOUNG, POISSON), DENSITY)
    scene = Scene([body], gravity=(0.0, 6.0, -8.0))
    return EnergyRounding(System(scene, torch.device("cpu"), torch.float64))


def at(farthest: float) -> torch.Tensor:
    return torch.tensor([[1.0, 0.0], [0.0, 0.5], [-farthest, 0.0]]).double() * (farthest > 0)


def test_what_cancels_at_rest_and_all_that_is_added_up_are_known_to_a_rounding() -> None:
    unit = MARGIN_FACTOR * EPSILON
    for tets in (1, 3):
        rest = rounding(tets).joules(NOTHING, at(0.0), 5)
        assert rest == pytest.approx(unit * tets * 2.0 * MU * VOLUME, rel=1e-6)
    more = rounding().joules(Energies(3e6, -5e6, 7e9, 11e6), at(0.0), 5)
    assert more == pytest.approx(unit * (2.0 * MU * VOLUME + 19e6), rel=1e-6)


def test_far_away_weight_and_strain_are_known_to_a_rounding_of_the_place() -> None:
    unit, far = MARGIN_FACTOR * EPSILON, 1e3
    weight, strained = 10.0 * DENSITY * VOLUME, 2.0 * MU * VOLUME * math.sqrt(SQUARES)
    near, away = (rounding().joules(NOTHING, at(x), 0) for x in (0.0, far))
    assert away - near == pytest.approx(unit * far * (weight + strained), rel=1e-6)


def test_each_step_moves_vertices_by_a_rounding_of_the_place() -> None:
    still, moved = (rounding().joules(NOTHING, at(1e12), k) for k in (0, 7))
    step = EPSILON * 1e12
    energy = (LAMBDA + 2.0 * MU) * VOLUME * SQUARES * step * step
    assert moved - still == pytest.approx(7 * MARGIN_FACTOR * energy, rel=1e-5)


@pytest.mark.parametrize("kinetic", [math.inf, math.nan])
def test_what_has_no_number_hides_no_growth(kinetic) -> None:
    energies = Energies(kinetic, 0.0, 0.0, 0.0)
    assert rounding().joules(energies, at(1.0), 5) == 0.0
