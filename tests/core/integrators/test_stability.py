# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import torch

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import Automatic, ImplicitEuler, SymplecticEuler, automatic
from supple.core.integrators.stability import slowest_frequency, spectrum, spectrum_at
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.verification.meshes import block

CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
def test_the_highest_frequency_is_the_root_of_the_largest_dense_eigenvalue(poisson: float) -> None:
    material = StableNeoHookean(1e5, poisson)
    mesh = TetMesh(CORNER, [[0, 1, 2, 3]])
    system = System(Scene([SoftBody(mesh, material)]), torch.device("cpu"), torch.float64)
    b = mesh.shape_gradients[0]
    mu, lam = material.mu, material.lam
    stiffness = np.zeros((4, 3, 4, 3))
    for p in range(4):
        for q in range(4):
            stiffness[p, :, q, :] = mesh.rest_volumes[0] * (
                lam * np.outer(b[p], b[q])
                + mu * np.outer(b[q], b[p])
                + mu * (b[p] @ b[q]) * np.eye(3)
            )
    mass = 1000.0 * mesh.rest_volumes[0] / 4
    highest = np.linalg.eigvalsh(stiffness.reshape(12, 12))[-1] / mass
    assert spectrum(system).frequency == pytest.approx(math.sqrt(highest), rel=1e-3)


def test_the_longest_wave_period_scales_with_edge_over_wave_speed(make_block) -> None:
    def period(size: float, young: float) -> float:
        body = SoftBody(make_block(size=(size, size, size)), StableNeoHookean(young, 0.3))
        return 1.0 / spectrum(System(Scene([body]), torch.device("cpu"), torch.float64)).frequency

    assert period(2.0, 1e4) / period(1.0, 1e4) == pytest.approx(2.0, rel=1e-3)
    assert period(1.0, 1e4) / period(1.0, 1e6) == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
def test_what_is_deformed_vibrates_as_its_dense_hessian_there_says(stretch: float) -> None:
    body = SoftBody(block((3, 2, 2), (0.3, 0.2, 0.2), (0.0, 0.0, 0.0)), StableNeoHookean(1e5, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    positions = system.rest_positions()
    positions[0] *= stretch
    objective = IncrementalPotential(system, with_contact=False)
    # Of so long a step that inertia adds nothing.
    objective.begin_static_step(positions, 1e9, 1e9)
    hessian = objective.hessian(positions, False)
    mass = system.mass[objective.pattern.vertices].repeat_interleave(3)
    scaled = dense(hessian).reshape(len(mass), len(mass)) / (mass[:, None] * mass).sqrt()
    highest = float(torch.linalg.eigvalsh(scaled)[-1])
    assert spectrum_at(system, positions).frequency == pytest.approx(math.sqrt(highest), rel=0.06)


def test_viscous_forces_of_what_is_stretched_grow_with_the_square_of_its_length() -> None:
    """The rate of Green's strain goes with the stretch, and so does the force that answers it."""
    body = SoftBody(
        block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.0)),
        StableNeoHookean(1e5, 0.0),
        viscosity=50.0,
    )
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    rest = system.rest_positions()
    ratio = spectrum_at(system, 2.0 * rest).viscous_rate / spectrum_at(system, rest).viscous_rate
    assert ratio == pytest.approx(4.0, rel=0.05)


def bar(young: float, cells: int = 2, is_pinned: bool = True) -> SoftBody:
    """A bar of 1 m, held at one end."""
    mesh = block((10 * cells, cells, cells), (1.0, 0.1, 0.1), (0.0, 0.0, 1.0))
    pinned = np.flatnonzero(mesh.vertices[:, 0] < 1e-9) if is_pinned else None
    return SoftBody(mesh, StableNeoHookean(young, 0.3), pinned=pinned)


def dense_frequencies(system) -> np.ndarray:
    """The (n,) frequencies of the vertices that move, by differences of forces, in rad/s."""
    rest, free = system.rest_positions(), torch.nonzero(system.free).ravel()
    columns = []
    for component in range(3):
        for vertex in free.tolist():
            forces = []
            for sign in (1.0, -1.0):
                moved, gradient = rest.clone(), torch.zeros_like(rest)
                moved[component, vertex] += sign * 1e-6
                system.add_gradient(moved, gradient)
                forces.append(gradient[:, free].ravel())
            columns.append(((forces[0] - forces[1]) / 2e-6).numpy())
    stiffness = np.stack(columns)
    mass = np.diag(np.tile(system.mass[free].numpy(), 3))
    squares = scipy.linalg.eigvalsh(0.5 * (stiffness + stiffness.T), mass)
    return np.sqrt(np.maximum(squares, 0.0))


@pytest.mark.parametrize("is_pinned", [True, False])
def test_it_is_the_lowest_eigenvalue_rigid_motions_left_out(is_pinned) -> None:
    body = bar(1e5, 1, is_pinned)
    system = Simulator(Scene([body]), ImplicitEuler(), device="cpu").system
    expected = dense_frequencies(system)[0 if is_pinned else 6]
    assert slowest_frequency(system) == pytest.approx(expected, rel=0.03)


def test_of_several_bodies_it_is_that_of_the_slowest() -> None:
    slow = Simulator(Scene([bar(1e5, 1)]), device="cpu").system
    both = Simulator(Scene([bar(4e6, 1), bar(1e5, 1)]), device="cpu").system
    assert slowest_frequency(both) == pytest.approx(slowest_frequency(slow), rel=0.03)


def tip_heights(integrator, frames: int) -> np.ndarray:
    """The (frames,) heights in a second, of the end of a bar that is let go."""
    body = bar(4e6)
    end = body.mesh.vertices[:, 0] > 1.0 - 1e-9
    sim = Simulator(Scene([body]), integrator, frame_time=1.0 / frames, device="cpu")
    return np.array([float(f.positions[0][end, 2].mean()) for f in sim.run(frames)])


@pytest.mark.parametrize("explicit_s", [automatic.EXPLICIT_STEP_S, (1.0, 0.0)], ids=["", "SDIRK2"])
def test_a_bar_swings_alike_at_any_frame_rate(monkeypatch, explicit_s) -> None:
    """Whether explicit steps are quick or take far too long. One step of implicit Euler a frame
    ends a third of the way off at 12 frames a second."""
    exact = tip_heights(SymplecticEuler(), 24)
    travel = float(np.ptp(exact))
    assert abs(tip_heights(ImplicitEuler(), 12)[-1] - exact[-1]) > 0.15 * travel
    monkeypatch.setattr(automatic, "EXPLICIT_STEP_S", explicit_s)
    for rate in (12, 24, 60):
        assert abs(tip_heights(Automatic(), rate)[-1] - exact[-1]) < 0.05 * travel


def test_a_wobble_takes_as_many_steps_as_it_needs_and_what_is_too_fast_one(monkeypatch) -> None:
    monkeypatch.setattr(automatic, "EXPLICIT_STEP_S", (1.0, 0.0))
    found = {}
    for young in (1e8, 1e10):
        system = Simulator(Scene([bar(young)]), device="cpu").system
        stepper = Automatic().stepper(system, None)
        assert stepper.label == "SDIRK2"
        found[young] = stepper.substeps, slowest_frequency(system) / 24.0
    assert found[1e10][0] == 1
    assert found[1e10][1] > np.pi
    steps, turn = found[1e8]
    assert 1 < steps < automatic.MAX_LIVELY_STEPS
    assert turn / steps <= automatic.MAX_TURN_RAD < turn / (steps - 1)
