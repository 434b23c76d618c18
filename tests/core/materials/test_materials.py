# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from supple.core import Scene, SceneError, Simulator, SoftBody, materials
from supple.core.geometry.tet_mesh import signed_volumes
from supple.core.integrators import ImplicitEuler
from supple.core.materials import (
    Linear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.verification.meshes import block

MODELS = list(materials.MODELS.values())
# Those that a rotation does not strain.
OBJECTIVE = [model for model in MODELS if model is not Linear]


def _gradients(count: int = 20, spread: float = 0.3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(count, 3, 3, generator=generator, dtype=torch.float64)
    return torch.eye(3, dtype=torch.float64) + spread * noise


def _rotation() -> torch.Tensor:
    q, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))
    return torch.as_tensor(q * np.sign(np.linalg.det(q)))


def _uniaxial(material: Material, stretch: float) -> tuple[float, float]:
    """Lateral stretch and P₁₁ at which the sides are free of stress, by bisection."""

    def stress(lateral: float) -> torch.Tensor:
        f = torch.diag(torch.tensor([stretch, lateral, lateral], dtype=torch.float64))
        return material.first_piola(f[None])[0]

    low, high = 0.2, 3.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stress(middle)[1, 1] > 0 else (middle, high)
    return low, float(stress(low)[0, 0])


@pytest.mark.parametrize("model", MODELS)
def test_stress_is_the_finite_difference_of_the_energy(model) -> None:
    material = model(young=1e4, poisson=0.4)
    f, h = _gradients(5), 1e-6
    stress = material.first_piola(f)
    for i in range(3):
        for j in range(3):
            shift = torch.zeros(3, 3, dtype=torch.float64)
            shift[i, j] = h
            rise = material.energy_density(f + shift) - material.energy_density(f - shift)
            torch.testing.assert_close(stress[:, i, j], rise / (2 * h), rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_rest_has_neither_energy_nor_stress(model) -> None:
    material = model(young=1e6, poisson=0.3)
    f = torch.eye(3, dtype=torch.float64)[None]
    assert float(material.energy_density(f)) == pytest.approx(0.0, abs=1e-8)
    assert float(material.first_piola(f).abs().max()) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("model", OBJECTIVE)
def test_energy_does_not_see_a_rotation_before_or_after(model) -> None:
    material, f, r = model(young=1e4, poisson=0.4), _gradients(), _rotation()
    energy = material.energy_density(f)
    torch.testing.assert_close(material.energy_density(r @ f), energy)
    torch.testing.assert_close(material.energy_density(f @ r), energy)


def test_linear_elasticity_takes_a_rotation_for_a_deformation() -> None:
    assert float(Linear(1e4, 0.4).energy_density(_rotation()[None])) > 1e3


def test_the_corotated_energy_is_that_of_the_strain_in_the_turned_frame() -> None:
    material, f = materials.CorotatedLinear(1e4, 0.4), _gradients()
    u, _, vh = torch.linalg.svd(f)
    strain = (u @ vh).mT @ f - torch.eye(3, dtype=torch.float64)
    trace = strain.diagonal(dim1=1, dim2=2).sum(1)
    energy = material.mu * (strain**2).sum((1, 2)) + 0.5 * material.lam * trace**2
    # Of an inverted tet, this decomposition gives a reflection.
    upright = torch.linalg.det(f) > 0
    torch.testing.assert_close(material.energy_density(f)[upright], energy[upright])


def test_the_energy_as_rigid_as_possible_is_the_distance_to_a_rotation() -> None:
    material, f = materials.AsRigidAsPossible(1e4, 0.4), _gradients()
    u, _, vh = torch.linalg.svd(f)
    distance = ((f - u @ vh) ** 2).sum((1, 2))
    upright = torch.linalg.det(f) > 0
    torch.testing.assert_close(material.energy_density(f)[upright], material.mu * distance[upright])


def test_the_st_venant_kirchhoff_energy_is_quadratic_in_the_green_strain() -> None:
    material, f = StVenantKirchhoff(1e4, 0.4), _gradients()
    strain = 0.5 * (f.mT @ f - torch.eye(3, dtype=torch.float64))
    trace = strain.diagonal(dim1=1, dim2=2).sum(1)
    energy = material.mu * (strain**2).sum((1, 2)) + 0.5 * material.lam * trace**2
    torch.testing.assert_close(material.energy_density(f), energy)
    stress = f @ (
        2 * material.mu * strain
        + material.lam * trace[:, None, None] * torch.eye(3, dtype=torch.float64)
    )
    torch.testing.assert_close(material.first_piola(f), stress)


def test_st_venant_kirchhoff_is_weakest_at_a_third_of_its_squared_length() -> None:
    # P = E s (s² − 1)/2 at ν = 0, least at s² = 1/3.
    material = StVenantKirchhoff(1e4, 0.0)
    stretches = torch.tensor([0.99, 1.0, 1.01], dtype=torch.float64) / np.sqrt(3.0)
    f = torch.diag_embed(torch.stack([stretches, *torch.ones(2, 3).double()], dim=1))
    push = material.first_piola(f)[:, 0, 0]
    assert push[1] < push[0]
    assert push[1] < push[2]
    assert float(push[1]) == pytest.approx(-1e4 / (3.0 * np.sqrt(3.0)))


def test_the_guard_holds_st_venant_kirchhoff_against_collapse() -> None:
    flat = torch.diag(torch.tensor([0.05, 1.0, 1.0], dtype=torch.float64))[None]
    bare, resistant = (
        StVenantKirchhoff(1e4, 0.0),
        StVenantKirchhoff(1e4, 0.0, compression_resistance=1e7),
    )
    pushes = [float(-m.first_piola(flat)[0, 0, 0]) for m in (bare, resistant)]
    # κ/864 (1 − J)² more.
    assert pushes[1] - pushes[0] == pytest.approx(1e7 / 864.0 * 0.95**2)
    assert pushes[1] > 10.0 * pushes[0]


def test_a_negative_guard_is_refused() -> None:
    with pytest.raises(SceneError, match=r"compression resistance must be 0 Pa or more, not -1"):
        StVenantKirchhoff(1e4, 0.3, compression_resistance=-1.0)


@pytest.mark.parametrize("model", MODELS)
def test_small_strains_follow_linear_elasticity(model) -> None:
    material = model(young=1e6, poisson=0.3)
    strain = torch.tensor([[1.0, 0.5, 0.2], [0.5, -2.0, 0.3], [0.2, 0.3, 0.7]]).double() * 1e-6
    linear = 2 * material.mu * strain + material.lam * strain.trace() * torch.eye(3).double()
    stress = material.first_piola(torch.eye(3).double() + strain[None])[0]
    torch.testing.assert_close(stress, linear, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("young", "poisson", "stretch", "lateral", "stress"),
    [(1000.0, 0.3, 3.0, 0.64696, 1331.553), (1e5, 0.45, 0.5, 1.331937, -110935.1)],
)
def test_stable_neo_hookean_matches_uniaxial_reference_values(
    young: float, poisson: float, stretch: float, lateral: float, stress: float
) -> None:
    found = _uniaxial(StableNeoHookean(young, poisson), stretch)
    assert found == pytest.approx((lateral, stress), rel=1e-5)


def test_neo_hookean_matches_its_uniaxial_closed_form() -> None:
    # Free sides: μ (l − 1/l) + λ (J − 1) J / l = 0 with J = s l²; the axial stress follows.
    material, stretch = NeoHookean(1000.0, 0.3), 2.0
    lateral, stress = _uniaxial(material, stretch)
    j = stretch * lateral**2
    mu, lam = material.mu, material.lam
    assert mu * (lateral - 1 / lateral) + lam * (j - 1) * j / lateral == pytest.approx(0, abs=1e-6)
    assert stress == pytest.approx(mu * (stretch - 1 / stretch) + lam * (j - 1) * j / stretch)


@pytest.mark.parametrize("model", MODELS)
def test_inverted_and_flat_tets_have_finite_energy_and_stress(model) -> None:
    material = model(young=1e4, poisson=0.45)
    f = torch.stack([torch.diag(torch.tensor(d)) for d in ([1.0, 1, -1], [1, 1, 0], [0, 0, 0])])
    assert torch.isfinite(material.energy_density(f.double())).all()
    assert torch.isfinite(material.first_piola(f.double())).all()


def test_neo_hookean_is_continuous_where_j_is_clamped() -> None:
    material = NeoHookean(1e4, 0.3, j_min=0.2, j_max=4.0)
    for limit in (0.2, 4.0):
        j = torch.tensor([limit - 1e-9, limit + 1e-9], dtype=torch.float64)
        energy = material.energy(torch.full_like(j, 3.0), j)
        _, slope = material.derivatives(torch.full_like(j, 3.0), j)
        assert float(energy[0]) == pytest.approx(float(energy[1]), abs=1e-3)
        assert float(slope[0]) == pytest.approx(float(slope[1]), rel=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_parameters_may_differ_from_tet_to_tet(model) -> None:
    f = _gradients(2)
    both = model(
        young=torch.tensor([1e4, 1e6], dtype=torch.float64),
        poisson=torch.tensor([0.2, 0.4], dtype=torch.float64),
    )
    stress = both.first_piola(f)
    for index, (young, poisson) in enumerate([(1e4, 0.2), (1e6, 0.4)]):
        torch.testing.assert_close(stress[index], model(young, poisson).first_piola(f)[index])


@pytest.mark.parametrize(
    ("young", "poisson", "message"),
    [
        (0.0, 0.3, r"Stiffness \(Young's modulus\) must be above 0 Pa, not 0"),
        (-1.0, 0.3, "Young's modulus"),
        (float("nan"), 0.3, "Young's modulus"),
        (1e5, 0.5, "Poisson's ratio must lie above -1 and below 0.5, not 0.5"),
        (1e5, -1.0, "not -1"),
        (np.array([1e5, -2.0]), 0.3, "not -2"),
        (np.float32(-1.0), 0.3, "not -1"),
        (np.int64(0), 0.3, "not 0"),
        (torch.tensor([1e5, -2.0]), 0.3, "not -2"),
        (1e5, torch.tensor(0.5, requires_grad=True), "not 0.5"),
        (torch.tensor(1e5), 0.5, "not 0.5"),
    ],
)
def test_parameters_out_of_range_are_refused(young, poisson, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        StableNeoHookean(young, poisson)


def test_the_poisson_ratio_that_a_refusal_advises_runs_and_keeps_volume() -> None:
    """A bar of 1 m, pulled down by its weight, hangs from its top."""
    with pytest.raises(SceneError) as refusal:
        StableNeoHookean(1e4, 0.5)
    advised = re.findall(r"(0\.\d+) is as good as incompressible", str(refusal.value))
    assert advised == ["0.4999"]
    mesh = block((2, 2, 4), (0.5, 0.5, 1.0))
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    volumes = {}
    for poisson in (0.4, float(advised[0])):
        bar = SoftBody(mesh, StableNeoHookean(2e4, poisson), pinned=top)
        settled = Simulator(Scene([bar]), ImplicitEuler()).settle()
        points = settled.positions[0].numpy()
        assert points[:, 2].min() < -0.1
        volumes[poisson] = signed_volumes(points, mesh.tets).sum() / mesh.rest_volumes.sum()
    assert volumes[0.4] > 1.03
    assert volumes[0.4999] == pytest.approx(1.0, abs=1e-3)
