# SPDX-License-Identifier: GPL-3.0-or-later
"""Gravity, stiffness and rest shapes that change from frame to frame, beside theory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Contact,
    Ground,
    InstabilityError,
    Plasticity,
    RestShape,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    SurfaceMesh,
)
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
from supple.core.integrators.stability import spectrum
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode, load_scene, save_scene
from supple.core.materials import (
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials import Viscosity
from supple.core.preparation.prepared import prepare
from supple.core.system import System
from supple.tests.core.job_runs import check_same_bytes_in_parts
from supple.verification.meshes import block

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


KEYED_STIFFNESS_FRAME = 1.0 / 24.0
CPU = torch.device("cpu")
YOUNG, STRAIN = 2e4, 0.1
#: At the start and after each frame; from frame 3 on it stays.
FACTORS = np.array([1.0, 3.0, 0.5, 2.0])
WEIGHTLESS = (0.0, 0.0, 0.0)

INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(RungeKutta4(), 1e-6),
    ImplicitEuler(1e-9),
    BDF2(1e-9),
    SDIRK2(1e-9),
    Automatic(),
]


def ends(mesh) -> np.ndarray:
    along = mesh.vertices[:, 0]
    return np.flatnonzero((along == along.min()) | (along == along.max()))


def stretched(make_block, material=None, **options) -> SoftBody:
    """A bar at rest that its ends keep stretched: whatever its stiffness, nothing moves."""
    mesh = make_block((4, 1, 1), (1.0, 0.2, 0.2))
    return SoftBody(
        *(mesh, material or Linear(YOUNG, 0.0)),
        pinned=ends(mesh),
        initial_positions=mesh.vertices * [1.0 + STRAIN, 1.0, 1.0],
        **options,
    )


def hanging(make_block, material, **options) -> SoftBody:
    mesh = make_block((3, 1, 1), (0.6, 0.2, 0.2))
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    return SoftBody(mesh, material, pinned=pinned, **options)


def run(scene: Scene, integrator, frames: int, substeps: int | None = None):
    simulator = Simulator(
        scene, integrator, frame_time=KEYED_STIFFNESS_FRAME, substeps=substeps, device="cpu"
    )
    return list(simulator.run(frames))


# Energy


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_the_energy_of_what_is_held_stretched_goes_with_its_stiffness(make_block, integrator):
    """½ k Y ε² V, and nothing moves."""
    scene = Scene([stretched(make_block, stiffness=Channel(FACTORS))], gravity=WEIGHTLESS)
    expected = 0.5 * YOUNG * STRAIN**2 * 0.2 * 0.2
    for frame in run(scene, integrator, 4):
        energies = frame.report.energies
        factor = FACTORS[min(frame.index, 3)]
        assert energies.elastic == pytest.approx(factor * expected, rel=1e-6)
        assert energies.kinetic < 1e-9 * expected


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_the_energy_put_in_is_the_integral_of_that_of_a_unit_of_stiffness(make_block, scheme):
    """∂E/∂Y dY, where nothing moves."""
    body = stretched(make_block, stiffness=Channel(FACTORS))
    system = System(Scene([body], gravity=WEIGHTLESS), CPU, torch.float64)
    state, count = system.initial_state(), 50
    substep = scheme.make_step(system, KEYED_STIFFNESS_FRAME / count)
    substep.begin(state.positions, state.velocities)
    for number in range(count):
        substep.prescribe(0, number / count, (number + 1) / count)
        substep.advance()
    of_a_unit = 0.5 * STRAIN**2 * 0.2 * 0.2
    put_in = of_a_unit * YOUNG * (FACTORS[1] - FACTORS[0])
    assert float(substep.raised) == pytest.approx(put_in, rel=1e-9)


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_of_what_vibrates_the_energy_put_in_is_all_that_is_gained(make_block, scheme) -> None:
    body = hanging(make_block, StableNeoHookean(YOUNG, 0.3), stiffness=Channel([1.0, 2.0]))
    start = body.mesh.vertices * [1.2, 1.0, 1.0]
    body = replace(body, initial_positions=start)
    system = System(Scene([body], gravity=WEIGHTLESS), CPU, torch.float64)
    state, count = system.initial_state(), 400
    before = system.energies(state)
    substep = scheme.make_step(system, KEYED_STIFFNESS_FRAME / count)
    substep.begin(state.positions, state.velocities)
    for number in range(count):
        substep.prescribe(0, number / count, (number + 1) / count)
        substep.advance()
    after = system.energies(
        replace(state, positions=substep.positions, velocities=substep.velocities, frame=1)
    )
    raised = float(substep.raised)
    assert raised > 0.2 * before.elastic
    assert after.kinetic > 0.1 * before.elastic
    assert after.total - before.total == pytest.approx(raised, rel=0.01)


def test_a_stiffness_that_changes_at_once_takes_no_more_substeps(make_block) -> None:
    scene = Scene([stretched(make_block, stiffness=Channel([1.0, 1.0, 50.0, 0.1]))])
    simulator = Simulator(scene, SymplecticEuler(), frame_time=KEYED_STIFFNESS_FRAME, device="cpu")
    for frame in simulator.run(3):
        assert frame.report.substeps == simulator.stepper.substeps


def test_explicit_steps_are_as_short_as_the_stiffest_frame_wants(make_block) -> None:
    material = StableNeoHookean(YOUNG, 0.3)
    keyed, stiff = (
        Scene([hanging(make_block, *made[:1], **made[1], stiffness_damping=1e-3)])
        for made in (
            (material, {"stiffness": Channel([1.0, 9.0, 1.0])}),
            (replace(material, young=9.0 * YOUNG), {}),
        )
    )
    for scheme in (SymplecticEuler(), Midpoint()):
        counts = [run(scene, scheme, 1)[0].report.substeps for scene in (keyed, stiff)]
        assert counts[0] == counts[1]


# Motion


@pytest.mark.parametrize("integrator", [*INTEGRATORS, XPBD()], ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("material", [StableNeoHookean, StVenantKirchhoff])
def test_a_constant_factor_is_one_on_young_s_modulus(make_block, integrator, material) -> None:
    damping = {} if isinstance(integrator, XPBD) else {"stiffness_damping": 1e-3, "viscosity": 5.0}
    keyed = hanging(make_block, material(YOUNG, 0.3), stiffness=Channel(np.full(4, 2.5)), **damping)
    other = hanging(make_block, material(2.5 * YOUNG, 0.3), **damping)
    first, second = (run(Scene([body]), integrator, 2)[-1].positions[0] for body in (keyed, other))
    assert float((first - torch.as_tensor(keyed.mesh.vertices)).abs().max()) > 0.005
    torch.testing.assert_close(first, second, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [
        (SymplecticEuler(), 400),
        (ImplicitEuler(1e-8), 100),
        (BDF2(1e-8), 40),
        (SDIRK2(1e-8), 40),
        (Midpoint(), 40),
    ],
    ids=lambda p: type(p).__name__,
)
def test_all_integrators_lead_to_the_same_motion(make_block, integrator, substeps) -> None:
    material = StableNeoHookean(YOUNG, 0.3)
    plain = hanging(make_block, material)
    plain = replace(plain, initial_positions=plain.mesh.vertices * [1.2, 1.0, 1.0])
    keyed = Scene([replace(plain, stiffness=Channel([1.0, 6.0]))], gravity=WEIGHTLESS)
    exact = run(keyed, RungeKutta4(), 1, 60)[-1].positions[0]
    found = run(keyed, integrator, 1, substeps)[-1].positions[0]
    unkeyed = run(Scene([plain], gravity=WEIGHTLESS), RungeKutta4(), 1)[-1].positions[0]
    apart = float((unkeyed - exact).abs().max())
    assert apart > 0.02
    assert float((found - exact).abs().max()) < 0.1 * apart


def test_long_steps_of_constraints_take_the_stiffness_of_their_end(make_block) -> None:
    material = StableNeoHookean(YOUNG, 0.3)
    keyed = Scene([hanging(make_block, material, stiffness=Channel([1.0, 4.0]))])
    stiff = Scene([hanging(make_block, replace(material, young=4.0 * YOUNG))])
    first, second = (run(each, XPBD(), 1, 1)[-1].positions[0] for each in (keyed, stiff))
    torch.testing.assert_close(first, second, rtol=0.0, atol=1e-12)


def test_bodies_of_one_model_have_their_own_stiffness(make_block) -> None:
    material = StableNeoHookean(YOUNG, 0.3)
    soft = hanging(make_block, material)
    keyed = hanging(make_block, material, stiffness=Channel([1.0, 30.0]))
    for integrator in (SymplecticEuler(), ImplicitEuler(1e-9)):
        both = run(Scene([soft, keyed]), integrator, 3, 40)[-1].positions
        alone = [run(Scene([body]), integrator, 3, 40)[-1].positions[0] for body in (soft, keyed)]
        torch.testing.assert_close(list(both), alone, rtol=0.0, atol=1e-8)
        assert float((both[0] - both[1]).abs().max()) > 0.01


@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean, Linear])
def test_at_rest_it_is_that_of_the_frame(make_block, model) -> None:
    keyed = hanging(make_block, model(YOUNG, 0.3), stiffness=Channel([1.0, 4.0]))
    simulator = Simulator(
        Scene([keyed]), ImplicitEuler(), frame_time=KEYED_STIFFNESS_FRAME, device="cpu"
    )
    found = [simulator.settle().positions[0]]
    list(simulator.run(1))
    found.append(simulator.settle().positions[0])
    for factor, positions in zip((1.0, 4.0), found, strict=True):
        other = Scene([hanging(make_block, model(factor * YOUNG, 0.3))])
        expected = Simulator(other, device="cpu").settle().positions[0]
        torch.testing.assert_close(positions, expected, rtol=0.0, atol=1e-7)


def test_stiffness_damping_goes_with_it_and_viscosity_does_not(make_block) -> None:
    def forces(**options) -> torch.Tensor:
        scene = Scene([hanging(make_block, StableNeoHookean(YOUNG, 0.3), **options)])
        system = System(scene, CPU, torch.float64)
        system.go_to(1, 0.0)
        positions = system.rest_positions()
        out = torch.zeros_like(positions)
        system.add_rate_forces(positions, positions.square(), out)
        return out

    keyed = {"stiffness": Channel([1.0, 3.0])}
    for damping, factor in (({"stiffness_damping": 0.1}, 3.0), ({"viscosity": 9.0}, 1.0)):
        expected = factor * forces(**damping)
        assert bool(expected.any())
        torch.testing.assert_close(forces(**damping, **keyed), expected)


def test_what_has_no_damping_of_a_kind_makes_no_energy_for_it(make_block) -> None:
    body = hanging(make_block, StableNeoHookean(), stiffness=Channel([1.0, 3.0]))
    system = System(Scene([body]), CPU, torch.float64)
    assert not any(isinstance(part, Viscosity) for part in system.dissipative)


# Input and files


def test_factors_that_leave_no_stiffness_are_refused_by_frame(make_block) -> None:
    with pytest.raises(SceneError, match=r"Jelly: .* above 0 at every frame, and is 0 at frame 2"):
        SoftBody(make_block(), stiffness=Channel([1.0, 2.0, 0.0]), name="Jelly")


def _keyed_stiffness_job(folder: Path, make_block, frames: int, integrator: str) -> Job:
    body = hanging(make_block, StableNeoHookean(YOUNG, 0.3), stiffness=Channel(FACTORS))
    settings = Settings(frames, device="cpu", integrator=integrator)
    return Job.create(folder, Scene([body]), settings)


def test_keyed_stiffness_it_comes_back_from_the_folder_as_it_was(
    make_block, tmp_path: Path
) -> None:
    job = _keyed_stiffness_job(tmp_path, make_block, 4, "automatic")
    read = Job(tmp_path)
    np.testing.assert_array_equal(read.scene.bodies[0].stiffness.samples, FACTORS)
    assert digest(read.scene, read.settings) == digest(job.scene, job.settings)
    other = Scene([replace(read.scene.bodies[0], stiffness=Channel(FACTORS * [1, 1, 1, 1.001]))])
    assert digest(other, read.settings) != digest(read.scene, read.settings)


def test_a_body_without_is_written_as_ever(make_block) -> None:
    assert "stiffness" not in encode(SoftBody(make_block()), "body", {})


@pytest.mark.parametrize("integrator", ["automatic", "implicit_euler", "midpoint", "xpbd"])
def test_keyed_stiffness_a_job_gone_on_with_has_the_same_bytes(
    make_block, tmp_path: Path, integrator: str
):
    def make_job(folder: Path, frames: int) -> Job:
        return _keyed_stiffness_job(folder, make_block, frames, integrator)

    check_same_bytes_in_parts(make_job, tmp_path)


KEYED_REST_SHAPE_FRAME = 1.0 / 24.0
KEYED_REST_SHAPE_YOUNG = 1e5
NOWHERE = (0.0, 0.0, 0.0)
MESH = block((2, 2, 2))
CENTRE = MESH.vertices.mean(axis=0)
MATERIALS = [
    kind(KEYED_REST_SHAPE_YOUNG, 0.3)
    for kind in (StableNeoHookean, NeoHookean, CorotatedLinear, StVenantKirchhoff, Linear)
]
KEYED_REST_SHAPE_INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(RungeKutta4(), 1e-6),
    XPBD(),
    ImplicitEuler(1e-7),
    BDF2(1e-7),
    SDIRK2(1e-7),
    Automatic(),
]


def scaling(amounts) -> RestShape:
    """A rest shape that is larger by the amounts."""
    return RestShape((MESH.vertices - CENTRE)[None], np.reshape(amounts, (-1, 1)))


def scaled(factor: float) -> np.ndarray:
    return CENTRE + factor * (MESH.vertices - CENTRE)


def cube(rest_shape: RestShape, material=None, **options) -> SoftBody:
    return SoftBody(MESH, material or MATERIALS[0], rest_shape=rest_shape, name="Cube", **options)


def simulator(body: SoftBody, integrator=None, **options) -> Simulator:
    return Simulator(Scene([body], gravity=NOWHERE), integrator, device="cpu", **options)


def system_of(body: SoftBody) -> System:
    return System(Scene([body], gravity=NOWHERE), CPU, torch.float64)


@pytest.mark.parametrize("material", MATERIALS, ids=lambda m: type(m).__name__)
def test_a_free_body_settles_in_its_rest_shape(material) -> None:
    body = cube(scaling([0.7]), material, initial_positions=MESH.vertices)
    frame = simulator(body).settle()
    grown = frame.positions[0].numpy()
    moved = grown.mean(axis=0) - CENTRE
    np.testing.assert_allclose(grown - moved, scaled(1.7), atol=1e-6)
    assert frame.report.energies.elastic < 1e-9 * KEYED_REST_SHAPE_YOUNG
    assert frame.report.minimum_volume_ratio == pytest.approx(1.0, abs=1e-6)


def test_torch_passes_take_the_rest_shape_like_compiled_loops(without_compiled_loops) -> None:
    for material in MATERIALS[:3]:
        frame = simulator(cube(scaling([0.7]), material, initial_positions=MESH.vertices)).settle()
        assert float(np.ptp(frame.positions[0].numpy()[:, 2])) == pytest.approx(1.7, abs=1e-6)
    twice = simulator(cube(scaling([0.0, 1.0])), RungeKutta4()).run(1)
    assert next(twice).report.minimum_volume_ratio < 0.9


@pytest.mark.parametrize("integrator", KEYED_REST_SHAPE_INTEGRATORS, ids=lambda i: type(i).__name__)
def test_a_body_grows_with_its_rest_shape_in_every_integrator(integrator) -> None:
    amounts = np.minimum(np.arange(25.0), 12.0) / 24.0
    *_, last = simulator(cube(scaling(amounts), damping=10.0), integrator).run(24)
    np.testing.assert_allclose(last.positions[0].numpy(), scaled(1.5), atol=2e-3)
    assert last.report.minimum_volume_ratio == pytest.approx(1.0, abs=6e-3)


def test_a_body_starts_in_the_rest_shape_of_the_start() -> None:
    first = simulator(cube(scaling([0.3]))).frame()
    np.testing.assert_allclose(first.positions[0].numpy(), scaled(1.3), atol=1e-12)
    assert first.report.energies.elastic == pytest.approx(0.0, abs=1e-9 * KEYED_REST_SHAPE_YOUNG)


def test_the_energy_is_that_of_a_body_modelled_so() -> None:
    """And what is between frames is half of each."""
    body = cube(scaling([0.2, 0.6]))
    system, positions = system_of(body), torch.as_tensor(scaled(1.1).T)
    for fraction, factor in ((0.0, 1.2), (0.5, 1.4), (1.0, 1.6)):
        system.go_to(0, fraction)
        modelled = system_of(SoftBody(MESH.with_vertices(scaled(factor)), MATERIALS[0]))
        (mine,), (other,) = system.elasticities, modelled.elasticities
        assert float(mine.energy(positions)) == pytest.approx(float(other.energy(positions)))
        torch.testing.assert_close(mine.gradient(positions), other.gradient(positions))
        torch.testing.assert_close(
            mine.tets.volume_ratios(positions), other.tets.volume_ratios(positions)
        )


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_the_energy_put_in_is_that_of_the_change_of_the_rest_shape(scheme) -> None:
    """∂E/∂X dX, where all but one vertex is held."""
    held = np.arange(1, len(MESH.vertices))
    body = cube(scaling([0.0, 0.4]), pinned=held, damping=1e6)
    system, count = system_of(body), 100
    state = system.initial_state()
    before = system.energies(state).elastic
    step = scheme.make_step(system, KEYED_REST_SHAPE_FRAME / count)
    step.begin(state.positions, state.velocities)
    for number in range(count):
        step.prescribe(0, number / count, (number + 1) / count)
        step.advance()
    after = system.energies(replace(state, frame=1, positions=step.positions)).elastic
    gained = float(step.raised)
    (part,) = system.elasticities
    start = torch.as_tensor(MESH.vertices.T)
    # The slope by finite differences of the rest shape, integrated at the middles.
    slopes = [
        float(part.energy_change(part.at(0, t - 1e-5), part.at(0, t + 1e-5), start)) / 2e-5
        for t in (np.arange(50) + 0.5) / 50.0
    ]
    assert gained == pytest.approx(float(np.mean(slopes)), rel=0.01)
    assert gained == pytest.approx(after - before, rel=0.01)
    assert gained > 0.01 * KEYED_REST_SHAPE_YOUNG


@pytest.mark.parametrize("scheme", [SymplecticEuler(), RungeKutta4()])
def test_of_what_moves_the_energy_put_in_is_all_that_is_gained(scheme) -> None:
    system, count = system_of(cube(scaling([0.0, 0.4]))), 400
    state = system.initial_state()
    step = scheme.make_step(system, KEYED_REST_SHAPE_FRAME / count)
    step.begin(state.positions, state.velocities)
    for number in range(count):
        step.prescribe(0, number / count, (number + 1) / count)
        step.advance()
    after = replace(state, frame=1, positions=step.positions, velocities=step.velocities)
    energies = system.energies(after)
    assert float(step.raised) == pytest.approx(energies.total, rel=0.01)
    assert energies.kinetic > 0.1 * energies.total


def test_explicit_steps_are_as_short_as_the_fastest_rest_shape_asks_for() -> None:
    """A body that is twice as large and weighs as much has twice the stiffness along an edge."""
    modelled = spectrum(system_of(cube(scaling([0.0])))).frequency
    grown = spectrum(system_of(cube(scaling([0.0, 1.0, 0.0])))).frequency
    assert grown == pytest.approx(np.sqrt(2.0) * modelled, rel=1e-3)
    flat = RestShape((MESH.vertices - CENTRE)[None] * [0.0, 0.0, -1.0], np.array([[0.0], [0.8]]))
    thin = SoftBody(MESH.with_vertices(flat.displaced(MESH.vertices, np.array([0.8]))))
    expected = spectrum(system_of(replace(thin, material=MATERIALS[0], density=5000.0))).frequency
    assert spectrum(system_of(cube(flat))).frequency == pytest.approx(expected, rel=1e-3)


def test_a_keyed_stiffness_counts_beside_it() -> None:
    body = cube(scaling([0.0, 0.4]), stiffness=Channel(np.array([1.0, 3.0, 2.0])))
    (part,) = system_of(body).elasticities
    positions = torch.as_tensor(scaled(1.2).T)
    part.go_to(1, 0.0)
    once = system_of(cube(scaling([0.4]))).elasticities[0].energy(positions)
    assert float(part.energy(positions)) == pytest.approx(3.0 * float(once))
    assert part.stiffest.tolist() == pytest.approx([3.0, 0.4])


def test_a_rest_shape_of_the_skin_is_shown_by_the_tetrahedra_around_it() -> None:
    mesh = block((3, 3, 3))
    triangles = mesh.surface
    used = np.unique(triangles)
    points = mesh.vertices[used]
    surface = SurfaceMesh(
        points, np.searchsorted(used, triangles).astype(np.int32), "lattice", 0.25
    )
    bend = np.zeros_like(points)
    bend[:, 2] = 0.4 * points[:, 0] ** 2
    keys = RestShape(np.stack([0.6 * points, bend]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    (body,) = prepare(Scene([SoftBody(surface, skin=Skin(points, rest_shape=keys))]))[0].bodies
    assert body.skin.rest_shape is None
    grown, bent = body.rest_shape.displacements
    # What is affine is followed exactly, by all tets.
    np.testing.assert_allclose(grown, 0.6 * body.mesh.vertices, atol=1e-9)
    shown = body.skin.embedding.interpolate(bent)
    np.testing.assert_allclose(shown, bend, atol=0.02 * float(bend.max()))


def test_a_rest_shape_that_is_inside_out_is_refused_with_the_frame() -> None:
    flip = (MESH.vertices - CENTRE)[None] * [-1.0, 0.0, 0.0]
    mirrored = RestShape(flip, np.array([[0.5], [3.0]]))
    with pytest.raises(SceneError, match=r"Cube: 0 frames.*48 of its 48 tets flat or inside out"):
        simulator(cube(mirrored))


def test_what_cannot_be_a_rest_shape_is_refused() -> None:
    with pytest.raises(SceneError, match="Cube: the rest shape has 3 vertices, the mesh 27"):
        cube(RestShape(np.zeros((1, 3, 3)), np.zeros((1, 1))))
    with pytest.raises(SceneError, match="must be"):
        RestShape(np.zeros((3, 3)), np.zeros((1, 1)))
    with pytest.raises(SceneError, match="not finite at vertex 2"):
        RestShape(np.full((1, 3, 3), [[0.0], [0.0], [np.nan]]), np.zeros((1, 1)))
    with pytest.raises(SceneError, match="excludes plasticity"):
        cube(scaling([0.1]), plasticity=Plasticity(1e3))


def test_a_file_has_the_rest_shape_and_none_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "scene.json"
    for amounts in ([0.2], [0.0, 0.5, 0.1]):
        save_scene(path, Scene([cube(scaling(amounts))]), {})
        found = load_scene(path)[0].bodies[0].rest_shape
        np.testing.assert_array_equal(found.amounts.samples[:, 0], amounts)
        np.testing.assert_array_equal(found.displacements[0], MESH.vertices - CENTRE)
    save_scene(path, Scene([SoftBody(MESH)]), {})
    assert "rest_shape" not in path.read_text()


@pytest.mark.parametrize("integrator", ["automatic", "implicit_euler", "midpoint", "xpbd"])
def test_keyed_rest_shape_a_job_gone_on_with_has_the_same_bytes(
    tmp_path: Path, integrator: str
) -> None:
    """With gas inside, too."""
    body = cube(scaling([0.0, 0.2, 0.1, 0.3, 0.3]), target_volume=Channel([1.0, 1.3, 1.1]))
    scene = Scene([body], gravity=NOWHERE)

    def make_job(folder: Path, frames: int) -> Job:
        return Job.create(folder, scene, Settings(frames, device="cpu", integrator=integrator))

    check_same_bytes_in_parts(make_job, tmp_path)
