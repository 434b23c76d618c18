# SPDX-License-Identifier: GPL-3.0-or-later
"""Springs and dashpots to goals against closed forms: of a body that they hold as a whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Channel, Goals, Scene, Simulator, Skin, SoftBody, SurfaceMesh, TetMesh
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, RungeKutta4, SymplecticEuler
from supple.core.integrators.explicit_stepper import ExplicitStepper
from supple.core.integrators.stability import spectrum
from supple.core.materials import StableNeoHookean
from supple.core.potentials.goals import GoalSprings
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners

TET = TetMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
STIFF = StableNeoHookean(1e4, 0.3)
FREQUENCY, RATIO = 2.0, 0.1
OMEGA = 2.0 * math.pi * FREQUENCY
GRAVITY = 9.81
FRAME_TIME = 1.0 / 24.0


def body(targets=TET.vertices, weight=1.0, ratio=RATIO, **more) -> SoftBody:
    goals = Goals(np.arange(4), targets, weight, FREQUENCY, ratio)
    return SoftBody(TET, STIFF, goals=goals, **more)


def simulator(scene, integrator=None, substeps=None) -> Simulator:
    return Simulator(scene, integrator, frame_time=FRAME_TIME, substeps=substeps, device="cpu")


def height(frame) -> float:
    return float(frame.positions[0][:, 2].mean() - TET.vertices[:, 2].mean())


def damped_fall(time: float, weight: float, ratio: float) -> float:
    """The height some time after the body was let go on its goals."""
    omega = OMEGA * math.sqrt(weight)
    damped, decay = omega * math.sqrt(1.0 - ratio**2), ratio * omega
    swing = math.cos(damped * time) + decay / damped * math.sin(damped * time)
    return -GRAVITY / omega**2 * (1.0 - math.exp(-decay * time) * swing)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_gravity_pulls_a_body_below_its_goals_as_far_as_its_frequency_says(weight) -> None:
    frame = simulator(Scene([body(weight=weight)])).settle()
    assert height(frame) == pytest.approx(-GRAVITY / (weight * OMEGA**2), rel=1e-6)


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [
        (SymplecticEuler(), 400),
        (RungeKutta4(), 4),
        (BDF2(), 60),
        (SDIRK2(), 20),
        (ImplicitEuler(), 100),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(("weight", "ratio"), [(1.0, RATIO), (0.25, 0.6)])
def test_a_body_swings_about_its_goals_as_a_damped_oscillator(
    integrator, substeps, weight, ratio
) -> None:
    scene = Scene([body(weight=weight, ratio=ratio)])
    depth = GRAVITY / (weight * OMEGA**2)
    tolerance = 1.5e-2 if isinstance(integrator, ImplicitEuler) else 1e-3
    for frame in simulator(scene, integrator, substeps).run(3):
        expected = damped_fall(frame.time, weight, ratio)
        assert height(frame) == pytest.approx(expected, abs=tolerance * depth)


def test_energy_is_kept_without_damping() -> None:
    sim = simulator(Scene([body(ratio=0.0)]), SymplecticEuler(), 400)
    before = sim.frame().report.energies.total
    deepest = GRAVITY * float(sim.system.mass.sum()) * GRAVITY / OMEGA**2
    for frame in sim.run(12):
        assert frame.report.energies.total == pytest.approx(before, abs=2e-3 * deepest)


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [(SymplecticEuler(), 50), (ImplicitEuler(), 3), (BDF2(), 3), (SDIRK2(), 3)],
)
@pytest.mark.parametrize("per_frame", [1, 2])
def test_what_goes_with_its_goals_is_not_slowed(integrator, substeps, per_frame) -> None:
    speed = np.array([2.4, 0.0, -1.2])
    step = speed * FRAME_TIME / per_frame
    targets = Channel(TET.vertices + np.arange(20 * per_frame)[:, None, None] * step, per_frame)
    moving = body(targets, ratio=1.0, velocity=speed)
    sim = simulator(Scene([moving], gravity=(0.0, 0.0, 0.0)), integrator, substeps)
    *_, frame = sim.run(5)
    np.testing.assert_allclose(frame.positions[0], targets.at(5), atol=1e-9)


def test_dashpots_draw_a_body_along_with_its_goals() -> None:
    """Critically damped, it lags v t e^(−ωt) behind targets that set off with v."""
    speed = 2.4
    path = np.arange(20)[:, None, None] * np.array([speed * FRAME_TIME, 0.0, 0.0])
    scene = Scene([body(TET.vertices + path, ratio=1.0)], gravity=(0.0, 0.0, 0.0))
    for frame in simulator(scene, SymplecticEuler(), 400).run(8):
        lag = speed * frame.time * math.exp(-OMEGA * frame.time)
        at = float(frame.positions[0][:, 0].mean() - TET.vertices[:, 0].mean())
        assert at == pytest.approx(speed * frame.time - lag, abs=1e-3 * speed / OMEGA)


def test_what_moving_goals_do_is_in_the_balance_that_tells_of_divergence() -> None:
    """A body of mass M that is drawn along from rest with V ends with ½ M V², and so much springs
    and dashpots have given it together, less what the dashpots kept."""
    step = np.array([0.5, 0.0, 0.0])
    path = np.arange(60)[:, None, None] * step
    scene = Scene([body(TET.vertices + path, ratio=0.5)], gravity=(0.0, 0.0, 0.0))
    sim = simulator(scene, SymplecticEuler(), 600)
    stepper = sim.stepper
    assert isinstance(stepper, ExplicitStepper)
    given = 0.0
    for _ in range(16):
        sim.state, work, raised = stepper._frame(sim.state)
        given += work + raised
    kinetic = 0.5 * float(sim.system.mass.sum()) * (0.5 / FRAME_TIME) ** 2
    assert sim.frame().report.energies.total == pytest.approx(kinetic, rel=1e-2)
    # It is counted to first order in the step.
    assert given == pytest.approx(kinetic, rel=1e-2)


def test_stiff_goals_shorten_explicit_steps() -> None:
    goals = Goals(np.arange(4), TET.vertices, 1.0, 500.0, 2.0)
    system = simulator(Scene([SoftBody(TET, STIFF, goals=goals)])).system
    found = spectrum(system)
    assert found.frequency == pytest.approx(2.0 * math.pi * 500.0, rel=0.02)
    assert found.viscous_rate == pytest.approx(2.0 * 2.0 * 2.0 * math.pi * 500.0, rel=1e-6)


CUBE = box_corners()


def test_goals_of_a_skin_hold_its_body_as_a_whole() -> None:
    """Whatever its tets: the masses of the points sum to that of the body."""
    goals = Goals(np.arange(8), CUBE, 1.0, FREQUENCY)
    skin = Skin(CUBE, goals=goals)
    mesh = SurfaceMesh(CUBE, BOX_TRIANGLES, edge_length=0.5)
    sim = simulator(Scene([SoftBody(mesh, StableNeoHookean(1e8, 0.3), skin=skin)]))
    frame = sim.settle()
    assert len(frame.positions[0]) > 20
    seen = sim.scene.bodies[0].skin.embedding.interpolate(frame.positions[0])
    # Its corners differ a little by how many tets meet there.
    np.testing.assert_allclose(seen[:, :2], CUBE[:, :2], atol=2e-3)
    assert (CUBE - seen)[:, 2].mean() == pytest.approx(GRAVITY / OMEGA**2, rel=2e-3)


def test_a_goal_of_a_skin_acts_on_the_point_itself() -> None:
    """Weightless, all that pulls is one goal away from the point: the point comes to it."""
    goals = Goals([7], CUBE[[7]] + [0.1, 0.0, 0.3], 0.5, FREQUENCY)
    skin = Skin(CUBE, goals=goals)
    mesh = SurfaceMesh(CUBE, BOX_TRIANGLES, edge_length=0.5)
    scene = Scene([SoftBody(mesh, StableNeoHookean(1e5, 0.3), skin=skin)], gravity=(0.0, 0.0, 0.0))
    sim = simulator(scene)
    frame = sim.settle()
    seen = sim.scene.bodies[0].skin.embedding.interpolate(frame.positions[0])
    np.testing.assert_allclose(seen[7], goals.targets.at(0)[0], atol=1e-5)


def test_without_compiled_loops_it_comes_to_the_same(without_compiled_loops) -> None:
    for frame in simulator(Scene([body()]), BDF2(), 60).run(1):
        expected = damped_fall(frame.time, 1.0, RATIO)
        assert height(frame) == pytest.approx(expected, abs=1e-3 * GRAVITY / OMEGA**2)


@pytest.mark.parametrize("by_time", [True, False])
def test_vertices_are_pulled_as_the_points_that_they_carry(by_time: bool) -> None:
    surface = SurfaceMesh(box_corners((0.4, 0.3, 0.2)), BOX_TRIANGLES, edge_length=0.1)
    path = surface.vertices + np.array([[0.0], [0.3], [0.5]])[..., None] * [1.0, -2.0, 0.5]
    goals = Goals(np.array([0, 3, 4, 6]), path[:, [0, 3, 4, 6]], [1.0, 0.5, 0.2, 0.7], FREQUENCY)
    held = SoftBody(surface, STIFF, skin=Skin(surface.vertices, goals=goals))
    system = simulator(Scene([held])).system
    (springs,) = (force for force in system.forces if isinstance(force, GoalSprings))
    positions = system.rest_positions() + 0.1 * torch.rand(3, system.vertex_count).double()
    targets, expected = springs.at(1, 0.25), torch.zeros_like(positions)
    if by_time:
        springs.go_to(1, 0.25)
    else:
        springs.act(targets)
    springs.goals.points.add_pulls(positions, targets, springs.goals.stiffness, expected)
    scale = float(expected.abs().max())
    np.testing.assert_allclose(springs.gradient(positions), expected, atol=1e-12 * scale)
    assert float(springs.energy(positions)) == pytest.approx(
        float(springs.energy_with(targets, positions)), rel=1e-14
    )
