# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through simulations, each parameter through each integrator."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Goals,
    Ground,
    InstabilityError,
    Scene,
    Simulator,
    SoftBody,
    SurfacePaint,
)
from supple.core.adjoint import settle, simulate
from supple.core.adjoint.explicit_run import StepAdjoint
from supple.core.adjoint.tape import Gradients
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import (
    CorotatedLinear,
    Linear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials import TimeStep
from supple.core.potentials.height_floor import HeightFloor
from supple.core.system import System
from supple.tests.core.adjoint.central_differences import (
    MESH,
    PINNED,
    STEPS,
    Comparison,
    Values,
    compared,
    outcome_of,
)
from supple.verification.meshes import block

RANDOM = np.random.default_rng(0)
TETS = len(MESH.tets)
#: Of a bar that hangs from moving pins, stirred, with goals and all dampings.
VALUES: Values = {
    "young": 2e4,
    "poisson": np.full(TETS, 0.4),
    "density": np.linspace(900.0, 1100.0, TETS),
    "velocity": (0.5, 0.2, -0.3),
    "angular_velocity": (0.1, 2.0, 0.3),
    "initial_positions": MESH.vertices + 0.004 * RANDOM.standard_normal(MESH.vertices.shape),
    "damping": np.linspace(0.1, 1.0, TETS),
    "stiffness_damping": 0.003,
    "viscosity": np.full(TETS, 3.0),
    "gravity": (0.0, 0.5, -9.81),
    "pin_path": MESH.vertices[PINNED] + 0.02 * RANDOM.standard_normal((3, len(PINNED), 3)),
    "targets": MESH.vertices[[0, 3]] + 0.02 * RANDOM.standard_normal((3, 2, 3)),
    "accelerations": 2.0 * RANDOM.standard_normal((2, len(MESH.vertices), 3)),
}


def bar(given: Values, model: type[Material] = StableNeoHookean) -> Scene:
    own = VALUES | given
    names = ("density", "velocity", "angular_velocity", "initial_positions", "damping")
    more = ("stiffness_damping", "viscosity", "pin_path", "accelerations")
    body = SoftBody(
        MESH,
        model(own["young"], own["poisson"]),
        pinned=PINNED,
        goals=Goals([0, 3], own["targets"], 0.9, 3.0, 0.3),
        stiffness=own.get("stiffness"),
        **{name: own[name] for name in (*names, *more)},
    )
    return Scene([body], gravity=own["gravity"])


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_are_those_of_central_differences(steps: str) -> None:
    compared(bar, STEPS[steps], VALUES).check()


@pytest.mark.parametrize("steps", ["implicit Euler", "symplectic Euler"])
@pytest.mark.parametrize("model", [NeoHookean, CorotatedLinear, StVenantKirchhoff, Linear])
def test_every_model_has_gradients(model: type[Material], steps: str) -> None:
    own = {name: VALUES[name] for name in ("young", "poisson", "initial_positions")}
    compared(lambda v: bar(v, model), STEPS[steps], own).check()


def test_gradients_of_explicit_steps_know_a_keyed_stiffness() -> None:
    keyed = {"stiffness": Channel([1.0, 2.0, 0.5])}
    own = {name: VALUES[name] for name in ("young", "stiffness_damping", "viscosity")}
    compared(lambda v: bar(v | keyed), STEPS["symplectic Euler"], own).check()


CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.023))
SLIDING: Values = {
    "young": 2e4,
    "density": 1000.0,
    "damping": 0.5,
    "velocity": (0.9, 0.1, -0.5),
    "initial_positions": CUBE.vertices,
    "height": 0.02,
    "friction": 0.3,
    "kinetic_friction": 0.2,
}


def thrown(given: Values) -> Scene:
    """Onto the ground, on which it slides and tips."""
    own = SLIDING | given
    names = ("density", "damping", "velocity", "initial_positions", "friction", "kinetic_friction")
    body = SoftBody(CUBE, StableNeoHookean(own["young"]), **{name: own[name] for name in names})
    return Scene([body], ground=Ground(own["height"], friction=0.25, distance=0.002))


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [
        (ImplicitEuler(1e-9), 8),
        (BDF2(1e-9), 8),
        (SDIRK2(1e-9), 8),
        (SymplecticEuler(), 16),
        (Midpoint(), 24),
        (RungeKutta4(), 16),
    ],
)
def test_gradients_go_through_the_ground_and_its_friction(
    integrator: Integrator, substeps: int
) -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        return outcome_of(simulate(thrown(given), integrator, frames=1, substeps=substeps))

    Comparison(outcome, SLIDING).check(idle=("friction",), rel=1e-4, least=1e-5, spread=1e-6)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_explicit_steps_keep_a_state_for_each_root_of_their_number(
    integrator: Integrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three for 1 000, beside those of one step."""
    counts: list[int] = []
    back = StepAdjoint.back

    def count(*arguments: Any) -> None:
        arrays = {
            part.data_ptr(): part.numel()
            for part in gc.get_objects()
            if type(part) is torch.Tensor and part.shape == CUBE.vertices.T.shape
        }
        counts.append(sum(arrays.values()))
        monkeypatch.setattr(StepAdjoint, "back", back)
        back(*arguments)

    for steps in (1, 1000):
        young = torch.tensor(2e4, dtype=torch.float64, requires_grad=True)
        scene = Scene([SoftBody(CUBE, StableNeoHookean(young))])
        frame = simulate(scene, integrator, frames=1, frame_time=1e-3 * steps, substeps=steps)[0]
        monkeypatch.setattr(StepAdjoint, "back", count)
        frame.positions[0].sum().backward()
    assert counts[1] - counts[0] <= 3.0 * 1000**0.5 * 2 * CUBE.vertices.size


def test_gradients_of_an_equilibrium() -> None:
    names = ("young", "poisson", "density", "gravity", "pin_path", "targets", "accelerations")
    own = {name: VALUES[name] for name in names}
    Comparison(lambda v: [settle(bar(v)).positions[0]], own).check()


@pytest.mark.parametrize("name", ["young", "poisson"])
def test_one_modulus_may_be_known_by_a_number(name: str) -> None:
    Comparison(lambda v: [settle(bar(v)).positions[0]], {name: VALUES[name]}).check()


def test_an_equilibrium_does_not_hang_on_the_way_to_it() -> None:
    velocity = torch.ones(3, requires_grad=True)
    settle(bar({"velocity": velocity})).positions[0].sum().backward()
    assert velocity.grad is not None and not velocity.grad.any()


@pytest.mark.parametrize("steps", STEPS)
def test_frames_are_those_of_the_simulator(steps: str) -> None:
    integrator, options = STEPS[steps]
    count = options["frames"]
    young = torch.tensor(2e4, dtype=torch.float64, requires_grad=True)
    taped = simulate(bar({"young": young}), integrator, **options)[-1]
    simulator = Simulator(bar({}), integrator, substeps=options.get("substeps"), device="cpu")
    plain = [*simulator.run(count)][-1]
    assert torch.equal(taped.positions[0], plain.positions[0])
    assert torch.equal(taped.velocities[0], plain.velocities[0])
    assert taped.positions[0].requires_grad and taped.report.energies == plain.report.energies


@pytest.mark.parametrize("steps", ["implicit Euler", "symplectic Euler"])
def test_a_damping_of_zero_has_a_gradient(steps: str) -> None:
    integrator, options = STEPS[steps]
    gradients = []
    for rate in (0.0, 1e-5):
        damping = torch.tensor(rate, dtype=torch.float64, requires_grad=True)
        frame = simulate(bar({"damping": damping}), integrator, **options)[-1]
        frame.positions[0][:4].sum().backward()
        assert damping.grad is not None
        gradients.append(damping.grad.item())
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-4)


def test_gravity_of_a_free_fall_has_its_closed_form() -> None:
    gravity = torch.tensor([0.0, 0.0, -9.81], dtype=torch.float64, requires_grad=True)
    body = SoftBody(block((1, 1, 1), (0.1, 0.1, 0.1)))
    frames = simulate(Scene([body], gravity=gravity), SymplecticEuler(), frames=1, substeps=20)
    frames[-1].positions[0][:, 2].mean().backward()
    step = 1.0 / 480.0
    assert gravity.grad is not None
    assert gravity.grad[2].item() == pytest.approx(step**2 * 20 * 21 / 2)


def test_a_step_that_did_not_converge_gives_no_gradient(monkeypatch: Any) -> None:
    monkeypatch.setattr("supple.core.integrators.implicit_stepper.MAX_ITERATIONS", 1)
    young = torch.tensor(2e4, dtype=torch.float64, requires_grad=True)
    frame = simulate(bar({"young": young}), ImplicitEuler(), frames=1, substeps=1)[0]
    assert not frame.report.solver_statistics.converged
    with pytest.raises(InstabilityError, match=r"frame 1.*did not converge.*substeps"):
        frame.positions[0].sum().backward()


SCENE_SETTINGS_CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.003))
COUNT = len(SCENE_SETTINGS_CUBE.vertices)


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [
        (ImplicitEuler(1e-10), 1),
        (BDF2(1e-10), 2),
        (SDIRK2(1e-10), 2),
        (SymplecticEuler(), 16),
        (Midpoint(), 16),
    ],
)
def test_time_may_run_slower_and_vertices_start_by_themselves(
    integrator: Integrator, substeps: int
) -> None:
    values: Values = {
        "young": 2e4,
        "initial_velocities": RANDOM.standard_normal((COUNT, 3)),
        "targets": SCENE_SETTINGS_CUBE.vertices[:2] + 0.02 * RANDOM.standard_normal((4, 2, 3)),
        "damping": 0.5,
    }

    def outcome(given: Values) -> list[torch.Tensor]:
        body = SoftBody(
            SCENE_SETTINGS_CUBE,
            StableNeoHookean(given["young"]),
            goals=Goals([0, 1], given["targets"], 0.9, 3.0, 0.3),
            initial_velocities=given["initial_velocities"],
            damping=given["damping"],
        )
        scene = Scene([body], time_scale=Channel([0.4, 0.6, 1.0]))
        return outcome_of(simulate(scene, integrator, frames=3, substeps=substeps))

    Comparison(outcome, values).check(least=1e-6)


@pytest.mark.parametrize(
    ("integrator", "substeps"), [(ImplicitEuler(1e-9), 8), (SymplecticEuler(), 16)]
)
def test_gradients_go_through_painted_friction(integrator: Integrator, substeps: int) -> None:
    paint = SurfacePaint(
        SCENE_SETTINGS_CUBE.vertices, SCENE_SETTINGS_CUBE.surface, np.linspace(0.2, 0.9, COUNT)
    )
    values: Values = {"friction": 0.3, "velocity": (0.9, 0.1, -0.5)}

    def outcome(given: Values) -> list[torch.Tensor]:
        body = SoftBody(SCENE_SETTINGS_CUBE, StableNeoHookean(2e4), friction_paint=paint, **given)
        scene = Scene([body], ground=Ground(friction=0.25, distance=0.002))
        return outcome_of(simulate(scene, integrator, frames=1, substeps=substeps))

    Comparison(outcome, values).check(rel=1e-4, least=1e-6, spread=1e-6)


@pytest.mark.parametrize("height", [1.0, 0.3, 0.1, -0.1])
def test_flat_tets_are_pressed_as_steps_press_them(height: float) -> None:
    body = SoftBody(block((2, 2, 2)), StableNeoHookean(1e4, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    gradients, part = Gradients(system, solved=True), system.solved_elasticities[0]
    count = len(part.tets)
    given = {
        "gravity": torch.zeros(1, 3, dtype=torch.float64),
        "mass": system.mass,
        "damping": torch.zeros_like(system.mass),
        "factor 0": torch.ones(1, dtype=torch.float64),
        "mu 0": torch.full((count,), float(part.material.mu), dtype=torch.float64),
        "lam 0": torch.full((count,), float(part.material.lam), dtype=torch.float64),
    }
    at = system.rest_positions() * torch.tensor([[1.3], [1.6], [height]], dtype=torch.float64)
    found = gradients.step_gradient(at, TimeStep(at, at, 1.0, 1.0, is_static=True), given, 0, 0.0)
    floor = HeightFloor(
        system.solved_elasticities, system.initial_positions, system.initially_inverted
    )
    expected = part.gradient(at) + floor.gradient(at)
    assert bool(floor.gradient(at).any()) == (height < 0.2)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-8)
