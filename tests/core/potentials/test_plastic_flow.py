# SPDX-License-Identifier: GPL-3.0-or-later
"""Plastic flow of tets against closed forms, and its energy in an implicit step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from supple.core import Channel, Plasticity, Scene, SceneError, SoftBody, TetMesh
from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.materials import (
    MODELS,
    CorotatedLinear,
    Material,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials import TimeStep
from supple.core.potentials.plastic_flow import YieldingElasticity, _principal_stresses
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block

YOUNG, POISSON, YIELD = 1e5, 0.3, 2e3
MU = YOUNG / 2.6
#: Axial and deviatoric.
PULLED = np.diag([1.1, 1.1**-0.5, 1.1**-0.5])
STRESS = 3.0 * MU * math.log(1.1)


def clay(mesh: TetMesh | None = None, **settings: Any):
    """A cube of six tets, and its vertices (3, N)."""
    material: Material = settings.pop("material", StableNeoHookean(YOUNG, POISSON))
    stiffness = settings.pop("stiffness", None)
    plasticity = Plasticity(**{"yield_stress": YIELD, **settings})
    mesh = mesh or block((1, 1, 1), (1, 1, 1), (0, 0, 0))
    body = SoftBody(mesh, material, plasticity=plasticity, stiffness=stiffness)
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    return system.plastic_flow, system.rest_positions(), system


def held(gradient: np.ndarray, rest: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(gradient).to(rest) @ rest


def inverse(plastic: torch.Tensor) -> np.ndarray:
    """(M, 3, 3) F_p⁻¹."""
    return plastic[:9].numpy().reshape(3, 3, -1).transpose(2, 0, 1)


def stresses(gradient: np.ndarray, plastic: torch.Tensor) -> np.ndarray:
    """(M,) q."""
    logarithms = np.log(np.linalg.svd(gradient @ inverse(plastic), compute_uv=False))
    deviators = logarithms - logarithms.mean(axis=1, keepdims=True)
    return 2.0 * MU * np.sqrt(1.5 * (deviators**2).sum(axis=1))


def turned(angle: float) -> np.ndarray:
    return expm(angle * np.array([[0.0, -0.3, 0.8], [0.3, 0.0, -0.5], [-0.8, 0.5, 0.0]]))


@pytest.mark.parametrize("hardening", [0.0, 3e4])
def test_stress_falls_to_the_yield_stress_at_once(method, hardening) -> None:
    flow, rest, _ = clay(hardening=hardening)
    flow.flow(held(PULLED, rest), 0.01)
    strain = (STRESS - YIELD) / (3.0 * MU + hardening)
    np.testing.assert_allclose(flow.plastic[9], strain, rtol=1e-12)
    np.testing.assert_allclose(
        stresses(PULLED, flow.plastic), YIELD + hardening * strain, rtol=1e-12
    )


@pytest.mark.parametrize("stiffness", [[2.0], [2.0, 0.5]], ids=["constant", "keyed"])
def test_what_is_keyed_stiffer_or_softer_yields_at_the_same_stress(method, stiffness) -> None:
    flow, rest, system = clay(hardening=3e4, stiffness=Channel(np.array(stiffness)))
    strain = 0.0
    for frame in range(2):
        system.go_to(frame, 0.0)
        flow.flow(held(PULLED, rest), 0.01)
        factor = stiffness[min(frame, len(stiffness) - 1)]
        stress = factor * stresses(PULLED, flow.plastic)
        if frame == 0:
            strain = (2.0 * STRESS - YIELD) / (6.0 * MU + 3e4)
            np.testing.assert_allclose(stress, YIELD + 3e4 * strain, rtol=1e-11)
        np.testing.assert_allclose(flow.plastic[9], strain, rtol=1e-11)
        assert stress.max() < (YIELD + 3e4 * strain) * (1.0 + 1e-11)


def test_excess_stress_decays_with_the_creep_time_whatever_the_steps(method) -> None:
    flow, rest, _ = clay(hardening=3e4, creep_time=0.2)
    for step in (0.05, 0.3, 0.01):
        flow.flow(held(PULLED, rest), step)
    excess = stresses(PULLED, flow.plastic) - YIELD - 3e4 * flow.plastic[9].numpy()
    np.testing.assert_allclose(excess, (STRESS - YIELD) * math.exp(-0.36 / 0.2), rtol=1e-11)


def test_flow_follows_the_principal_axes_and_not_the_frame(method) -> None:
    gradient = turned(0.7) @ PULLED @ turned(1.2)
    flow, rest, _ = clay()
    flow.flow(held(gradient, rest), 0.01)
    np.testing.assert_allclose(stresses(gradient, flow.plastic), YIELD, rtol=1e-12)
    before = flow.plastic
    # Turned as a whole, nothing flows on but by rounding.
    flow.flow(held(turned(2.0) @ gradient, rest), 0.01)
    np.testing.assert_allclose(flow.plastic, before, rtol=0.0, atol=1e-14)
    along, _, _ = clay()
    along.flow(held(PULLED, rest), 0.01)
    # R₂ᵀ U_p R₂ of the same pull in a turned material.
    expected = turned(1.2).T @ inverse(along.plastic) @ turned(1.2)
    np.testing.assert_allclose(inverse(before), expected, atol=1e-13)


def test_flow_keeps_volumes_and_their_rest_shapes_give_the_elastic_energy(method) -> None:
    flow, rest, system = clay()
    random = np.random.default_rng(1)
    for _ in range(200):
        flow.flow(held(np.eye(3) + 0.2 * random.normal(size=(3, 3)), rest), 0.01)
    np.testing.assert_allclose(np.linalg.det(inverse(flow.plastic)), 1.0, rtol=1e-12)
    assert float(flow.plastic[9].min()) > 1.0
    positions = held(PULLED, rest)
    material, mesh = system.bodies[0].material, system.meshes[0]
    elastic = torch.as_tensor(PULLED @ inverse(flow.plastic))
    expected = (material.energy_density(elastic).numpy() * mesh.rest_volumes).sum()
    for part in (system.elasticities[0], system.elasticities[0].passes):
        assert float(part.energy(positions)) == pytest.approx(expected, rel=1e-12)


def test_a_plastic_strain_that_is_set_again_gives_the_same_bits(method) -> None:
    flow, rest, system = clay()
    flow.flow(held(PULLED, rest), 0.01)
    plastic, positions = flow.plastic, held(turned(1.0), rest)
    gradient = system.elasticities[0].gradient(positions)
    flow.plastic = None
    assert float(system.elasticities[0].energy(positions)) < 1e-5 * YIELD
    flow.plastic = plastic
    assert system.elasticities[0].gradient(positions).equal(gradient)


def test_beyond_its_limit_a_tet_is_elastic_and_can_come_back(method) -> None:
    flow, rest, _ = clay(limit=0.05, hardening=1e4)
    for _ in range(3):
        flow.flow(held(PULLED, rest), 0.01)
    np.testing.assert_allclose(flow.plastic[9], 0.05, rtol=1e-9)
    pulled = np.linalg.inv(inverse(flow.plastic))
    np.testing.assert_allclose(pulled[:, 0, 0], math.exp(0.05), rtol=1e-12)
    assert (stresses(PULLED, flow.plastic) > 1.5 * YIELD).all()
    flow.flow(held(np.linalg.inv(PULLED), rest), 0.01)
    pressed = np.linalg.inv(inverse(flow.plastic))
    np.testing.assert_allclose(pressed[:, 0, 0], math.exp(-0.05), rtol=1e-12)


def test_below_its_yield_stress_nothing_flows(method) -> None:
    flow, rest, system = clay(yield_stress=1.0001 * STRESS)
    flow.flow(held(turned(0.4) @ PULLED, rest), 0.01)
    strains = flow.strains_of(system.elasticities[0], flow.plastic)
    assert not strains.any() and len(strains) == 6
    if method == "compiled":
        assert flow.plastic is None


def test_what_is_flat_or_inside_out_does_not_flow(method) -> None:
    flow, rest, system = clay()
    for last in (0.0, 1e-6, -0.5):
        flow.flow(held(np.diag([1.2, 0.9, last]), rest), 0.01)
    assert not flow.strains_of(system.elasticities[0], flow.plastic).any()


def test_a_tet_that_is_partly_filled_yields_at_the_strain_of_a_full_one(method) -> None:
    mesh = block((1, 1, 1), (1, 1, 1), (0, 0, 0))
    mesh = TetMesh(mesh.vertices, mesh.tets, np.linspace(0.1, 1.0, 6))
    flow, rest, _ = clay(mesh=mesh, hardening=3e4)
    flow.flow(held(PULLED, rest), 0.01)
    strain = (STRESS - YIELD) / (3.0 * MU + 3e4)
    np.testing.assert_allclose(flow.plastic[9], strain, rtol=1e-12)


def test_a_body_without_plasticity_stays_elastic_beside_one_that_has_it(method) -> None:
    mesh = block((1, 1, 1), (1, 1, 1), (0, 0, 0))
    bodies = [
        SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), name="jelly"),
        SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), plasticity=Plasticity(YIELD)),
        SoftBody(mesh, CorotatedLinear(YOUNG, POISSON), name="other", plasticity=Plasticity(9e9)),
    ]
    system = System(Scene(bodies), torch.device("cpu"), torch.float64)
    flow = system.plastic_flow
    flow.flow(held(PULLED, system.rest_positions()), 0.01)
    alike, other = (flow.strains_of(part, flow.plastic) for part in system.elasticities)
    assert not alike[:6].any() and alike[6:].all() and not other.any()
    assert flow.plastic.shape == (10, flow.count) == (10, 18)


def flowed_on(device: str) -> list[torch.Tensor]:
    """Plastic strain, energy and gradient of a step, of tets that flow on a device."""
    body = SoftBody(
        block((1, 1, 1), (1, 1, 1), (0, 0, 0)),
        StableNeoHookean(YOUNG, POISSON),
        plasticity=Plasticity(YIELD, 0.2, 3e4, 0.05),
    )
    system = System(Scene([body]), torch.device(device), torch.float64)
    rest = system.rest_positions()
    positions = torch.as_tensor(PULLED, device=rest.device) @ rest
    system.plastic_flow.flow(positions, 0.1)
    (part,) = system.solved_elasticities
    part.begin_time_step(TimeStep(rest, rest, 0.1, 0.1))
    found = [system.plastic_flow.plastic, part.energy(positions), part.gradient(positions)]
    return [each.cpu() for each in found]


def test_nothing_on_a_cuda_device_meets_the_host() -> None:
    expected = flowed_on("cpu")
    with pretended_cuda():
        found = flowed_on("cuda")
    for own, other in zip(found, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_agrees_with_the_processor() -> None:
    for own, other in zip(flowed_on("cuda"), flowed_on("cpu"), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-12)


def test_tets_yield_at_stresses_of_their_own() -> None:
    mesh = block((2, 1, 1))
    stresses = np.linspace(1.0, 2.0, len(mesh.tets)) * 1e3
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), plasticity=Plasticity(stresses))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    strain = 0.02
    stretch = np.exp(np.array([strain, -0.5 * strain, -0.5 * strain]))
    flow = system.plastic_flow
    flow.flow(torch.as_tensor((mesh.vertices * stretch).T.copy()), 1.0)
    found = flow.strains_of(system.elasticities[0], flow.plastic)
    mu = YOUNG / (2.0 * (1.0 + POISSON))
    np.testing.assert_allclose(found.numpy(), strain - stresses / (3.0 * mu), rtol=1e-9)
    assert found.min() > 0.0
    with pytest.raises(SceneError, match=r"yield stress has the shape .* 12 tets"):
        SoftBody(mesh, plasticity=Plasticity(np.ones(3)))
    with pytest.raises(SceneError, match="must be above 0 Pa, not -2"):
        Plasticity(np.array([1.0, -2.0]))


YIELDING_ELASTICITY_YOUNG, YIELDING_ELASTICITY_YIELD, STEP = 1e5, 1e3, 0.04
KINDS = [kind for name, kind in MODELS.items() if name != "linear"]


def spread(like: torch.Tensor, seed: int, size: float) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return size * torch.randn(like.shape, generator=random, dtype=torch.float64)


def in_a_step(
    kind, young: float = YIELDING_ELASTICITY_YOUNG, keyed: Channel | None = None, **settings
) -> tuple[YieldingElasticity, torch.Tensor]:
    """A cube that has flowed before, and where it has come to."""
    more = {"compression_resistance": young} if kind is StVenantKirchhoff else {}
    material, plasticity = (
        kind(young, 0.3, **more),
        Plasticity(YIELDING_ELASTICITY_YIELD, **settings),
    )
    mesh = block((1, 1, 1), (1, 1, 1), (0, 0, 0))
    body = SoftBody(mesh, material, plasticity=plasticity, stiffness=keyed)
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    system.go_to(0, 1.0)
    rest = system.rest_positions()
    system.plastic_flow.flow(rest + spread(rest, 1, 0.05), STEP)
    (part,) = system.solved_elasticities
    assert isinstance(part, YieldingElasticity)
    part.begin_time_step(TimeStep(rest, rest, STEP, STEP))
    return part, rest + spread(rest, 2, 0.06)


def hessian(part: YieldingElasticity, x: torch.Tensor) -> torch.Tensor:
    """The (3N, 3N) Hessian, not projected."""
    count = x.shape[1]
    pattern = BlockPattern(part.corners.numpy(), np.arange(count), count, x.device)
    matrix = BlockMatrix(pattern, x.dtype)
    part.add_hessian(x, matrix, projected=False)
    return dense(matrix).reshape(3 * count, -1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "settings", [{}, {"hardening": 2e4, "creep_time": 0.1}, {"limit": 0.02}], ids=str
)
def test_derivatives_are_finite_differences(kind, settings) -> None:
    part, x = in_a_step(kind, **settings)
    h, direction = 1e-6, spread(x, 3, 1.0)
    after, before = x + h * direction, x - h * direction
    slope = float(part.energy(after) - part.energy(before)) / (2.0 * h)
    assert slope == pytest.approx(float((part.gradient(x) * direction).sum()), rel=1e-7)
    found = hessian(part, x) @ direction.T.ravel()
    expected = (part.gradient(after) - part.gradient(before)) / (2.0 * h)
    size = float(expected.abs().max())
    torch.testing.assert_close(found.view(-1, 3).T, expected, rtol=0.0, atol=1e-8 * size)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_keyed_stiffness_is_a_factor_on_youngs_modulus(kind) -> None:
    numbers = {"hardening": 2e4, "creep_time": 0.1}
    keyed, x = in_a_step(kind, keyed=Channel([1.0, 3.0]), **numbers)
    stiff, _ = in_a_step(kind, 3.0 * YIELDING_ELASTICITY_YOUNG, **numbers)
    assert keyed._yielding(x) is not None
    assert float(keyed.energy(x)) == pytest.approx(float(stiff.energy(x)), rel=1e-12)
    found, expected = keyed.gradient(x), stiff.gradient(x)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-12 * float(expected.abs().max()))
    found, expected = hessian(keyed, x), hessian(stiff, x)
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-11 * float(expected.abs().max()))


def test_equal_stretches_have_derivatives() -> None:
    part, _ = in_a_step(KINDS[0])
    rest = torch.as_tensor(part.tets.meshes[0][1].vertices.T)
    part._flow.set_plastic(None)
    part._yielding.forget()
    pulled = torch.diag(torch.tensor([1.3, 0.9, 0.9], dtype=torch.float64))
    x, h, direction = pulled @ rest, 1e-6, spread(rest, 3, 1.0)
    found = hessian(part, x) @ direction.T.ravel()
    expected = part.gradient(x + h * direction) - part.gradient(x - h * direction)
    expected /= 2.0 * h
    size = float(expected.abs().max())
    torch.testing.assert_close(found.view(-1, 3).T, expected, rtol=0.0, atol=1e-6 * size)


def test_stresses_of_a_step_are_those_after_its_flow() -> None:
    """The flow at its end therefore leaves the forces as they were."""
    part, x = in_a_step(KINDS[0])
    # A small elastic strain at yield: what differs is of its second order.
    before = part.gradient(x)
    part._flow.flow(x, STEP)
    part.begin_time_step(TimeStep(x, x, STEP, STEP))
    after = part.gradient(x)
    assert float((after - before).abs().max()) < 0.02 * float(after.abs().max())


def test_below_the_yield_stress_it_has_the_bits_of_the_elastic_energy() -> None:
    part, x = in_a_step(KINDS[0])
    part._flow.set_plastic(None)
    part._yielding.forget()
    rest = torch.as_tensor(part.tets.meshes[0][1].vertices.T)
    near = rest + 1e-3 * (x - rest)
    assert part._yielding(near) is None
    assert float(part.energy(near)) == part.kernel.energy(near)


def test_a_tet_at_its_limit_is_elastic_and_others_flow() -> None:
    """Whatever the first of them has come to."""
    limit = 0.02
    part, x = in_a_step(KINDS[0], limit=limit)
    plastic = part._flow.plastic.clone()
    size = limit * torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0, 1.0])[: plastic.shape[1]].double()
    plastic[:9] = torch.eye(3, dtype=torch.float64).ravel()[:, None]
    # F_p of a bar that has been pulled by so much for good, which keeps its volume.
    plastic[0], plastic[4], plastic[8] = (-size).exp(), (0.5 * size).exp(), (0.5 * size).exp()
    part._flow.set_plastic(plastic)
    part.begin_time_step(TimeStep(x, x, STEP, STEP))
    found = part._yielding(x)
    assert found is not None
    growth = found.law.gradient - _principal_stresses(found.material, found.sigma)
    flows = growth.abs().amax(0) > 1.0
    assert torch.equal(flows, size[found.which] == 0.0) and 0 < int(flows.sum()) < len(flows)
