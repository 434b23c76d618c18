# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients by the rest shape of tetrahedra, on which masses, strains and the start hang."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Attachment,
    Contact,
    Fluid,
    Goals,
    Ground,
    RestShape,
    Scene,
    SceneError,
    SoftBody,
    TetMesh,
)
from supple.core.adjoint import settle, simulate
from supple.core.adjoint.implicit_run import conjugate_residuals
from supple.core.adjoint.sag_free import RestShapeChange
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import CorotatedLinear, Linear, Material, StableNeoHookean
from supple.core.system import System
from supple.tests.core.adjoint.central_differences import Comparison, Values, compared, outcome_of
from supple.verification.meshes import block

BLOCK = block((1, 1, 2), (0.1, 0.1, 0.2), (0.0, 0.0, 0.3))
RANDOM = np.random.default_rng(0)
VERTICES = BLOCK.vertices + 0.004 * RANDOM.standard_normal(BLOCK.vertices.shape)
PINNED = np.flatnonzero(BLOCK.vertices[:, 2] > 0.49)
TETS = len(BLOCK.tets)
IMPLICIT_EULER = ImplicitEuler(tolerance=1e-10)
STEPS: dict[str, tuple[Integrator, Values]] = {
    "implicit Euler": (IMPLICIT_EULER, {"frames": 2}),
    "BDF2": (BDF2(tolerance=1e-10), {"frames": 2, "substeps": 2}),
    "SDIRK2": (SDIRK2(tolerance=1e-10), {"frames": 2, "substeps": 2}),
    "symplectic Euler": (SymplecticEuler(), {"frames": 2, "substeps": 16}),
    "midpoint": (Midpoint(), {"frames": 1, "substeps": 16}),
    "Runge-Kutta": (RungeKutta4(), {"frames": 1, "substeps": 11}),
}


def hanging(vertices: Any, model: type[Material] = StableNeoHookean, **members: Any) -> Scene:
    """A bar that is partly filled, with all that masses go into."""
    mesh = TetMesh(vertices, BLOCK.tets, np.linspace(0.5, 1.0, TETS))
    body = SoftBody(
        mesh,
        model(2e4, 0.4),
        density=np.linspace(900.0, 1100.0, TETS),
        pinned=PINNED,
        angular_velocity=(0.1, 2.0, 0.3),
        damping=np.linspace(0.1, 1.0, TETS),
        stiffness_damping=0.003,
        viscosity=2.0,
        goals=Goals([0, 3], BLOCK.vertices[[0, 3]] + 0.02, 0.9, 3.0, 0.3),
        target_volume=1.2,
        volume_stiffness=5e3,
        drag=2.0,
        **members,
    )
    return Scene([body])


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_are_those_of_central_differences(steps: str) -> None:
    values = {"vertices": VERTICES}
    compared(lambda v: hanging(v["vertices"]), STEPS[steps], values).check(least=1e-5)


@pytest.mark.parametrize("steps", ["implicit Euler", "symplectic Euler"])
@pytest.mark.parametrize("model", [CorotatedLinear, Linear])
def test_other_models_have_gradients(model: type[Material], steps: str) -> None:
    """From a start shape that is none of them."""
    start = {"initial_positions": BLOCK.vertices, "pin_path": BLOCK.vertices[None, PINNED]}
    values = {"vertices": VERTICES}
    compared(lambda v: hanging(v["vertices"], model, **start), STEPS[steps], values).check(
        least=1e-5
    )


def test_an_equilibrium_has_gradients() -> None:
    Comparison(
        lambda v: [settle(hanging(v["vertices"])).positions[0]], {"vertices": VERTICES}
    ).check(least=1e-5)


CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.003))


@pytest.mark.parametrize(
    ("integrator", "substeps"), [(ImplicitEuler(1e-9), 8), (SymplecticEuler(), 16)]
)
def test_gradients_go_through_the_ground(integrator: Integrator, substeps: int) -> None:
    ground = Ground(friction=0.25, distance=0.002)

    def outcome(given: Values) -> list[torch.Tensor]:
        mesh = TetMesh(given["vertices"], CUBE.tets)
        body = SoftBody(mesh, StableNeoHookean(2e4), velocity=(0.9, 0.1, -0.5))
        frames = simulate(Scene([body], ground=ground), integrator, frames=1, substeps=substeps)
        return outcome_of(frames)

    moved = CUBE.vertices + 2e-3 * np.random.default_rng(3).random(CUBE.vertices.shape)
    Comparison(outcome, {"vertices": moved}).check(rel=1e-4, spread=1e-6)


@cache
def _other() -> SoftBody:
    return SoftBody(block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 2.0)))


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"contact": Contact()}, "contact and mesh"),
        ({"attachments": [Attachment(0, [0], 1)]}, "attachments"),
        ({"forces": [Fluid(0.0)]}, "fluids"),
        ({"ground": Ground()}, "give it a distance"),
    ],
)
def test_what_hangs_on_a_rest_shape_by_itself_is_refused(members: Any, what: str) -> None:
    vertices = torch.tensor(VERTICES, requires_grad=True)
    scene = hanging(vertices)
    with pytest.raises(
        SceneError, match=rf"rest shape \(bodies\[0\].mesh.vertices\) with .*{what}"
    ):
        simulate(Scene([*scene.bodies, _other()], **members), frames=1)


GROWTH: Values = {
    "young": 2e4,
    "amounts": [[0.1, 0.5], [0.8, 0.2], [0.4, 1.0]],
    "displacements": 0.01 * RANDOM.standard_normal((2, *VERTICES.shape)),
    "vertices": VERTICES,
}


def growing(given: Values, **members: Any) -> Scene:
    """A bar whose rest shape is two displacements of changing amounts."""
    body = SoftBody(
        TetMesh(given["vertices"], BLOCK.tets),
        StableNeoHookean(given["young"], 0.4),
        pinned=PINNED,
        rest_shape=RestShape(given["displacements"], given["amounts"]),
        stiffness_damping=0.003,
        **members,
    )
    return Scene([body])


@pytest.mark.parametrize("steps", [*STEPS, "equilibrium"])
def test_a_rest_shape_over_time_has_gradients(steps: str) -> None:
    def outcome(given: Values) -> list[torch.Tensor]:
        if steps == "equilibrium":
            return [settle(growing(given)).positions[0]]
        integrator, options = STEPS[steps]
        return outcome_of(simulate(growing(given), integrator, **options))

    Comparison(outcome, GROWTH).check(least=1e-6)


MESH = block((1, 1, 2), (0.1, 0.1, 0.2))
FILL = np.linspace(0.5, 1.0, len(MESH.tets))


def system_at(rest: np.ndarray, model: type[Material]) -> System:
    body = SoftBody(TetMesh(rest, MESH.tets, FILL), model(2e4, 0.4))
    return System(Scene([body]), torch.device("cpu"), torch.float64)


@pytest.mark.parametrize("model", [StableNeoHookean, CorotatedLinear])
def test_forces_change_with_the_rest_shape_as_differences_say(model: type[Material]) -> None:
    random = np.random.default_rng(0)
    rest = MESH.vertices + 0.005 * random.standard_normal(MESH.vertices.shape)
    positions = torch.as_tensor((MESH.vertices * [1.3, 0.8, 1.1]).T.copy())
    change = random.standard_normal(MESH.vertices.shape)

    def forces(at: np.ndarray) -> torch.Tensor:
        system, out = system_at(at, model), torch.zeros_like(positions)
        system.add_gradient(positions, out)
        return out

    found = RestShapeChange(system_at(rest, model), positions)(torch.as_tensor(change.T.copy()))
    spread = 1e-7
    differences = (forces(rest + spread * change) - forces(rest - spread * change)) / (2 * spread)
    assert float((found - differences).norm()) < 1e-5 * float(differences.norm())


def test_conjugate_residuals_solve_what_is_not_symmetric() -> None:
    random = torch.Generator().manual_seed(0)
    matrix = torch.eye(12) + 0.3 * torch.randn(12, 12, generator=random)
    rhs, scale = torch.randn(12, generator=random), torch.rand(12, generator=random) + 0.5
    found = conjugate_residuals(lambda x: matrix @ x, lambda r: 0.5 * r, rhs, scale, 1e-6)
    assert found is not None
    torch.testing.assert_close(matrix @ found, rhs, rtol=1e-4, atol=1e-4)


def test_conjugate_residuals_say_when_they_find_nothing() -> None:
    singular = torch.diag(torch.tensor([1.0] * 99 + [0.0]))
    rhs = torch.ones(100)
    assert conjugate_residuals(lambda x: singular @ x, lambda r: r, rhs, rhs, 1e-6) is None
