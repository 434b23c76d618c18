# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through plastic flow, and by its numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Plasticity, Scene, SceneError, Simulator, SoftBody
from supple.core.adjoint import settle, simulate
from supple.core.adjoint.force_adjoint import PlasticAdjoint
from supple.core.adjoint.quantities import Derivation
from supple.core.adjoint.tape import TapePlasticity
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    ImplicitEuler,
    Integrator,
    Midpoint,
    SymplecticEuler,
)
from supple.core.materials import CorotatedLinear, Material, StableNeoHookean
from supple.core.system import System
from supple.tests.core.adjoint.central_differences import Values, compared
from supple.verification.meshes import block

MESH = block((1, 1, 2), (0.1, 0.1, 0.2), (0.0, 0.0, 0.3))
PINNED = np.flatnonzero((MESH.vertices[:, 2] > 0.49) | (MESH.vertices[:, 2] < 0.31))
#: What the lower end is pulled and sheared by.
PULL = np.where(MESH.vertices[PINNED, 2:] < 0.4, [[0.01, 0.006, -0.02]], 0.0)
VALUES: Values = {
    "young": 2e5,
    "poisson": 0.35,
    "density": 1000.0,
    "yield_stress": np.linspace(4e3, 6e3, len(MESH.tets)),
    "hardening": 2e4,
    "creep_time": 0.02,
    "velocity": (0.5, 0.2, -0.3),
    "pin_path": MESH.vertices[PINNED] + np.linspace(0.0, 1.0, 4)[:, None, None] * PULL,
    "initial_positions": MESH.vertices
    + 0.002 * np.random.default_rng(0).standard_normal(MESH.vertices.shape),
}
FLOWING = ("yield_stress", "hardening", "creep_time")
STEPS: dict[str, tuple[Integrator, Values]] = {
    "implicit Euler": (ImplicitEuler(tolerance=1e-11), {"frames": 3}),
    "BDF2": (BDF2(tolerance=1e-11), {"frames": 2, "substeps": 2}),
    "SDIRK2": (SDIRK2(tolerance=1e-11), {"frames": 2, "substeps": 2}),
    "symplectic Euler": (SymplecticEuler(), {"frames": 2, "substeps": 60}),
    "midpoint": (Midpoint(), {"frames": 2, "substeps": 60}),
}


def pulled(given: Values, model: type[Material] = StableNeoHookean, limit: float = 1.5) -> Scene:
    own = VALUES | given
    names = ("density", "velocity", "pin_path", "initial_positions")
    body = SoftBody(
        MESH,
        model(own["young"], own["poisson"]),
        pinned=PINNED,
        plasticity=Plasticity(limit=limit, **{name: own[name] for name in FLOWING}),
        stiffness_damping=0.002,
        **{name: own[name] for name in names},
    )
    return Scene([body])


@pytest.mark.parametrize("steps", STEPS)
def test_gradients_are_those_of_central_differences(steps: str) -> None:
    compared(pulled, STEPS[steps], VALUES).check(spread=1e-6)


@pytest.mark.parametrize("steps", STEPS)
def test_most_tets_have_flowed(steps: str) -> None:
    integrator, options = STEPS[steps]
    simulator = Simulator(
        pulled({}), integrator, substeps=options.get("substeps"), results=("plastic_strain",)
    )
    strain = [*simulator.run(options["frames"])][-1].fields["plastic_strain"][0]
    assert float((strain > 1e-3).float().mean()) > 0.5


@pytest.mark.parametrize("steps", ["implicit Euler", "symplectic Euler"])
@pytest.mark.parametrize("case", ["another model", "at the limit", "at once"])
def test_gradients_know_every_branch_of_the_return_map(case: str, steps: str) -> None:
    at_once = {"creep_time": 0.0} if case == "at once" else {}
    model = CorotatedLinear if case == "another model" else StableNeoHookean
    limit = 0.02 if case == "at the limit" else 1.5
    own = {name: VALUES[name] for name in ("young", "yield_stress", "hardening", "pin_path")}
    compared(lambda v: pulled(v | at_once, model, limit), STEPS[steps], own).check(spread=1e-6)


def test_what_does_not_yield_has_the_gradients_of_what_cannot() -> None:
    integrator, options = STEPS["implicit Euler"]
    gradients = []
    for plasticity in (None, Plasticity(1e9)):
        young = torch.tensor(2e5, dtype=torch.float64, requires_grad=True)
        scene = pulled({"young": young})
        scene.bodies[0].plasticity = plasticity
        simulate(scene, integrator, **options)[-1].positions[0].square().sum().backward()
        assert young.grad is not None
        gradients.append(young.grad.item())
    assert gradients[1] == pytest.approx(gradients[0], rel=1e-9)


def test_an_equilibrium_after_flow_is_refused() -> None:
    young = torch.tensor(2e5, dtype=torch.float64, requires_grad=True)
    with pytest.raises(SceneError, match=r"equilibrium of plastic bodies.*depends on their path"):
        settle(pulled({"young": young}))


PLASTIC_MESH = block((1, 1, 2), (0.1, 0.1, 0.2))
SECONDS = 0.01
#: Limit, creep time, and by how much the tets have flowed before, in turn.
CASES = {
    "flowing": (1.5, 0.02, 0.05),
    "at once": (1.5, 0.0, 0.05),
    "at the limit": (0.07, 0.02, 0.05),
    "beyond what is left": (0.0525, 0.0, 0.05),
    "from rest": (1.5, 0.02, 0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_flow_goes_back_as_autograd_says(case: str) -> None:
    """Compare gradients by positions, by the plastic strain and by all quantities of the flow."""
    limit, creep, before = CASES[case]
    plasticity = Plasticity(np.linspace(5e2, 5e4, len(PLASTIC_MESH.tets)), 2e4, creep, limit)
    body = SoftBody(PLASTIC_MESH, StableNeoHookean(2e5, 0.35), plasticity=plasticity)
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    leaves = {
        "bodies[0].material.young": torch.tensor(2e5, dtype=torch.float64, requires_grad=True),
        "bodies[0].mesh.vertices": torch.tensor(PLASTIC_MESH.vertices, requires_grad=True),
    }
    given = Derivation(system, leaves).quantities()
    given = {name: own.detach().requires_grad_(own.requires_grad) for name, own in given.items()}
    names = [name for name, own in given.items() if own.requires_grad]
    found = {name: torch.zeros_like(given[name]) for name in names}
    random = torch.Generator().manual_seed(1)
    stretch = torch.eye(3, dtype=torch.float64)
    stretch += 0.12 * torch.randn(3, 3, generator=random).double()
    positions = stretch @ torch.as_tensor(PLASTIC_MESH.vertices.T.copy())
    turned = torch.randn(len(PLASTIC_MESH.tets), 3, 3, generator=random).double()
    turned = torch.linalg.matrix_exp(turned - turned.mT) @ torch.diag(
        torch.tensor([before, -before / 4, -before * 3 / 4], dtype=torch.float64).exp()
    )
    if before == 0.0:
        turned = torch.eye(3, dtype=torch.float64).expand_as(turned)
    # The strain of a bar has come to 0.052, on a longer way.
    alpha = turned.new_full((len(PLASTIC_MESH.tets), 1), 1.2 * before)
    plastic = torch.cat([turned.flatten(1), alpha], dim=1).T.contiguous()
    wanted = torch.randn(plastic.shape, generator=random).double()
    at, strain = (part.clone().requires_grad_() for part in (positions, plastic))
    flowed = TapePlasticity(system).flow(at, strain, SECONDS, given)
    inputs = [at, strain, given["flow 0"], given["shape gradients 0"]]
    taped = torch.autograd.grad(flowed, inputs, wanted)
    own = PlasticAdjoint(system, given, found)
    own.grad_plastic[0].copy_(wanted)
    by_positions = own.enter(positions, plastic, SECONDS)
    own.leave()
    own.settle()
    own.finish()
    compiled = by_positions, own.grad_plastic[0], found["flow 0"], found["shape gradients 0"]
    flows = (own.grad_plastic[0] - wanted).abs().sum(0) > 0.0
    assert float(flows.double().mean()) > 0.3
    for part, expected in zip(compiled, taped, strict=True):
        assert float(expected.norm()) > 0.0
        rows, others = (each.reshape(-1, each.shape[-1]) for each in (part, expected))
        assert bool(((rows - others).norm(dim=1) <= 1e-7 * others.norm(dim=1)).all())
