# SPDX-License-Identifier: GPL-3.0-or-later
"""The slowest vibration of a system beside a dense eigenvalue problem, and what Automatic makes of
it: the same motion at any frame rate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import Automatic, ImplicitEuler, SymplecticEuler, automatic
from supple.core.integrators.stability import slowest_frequency
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block


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


def test_a_wobble_takes_as_many_steps_as_it_needs_and_what_is_too_fast_one(
    monkeypatch,
) -> None:
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
