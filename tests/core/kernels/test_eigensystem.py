# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.materials import (
    AsRigidAsPossible,
    CorotatedLinear,
    InvariantMaterial,
    Material,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.math3.torch_matrices import Eigensystem, eigensystem
from supple.tests.core.smoothness import is_smooth

YOUNG = 1e4


class Coupled(InvariantMaterial):
    """Ψ = μ/2 (I_C − 3) J: unlike the others, not a sum of terms in I_C and in J."""

    @staticmethod
    def strain_energy_density(i_c, j, mu, lam, log):
        return 0.5 * mu * (i_c - 3.0) * j

    @staticmethod
    def first_derivatives(i_c, j, mu, lam):
        return mu * j, 0.5 * mu * (i_c - 3.0)

    @staticmethod
    def second_derivatives(i_c, j, mu, lam):
        return 0.0, mu, 0.0


MATERIALS = [
    StableNeoHookean(YOUNG, 0.4),
    NeoHookean(YOUNG, 0.4, j_min=0.1, j_max=10.0),
    Coupled(YOUNG, 0.4),
    CorotatedLinear(YOUNG, 0.4),
    AsRigidAsPossible(YOUNG, 0.4),
    StVenantKirchhoff(YOUNG, 0.4),
    StVenantKirchhoff(YOUNG, 0.4, compression_resistance=1e3 * YOUNG),
]


@pytest.fixture(params=MATERIALS, ids=lambda material: type(material).__name__)
def material(request: pytest.FixtureRequest) -> Material:
    return request.param


def _component_first(matrices: torch.Tensor) -> torch.Tensor:
    return matrices.permute(1, 2, 0).contiguous()


def _assembled(system: Eigensystem) -> torch.Tensor:
    """(M, 9, 9)."""
    count = system.stretch.shape[2]
    axes = torch.eye(3, dtype=system.stretch.dtype)[:, :, None].expand(3, 3, count)
    rows = [torch.stack([system.contract(a, b) for b in axes]) for a in axes]
    # (k, l, i, j, M) to (M, i, k, j, l)
    return torch.stack(rows).permute(4, 2, 0, 3, 1).reshape(count, 9, 9)


def _by_differences(material: Material, f: torch.Tensor, h: float = 1e-4) -> torch.Tensor:
    """The (M, 9, 9) derivatives from differences of the stress, of fourth order."""
    columns = []
    for shift in h * torch.eye(9, dtype=f.dtype).view(9, 3, 3):
        near, far = (
            material.first_piola(f + n * shift) - material.first_piola(f - n * shift)
            for n in (1.0, 2.0)
        )
        columns.append((8.0 * near - far).reshape(-1, 9) / (12.0 * h))
    return torch.stack(columns, dim=2)


def _by_differentiation(material: Material, f: torch.Tensor) -> torch.Tensor:
    """The (M, 9, 9) derivatives from automatic differentiation of the stress."""
    f = f.clone().requires_grad_()
    stress = material.first_piola(f).reshape(-1, 9)
    rows = [torch.autograd.grad(s.sum(), f, retain_graph=True)[0] for s in stress.unbind(1)]
    return torch.stack(rows, dim=1).reshape(-1, 9, 9)


def _clamped(hessians: torch.Tensor) -> torch.Tensor:
    values, vectors = torch.linalg.eigh(0.5 * (hessians + hessians.mT))
    return vectors * values.clamp(min=0.0)[:, None] @ vectors.mT


def test_the_hessian_is_the_finite_difference_of_the_stress(
    material, deformation_gradients
) -> None:
    f = deformation_gradients[is_smooth(material, deformation_gradients)]
    found = _assembled(eigensystem(material, _component_first(f)))
    expected = _by_differences(material, f)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-4 * YOUNG)


def test_the_hessian_is_the_second_finite_difference_of_the_energy(
    material, deformation_gradients
) -> None:
    f, h = deformation_gradients[is_smooth(material, deformation_gradients)], 1e-4
    found = _assembled(eigensystem(material, _component_first(f)))
    random = torch.Generator().manual_seed(7)
    direction = torch.randn(9, generator=random, dtype=f.dtype)
    shift = h * direction.view(3, 3)
    before, here, after = (material.energy_density(f + k * shift) for k in (-1.0, 0.0, 1.0))
    expected = (before - 2.0 * here + after) / h**2
    torch.testing.assert_close(
        found @ direction @ direction, expected, rtol=1e-4, atol=1e-4 * YOUNG
    )


def test_the_projected_hessian_is_the_nearest_positive_semi_definite_one(
    material, deformation_gradients
) -> None:
    f = deformation_gradients[is_smooth(material, deformation_gradients)]
    system = eigensystem(material, _component_first(f)).projected()
    if isinstance(material, InvariantMaterial):
        expected, tolerance = _by_differentiation(material, f), 1e-9
    else:
        expected, tolerance = _by_differences(material, f), 1e-4
    found, clamped = _assembled(system), _clamped(expected)
    torch.testing.assert_close(found, clamped, rtol=tolerance, atol=tolerance * YOUNG)


def test_the_projected_hessian_has_no_negative_eigenvalue(material, deformation_gradients) -> None:
    system = eigensystem(material, _component_first(deformation_gradients)).projected()
    values = torch.linalg.eigvalsh(_assembled(system))
    assert (values[:, 0] >= -1e-9 * values[:, -1].clamp(min=YOUNG)).all()


def test_a_positive_definite_hessian_is_left_as_it_is(material) -> None:
    random = torch.Generator().manual_seed(8)
    f = torch.eye(3, dtype=torch.float64)[:, :, None]
    f = f + 0.1 * torch.rand(3, 3, 50, generator=random, dtype=torch.float64)
    system = eigensystem(material, f)
    hessians = _assembled(system)
    definite = torch.linalg.eigvalsh(hessians)[:, 0] > 0.0
    assert int(definite.sum()) > 10
    torch.testing.assert_close(_assembled(system.projected())[definite], hessians[definite])


def test_each_tet_may_have_its_own_parameters() -> None:
    random = torch.Generator().manual_seed(9)
    f = torch.randn(3, 3, 2, generator=random, dtype=torch.float64)
    young, poisson = [1e4, 1e6], [0.2, 0.45]
    for model in (StableNeoHookean, NeoHookean):
        both = model(*(torch.tensor(p, dtype=torch.float64) for p in (young, poisson)))
        found = _assembled(eigensystem(both, f).projected())
        for tet in range(2):
            alone = eigensystem(model(young[tet], poisson[tet]), f[:, :, tet : tet + 1])
            torch.testing.assert_close(found[tet], _assembled(alone.projected())[0])


def test_no_value_is_looked_at_so_that_an_accelerator_never_waits(material) -> None:
    # Tensors on this device have none.
    f = torch.empty(3, 3, 5, device="meta")
    assert eigensystem(material, f).projected().contract(f[0], f[1]).shape == (3, 3, 5)
