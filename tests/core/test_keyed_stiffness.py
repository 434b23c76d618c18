# SPDX-License-Identifier: GPL-3.0-or-later
"""A stiffness that changes from frame to frame, beside what theory says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Channel, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode
from supple.core.materials import Linear, NeoHookean, StableNeoHookean, StVenantKirchhoff
from supple.core.potentials import Viscosity
from supple.core.system import System
from supple.tests.core.job_runs import check_same_bytes_in_parts

FRAME = 1.0 / 24.0
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
    simulator = Simulator(scene, integrator, frame_time=FRAME, substeps=substeps, device="cpu")
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
    substep = scheme.make_step(system, FRAME / count)
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
    substep = scheme.make_step(system, FRAME / count)
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
    simulator = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
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
    simulator = Simulator(Scene([keyed]), ImplicitEuler(), frame_time=FRAME, device="cpu")
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


def _job(folder: Path, make_block, frames: int, integrator: str) -> Job:
    body = hanging(make_block, StableNeoHookean(YOUNG, 0.3), stiffness=Channel(FACTORS))
    settings = Settings(frames, device="cpu", integrator=integrator)
    return Job.create(folder, Scene([body]), settings)


def test_it_comes_back_from_the_folder_as_it_was(make_block, tmp_path: Path) -> None:
    job = _job(tmp_path, make_block, 4, "automatic")
    read = Job(tmp_path)
    np.testing.assert_array_equal(read.scene.bodies[0].stiffness.samples, FACTORS)
    assert digest(read.scene, read.settings) == digest(job.scene, job.settings)
    other = Scene([replace(read.scene.bodies[0], stiffness=Channel(FACTORS * [1, 1, 1, 1.001]))])
    assert digest(other, read.settings) != digest(read.scene, read.settings)


def test_a_body_without_is_written_as_ever(make_block) -> None:
    assert "stiffness" not in encode(SoftBody(make_block()), "body", {})


@pytest.mark.parametrize("integrator", ["automatic", "implicit_euler", "midpoint", "xpbd"])
def test_a_job_gone_on_with_has_the_same_bytes(make_block, tmp_path: Path, integrator: str):
    def make_job(folder: Path, frames: int) -> Job:
        return _job(folder, make_block, frames, integrator)

    check_same_bytes_in_parts(make_job, tmp_path)
