# SPDX-License-Identifier: GPL-3.0-or-later
"""Impacts are known beforehand, and bodies come back from them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import (
    Collider,
    Contact,
    Ground,
    InstabilityError,
    Plasticity,
    Scene,
    Simulator,
    SoftBody,
    TetMesh,
    tetrahedralize,
)
from supple.core.integrators import (
    SDIRK2,
    Automatic,
    Integrator,
    SymplecticEuler,
    automatic,
    explicit_stepper,
    implicit_stepper,
)
from supple.core.integrators.impacts import MAX_IMPACT_STEPS, Impact, Impacts
from supple.core.integrators.implicit_stepper import ImplicitStepper
from supple.core.integrators.unhindered_motion import UnhinderedMotion
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.tests.core.balls import ball_surface

PLATE = np.array([[-2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [2.0, 2.0, 0.0], [-2.0, 2.0, 0.0]])
FRAME = 1.0 / 24.0


def ball(
    height: float, speed: float = 0.0, young: float = 1e6, edge: float = 0.03, **options
) -> SoftBody:
    """10 cm wide, so high above the ground."""
    points, faces = ball_surface(3, 0.05)
    mesh = tetrahedralize(points, faces, edge_length=edge)
    lifted = mesh.vertices + np.array([0.0, 0.0, height - mesh.vertices[:, 2].min()])
    mesh = TetMesh(lifted, mesh.tets)
    material = StableNeoHookean(young, 0.45)
    return SoftBody(mesh, material, name="Ball", velocity=(0.0, 0.0, -speed), **options)


def dropped(on: str, bodies: list[SoftBody], integrator: Integrator, **options) -> Simulator:
    if on == "ground":
        return Simulator(Scene(bodies, Ground()), integrator, **options)
    plate = Collider(PLATE, np.array([[0, 1, 2], [0, 2, 3]]))
    return Simulator(Scene(bodies, colliders=[plate], contact=Contact()), integrator, **options)


def first_impact(simulator: Simulator, seconds: float = FRAME) -> Impact | None:
    stepper, system, state = simulator.stepper, simulator.system, simulator.state
    assert isinstance(stepper, ImplicitStepper)
    contact = MeshContact(system.scene, system.meshes, 1.0) if system.scene.contact else None
    unhindered = UnhinderedMotion(system, stepper.frames).of(state, seconds, 0, 1.0)
    still = None if contact is None else np.zeros_like(contact.surface.colliders_at(0, 0.0))
    return Impacts(system, stepper.frames, contact).first(state, seconds, unhindered, still)


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_when_a_ball_will_hit_and_for_how_long_is_known(on: str) -> None:
    """Free fall tells when, and Hertz's theory of a ball on a plane for how long."""
    height, speed, young = 0.1, 4.0, 1e6
    simulator = dropped(on, [ball(height, speed, young)], SDIRK2())
    found = first_impact(simulator)
    assert found is not None
    falls = (math.sqrt(speed**2 + 2.0 * 9.81 * height) - speed) / 9.81
    assert found.seconds == pytest.approx(falls, abs=0.002)
    mass = float(simulator.system.mass.sum())
    modulus, fastest = young / (1.0 - 0.45**2), speed + 9.81 * falls
    hertz = 2.87 * (mass**2 / (0.05 * modulus**2 * fastest)) ** 0.2
    assert found.contact_seconds == pytest.approx(hertz, rel=0.05)


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_what_rests_falls_short_or_leaves_hits_nothing(on: str) -> None:
    assert first_impact(dropped(on, [ball(0.0003)], SDIRK2())) is None
    assert first_impact(dropped(on, [ball(1.0, 4.0)], SDIRK2())) is None
    assert first_impact(dropped(on, [ball(0.01, -4.0)], SDIRK2())) is None


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_what_flows_does_not_spring_back(on: str) -> None:
    simulator = dropped(on, [ball(0.1, 4.0, plasticity=Plasticity(1e4))], SDIRK2())
    assert first_impact(simulator) is None


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_what_rolls_hits_nothing(on: str) -> None:
    rolling = replace(
        ball(0.0003, edge=0.012), velocity=(0.5, 0.0, 0.0), angular_velocity=(0.0, 0.5 / 0.05, 0.0)
    )
    assert first_impact(dropped(on, [rolling], SDIRK2())) is None


def rebound(on: str, integrator: Integrator) -> tuple[float, list[str]]:
    """The height to which a ball comes back, in metres, and what took each frame."""
    simulator, heights, took = dropped(on, [ball(0.3)], integrator), [], []
    mass = simulator.system.mass
    for frame in simulator.run(14):
        middle = (mass * simulator.state.positions[2]).sum() / mass.sum()
        heights.append(float(middle) - 0.05)
        took.append(frame.report.integrator)
        statistics = simulator.state.solver_statistics
        assert statistics.steps <= MAX_IMPACT_STEPS + 1
    return max(heights[int(np.argmin(heights)) :]), took


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_a_ball_comes_back_as_high_as_in_explicit_steps(on: str) -> None:
    exact, _ = rebound(on, SymplecticEuler())
    assert exact > 0.18
    assert rebound(on, SDIRK2())[0] == pytest.approx(exact, abs=0.025)


@pytest.mark.parametrize("on", ["ground", "plate"])
def test_automatic_takes_an_impact_in_explicit_steps_where_they_are_quicker(on: str) -> None:
    """It falls for 0.247 s, 5.93 frames, and touches for 6 ms."""
    exact, _ = rebound(on, SymplecticEuler())
    height, took = rebound(on, Automatic())
    assert height == pytest.approx(exact, abs=0.01)
    assert took == ["SDIRK2"] * 5 + ["Symplectic Euler"] * 2 + ["SDIRK2"] * 7


def test_automatic_takes_an_impact_in_implicit_steps_where_they_are_quicker() -> None:
    stiff = dropped("ground", [ball(0.02, 3.0, 1e10)], Automatic())
    (frame,) = stiff.run(1)
    assert frame.report.integrator == "SDIRK2"
    assert frame.report.solver_statistics.steps > 1


def test_an_impact_goes_on_in_explicit_steps_until_its_contact_ends_and_resumes_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames are shorter than the contact of some 20 ms. Implicit steps take free flight."""
    monkeypatch.setattr(automatic, "COST_RATIO", 0.0)

    def simulator() -> Simulator:
        return dropped("ground", [ball(0.014, 3.0, 1e5)], Automatic(), frame_time=0.004)

    whole, again = simulator(), simulator()
    took = [frame.report.integrator for frame in whole.run(3)]
    assert took[0] == "SDIRK2" and took[2] == "Symplectic Euler"
    again.state = again.state.restored(3, whole.state.to_arrays())
    assert again.state.impact_seconds == whole.state.impact_seconds > 0.0
    took = [frame.report.integrator for frame in whole.run(12)]
    list(again.run(12))
    assert torch.equal(whole.state.positions, again.state.positions)
    assert took[:3] == ["Symplectic Euler"] * 3 and took[-1] == "SDIRK2"


def test_an_impact_whose_explicit_steps_diverge_is_taken_in_implicit_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def diverge(*_: object) -> None:
        raise InstabilityError("It diverged.")

    simulator = dropped("ground", [ball(0.02, 3.0)], Automatic())
    monkeypatch.setattr(explicit_stepper.ExplicitStepper, "advance", diverge)
    (frame,) = simulator.run(1)
    assert frame.report.integrator == "SDIRK2"
    assert frame.report.solver_statistics.steps > 1
    assert not simulator.state.gave_up


def test_two_balls_swap_their_speeds() -> None:
    """A head-on hit of equals: what comes stops, and momentum stays."""
    still, coming = ball(0.0), ball(0.13, 3.0)
    scene = Scene([still, coming], gravity=(0.0, 0.0, 0.0), contact=Contact(friction=0.0))
    simulator = Simulator(scene, SDIRK2())
    system = simulator.system
    start = float((system.mass * simulator.state.velocities[2]).sum())
    list(simulator.run(2))
    speeds = [
        float((system.mass[where] * simulator.state.velocities[2, where]).sum())
        for where in system.body_slices()
    ]
    assert sum(speeds) == pytest.approx(start, rel=1e-6)
    assert speeds[0] / start > 0.85


def test_a_kill_in_the_middle_of_an_impact_resumes_to_the_same_bits() -> None:
    whole = dropped("ground", [ball(0.02, 3.0, 1e5)], SDIRK2(), frame_time=0.01)
    list(whole.run(1))
    assert whole.state.impact_seconds > 0.0
    again = dropped("ground", [ball(0.02, 3.0, 1e5)], SDIRK2(), frame_time=0.01)
    again.state = again.state.restored(1, whole.state.to_arrays())
    list(whole.run(2))
    list(again.run(2))
    assert torch.equal(whole.state.positions, again.state.positions)


def test_with_steps_given_there_are_no_others() -> None:
    simulator = dropped("ground", [ball(0.02, 3.0)], SDIRK2(), substeps=2)
    *_, last = simulator.run(1)
    assert last.report.solver_statistics.steps == 2


def test_an_impact_that_takes_too_many_newton_steps_ends_with_one_step_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The budget of a frame is three Newton steps, and the impact needs more."""
    monkeypatch.setattr(implicit_stepper, "MAX_CONTACT_ITERATIONS", 3)
    monkeypatch.setattr(implicit_stepper, "MIN_ITERATIONS", 1)
    monkeypatch.setattr(implicit_stepper, "PART_ITERATIONS_FACTOR", 1)
    simulator = dropped("plate", [ball(0.02, 6.0, 1e4)], SDIRK2())
    *_, last = simulator.run(1)
    assert not last.report.solver_statistics.converged
    assert last.report.solver_statistics.steps <= 4
