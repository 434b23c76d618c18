# SPDX-License-Identifier: GPL-3.0-or-later
"""Gravity that changes from frame to frame, beside what theory says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Channel, Contact, Ground, InstabilityError, Scene, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.job import Job, Settings, digest
from supple.core.materials import StableNeoHookean
from supple.core.system import System
from supple.tests.core.job_runs import check_same_bytes_in_parts

FRAME, FRAMES = 1.0 / 24.0, 5
#: In m/s² at the start and after each frame; from frame 3 on it stays.
GRAVITY = np.array([[1.0, 0.0, -2.0], [0.5, 0.0, -6.0], [0.0, 1.0, 4.0], [0.0, 2.0, -9.0]])
SOFT = StableNeoHookean(1e3, 0.3)

METHODS = {
    "implicit Euler": (ImplicitEuler(tolerance=1e-9), 1),
    "BDF2": (BDF2(tolerance=1e-9), 2),
    "SDIRK2": (SDIRK2(tolerance=1e-9), 2),
    "symplectic Euler": (SymplecticEuler(), 1),
    "midpoint": (Midpoint(), 2),
    "XPBD": (XPBD(), 1),
    "automatic": (Automatic(), 1),
}


def _fall(time: float) -> np.ndarray:
    """The (3,) fall from rest: ∫∫ g, with g linear between frames."""
    fallen, speed = np.zeros(3), np.zeros(3)
    for frame in range(FRAMES):
        h = min(FRAME, time - frame * FRAME)
        if h <= 0.0:
            break
        first, second = (GRAVITY[min(k, len(GRAVITY) - 1)] for k in (frame, frame + 1))
        change = (second - first) / FRAME
        fallen = fallen + h * speed + h**2 * first / 2.0 + h**3 * change / 6.0
        speed = speed + h * first + h**2 * change / 2.0
    return fallen


def _fallen(mesh, integrator: Integrator, substeps: int | None, **options) -> np.ndarray:
    scene = Scene([SoftBody(mesh, SOFT)], gravity=Channel(GRAVITY), **options)
    simulator = Simulator(scene, integrator, frame_time=FRAME, substeps=substeps, device="cpu")
    *_, last = simulator.run(FRAMES)
    moved = last.positions[0].numpy() - mesh.vertices
    assert np.ptp(moved, axis=0).max() < 1e-9
    return moved.mean(axis=0)


@pytest.mark.parametrize("name", METHODS)
def test_what_falls_is_where_it_should_be_but_for_the_order_of_the_method(make_block, name) -> None:
    integrator, order = METHODS[name]
    mesh, expected = make_block((1, 1, 1)), _fall(FRAMES * FRAME)
    coarse, fine = (
        np.abs(_fallen(mesh, integrator, substeps) - expected).max() for substeps in (8, 16)
    )
    assert coarse < 0.2 * np.abs(expected).max()
    assert coarse / fine == pytest.approx(2.0**order, rel=0.1)


@pytest.mark.parametrize("integrator", [RungeKutta4(), Adaptive(RungeKutta4(), 1e-6)])
def test_of_fourth_order_falls_are_exact(make_block, integrator) -> None:
    found = _fallen(make_block((1, 1, 1)), integrator, None)
    np.testing.assert_allclose(found, _fall(FRAMES * FRAME), atol=1e-12)


@pytest.mark.parametrize(
    ("integrator", "begins", "is_implicit"),
    [(SymplecticEuler(), 0, False), (XPBD(), 1, True), (ImplicitEuler(1e-9), 1, True)],
)
def test_euler_schemes_take_gravity_at_one_end_of_each_step(
    make_block, integrator, begins: int, is_implicit: bool
) -> None:
    substeps = 10
    h, fallen, speed = FRAME / substeps, np.zeros(3), np.zeros(3)
    times = (np.arange(FRAMES * substeps) + begins) / substeps
    for gravity in np.stack(
        [np.interp(times, range(len(GRAVITY)), component) for component in GRAVITY.T], axis=1
    ):
        speed = speed + h * gravity
        fallen = fallen + h * speed
    found = _fallen(make_block((1, 1, 1)), integrator, substeps)
    np.testing.assert_allclose(found, fallen, atol=1e-9 if is_implicit else 1e-13)


def test_implicit_steps_with_contact_take_it_too(make_block) -> None:
    mesh = make_block((1, 1, 1))
    expected = _fallen(mesh, ImplicitEuler(1e-9), 4)
    found = _fallen(mesh, ImplicitEuler(1e-9), 4, contact=Contact())
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("gravity", [(1.0, 2.0, -3.0), np.tile([1.0, 2.0, -3.0], (4, 1))])
def test_samples_that_are_all_the_same_are_a_constant(make_block, gravity) -> None:
    scene = Scene([SoftBody(make_block((1, 1, 1)), SOFT)], gravity=(1.0, 2.0, -3.0))
    same = Scene(scene.bodies, gravity=Channel(np.atleast_2d(gravity)))
    for integrator in (ImplicitEuler(), RungeKutta4(), XPBD()):
        first, second = (
            list(Simulator(each, integrator, device="cpu").run(2))[-1].positions[0]
            for each in (scene, same)
        )
        torch.testing.assert_close(first, second, rtol=0.0, atol=1e-12)


# Energy


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
@pytest.mark.parametrize("place", [-500.0, 0.0, 500.0])
def test_what_changes_of_gravity_add_is_all_that_is_gained(make_block, scheme, place) -> None:
    mesh = make_block((1, 1, 1), origin=(0.0, 0.0, place))
    system = System(
        Scene([SoftBody(mesh, SOFT)], gravity=GRAVITY), torch.device("cpu"), torch.float64
    )
    state, count = system.initial_state(), 64
    substep = scheme.make_step(system, FRAME / count)
    substep.begin(state.positions, state.velocities)
    for number in range(count):
        substep.prescribe(0, number / count, (number + 1) / count)
        substep.advance()
    kinetic = 0.5 * float((system.mass * substep.velocities.square()).sum())
    before = float(system.gravity.energy_at(state.positions, 0))
    after = float(system.gravity.energy_at(substep.positions, 1))
    gained = kinetic + after - before - float(substep.raised)
    assert kinetic > 0.0
    assert abs(gained) < (0.05 if scheme.order == 1 else 1e-3) * kinetic


def test_gravity_that_changes_at_once_takes_no_more_substeps(make_block) -> None:
    """However far away from where heights are counted."""
    mesh = make_block((1, 1, 1), origin=(0.0, 0.0, 1000.0))
    gravity = [[0.0, 0.0, 0.0], [0.0, 0.0, -300.0], [0.0, 0.0, 300.0], [0.0, 0.0, 0.0]]
    simulator = Simulator(
        Scene([SoftBody(mesh, SOFT)], gravity=gravity), SymplecticEuler(), device="cpu"
    )
    for frame in simulator.run(4):
        assert frame.report.substeps == simulator.stepper.substeps


def test_the_energy_of_a_frame_is_that_of_its_gravity(make_block) -> None:
    scene = Scene([SoftBody(make_block((1, 1, 1)), SOFT, density=100.0)], gravity=GRAVITY)
    simulator = Simulator(scene, RungeKutta4(), device="cpu")
    mass = simulator.system.mass
    for frame in simulator.run(2):
        weighted = (mass[:, None] * frame.positions[0]).sum(0).numpy()
        expected = -float(GRAVITY[frame.index] @ weighted)
        assert frame.report.energies.gravity == pytest.approx(expected)


# At rest


def test_equilibrium_is_that_of_the_gravity_there_is(make_block) -> None:
    mesh = make_block((2, 2, 2))
    top = np.flatnonzero(mesh.vertices[:, 2] > mesh.vertices[:, 2].max() - 1e-9)

    def simulator(gravity) -> Simulator:
        body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), pinned=top)
        return Simulator(Scene([body], gravity=gravity), device="cpu")

    gravity = np.array([[0.0, 0.0, -9.81], [0.0, 0.0, 3.0]])
    keyed = simulator(gravity)
    at_start = keyed.settle().positions[0]
    torch.testing.assert_close(at_start, simulator((0, 0, -9.81)).settle().positions[0])
    list(keyed.run(1))
    later = keyed.settle().positions[0]
    torch.testing.assert_close(later, simulator((0, 0, 3.0)).settle().positions[0])
    assert float((later - at_start).abs().max()) > 1e-3


def test_what_nothing_pulls_at_the_start_floats_up_later(make_block) -> None:
    scene = Scene(
        [SoftBody(make_block((1, 1, 1), origin=(0.0, 0.0, 0.5)), SOFT)],
        ground=Ground(),
        gravity=[[0.0, 0, 0], [0.0, 0, 0], [0.0, 0, 5.0]],
    )
    frames = Simulator(scene, frame_time=FRAME, device="cpu").run(3)
    first, second, third = (float(frame.positions[0][:, 2].mean()) for frame in frames)
    # Implicit Euler takes what acts at the end of each step.
    assert first == pytest.approx(1.0, abs=1e-6)
    assert second - first == pytest.approx(5.0 * FRAME**2, rel=1e-3)
    assert third - second == pytest.approx(10.0 * FRAME**2, rel=1e-3)


# Files


def _job(folder: Path, mesh, frames: int, integrator: str, **options) -> Job:
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), name="Jelly")
    settings = Settings(frames, device="cpu", integrator=integrator)
    return Job.create(folder, Scene([body], Ground(-0.05), Channel(GRAVITY), **options), settings)


def test_it_comes_back_from_the_folder_as_it_was(make_block, tmp_path: Path) -> None:
    job = _job(tmp_path, make_block((1, 1, 1)), 4, "automatic")
    read = Job(tmp_path)
    assert isinstance(read.scene.gravity, Channel)
    np.testing.assert_array_equal(read.scene.gravity.samples, GRAVITY)
    assert digest(read.scene, read.settings) == digest(job.scene, job.settings)
    other = GRAVITY.copy()
    other[3, 0] += 1e-9
    changed = Scene(read.scene.bodies, read.scene.ground, other)
    assert digest(changed, read.settings) != digest(read.scene, read.settings)


@pytest.mark.parametrize(
    "integrator",
    ["automatic", "implicit_euler", "bdf2", "runge_kutta4", "adaptive_midpoint", "xpbd"],
)
def test_a_job_gone_on_with_has_the_same_bytes(make_block, tmp_path: Path, integrator: str) -> None:
    def make_job(folder: Path, frames: int) -> Job:
        return _job(folder, make_block((1, 1, 1)), frames, integrator)

    check_same_bytes_in_parts(make_job, tmp_path)


def test_steps_too_long_are_told_under_it_too(make_block) -> None:
    scene = Scene([SoftBody(make_block(), StableNeoHookean(1e6, 0.3))], gravity=GRAVITY)
    with pytest.raises(InstabilityError, match="too few"):
        Simulator(scene, SymplecticEuler(), substeps=2, device="cpu")
