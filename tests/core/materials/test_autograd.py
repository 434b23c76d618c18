# SPDX-License-Identifier: GPL-3.0-or-later
"""Energy densities and stresses on autograd's tape."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch

from supple.core import materials
from supple.core.materials import MODELS, Material, StVenantKirchhoff

YOUNG, POISSON = 1e4, 0.4

#: By name; those with settings of their own that change the law, once more.
MATERIALS = {name: model(YOUNG, POISSON) for name, model in MODELS.items()} | {
    "resistant": StVenantKirchhoff(YOUNG, POISSON, compression_resistance=1e3 * YOUNG)
}

#: Where every law is smooth.
STRETCHES = {
    "rest": (1.0, 1.0, 1.0),
    "swollen alike": (1.3, 1.3, 1.3),
    "two alike": (1.4, 1.4, 0.6),
    "nearly alike": (1.4, 1.4 + 1e-9, 0.6),
    "all different": (2.0, 1.3, 0.7),
    "inverted": (1.2, 0.9, -0.5),
}


@pytest.fixture(params=MATERIALS)
def material(request: pytest.FixtureRequest) -> Material:
    return MATERIALS[request.param]


@pytest.fixture(params=STRETCHES)
def f(request: pytest.FixtureRequest) -> torch.Tensor:
    """(M, 3, 3): as they stand, and turned on both sides."""
    random = torch.Generator().manual_seed(6)
    u, v = torch.linalg.qr(torch.randn(2, 5, 3, 3, generator=random, dtype=torch.float64))[0]
    u, v = (r * torch.linalg.det(r)[:, None, None] for r in (u, v))
    stretched = torch.diag(torch.tensor(STRETCHES[request.param], dtype=torch.float64))
    return torch.cat([stretched[None], u @ stretched @ v.mT])


def test_every_material_there_is_has_a_name_and_is_tested_here():
    concrete = {
        value
        for value in vars(materials).values()
        if inspect.isclass(value) and issubclass(value, Material) and not inspect.isabstract(value)
    }
    assert concrete == set(MODELS.values()) == {type(each) for each in MATERIALS.values()}


def test_the_gradient_of_the_energy_is_the_stress(material, f):
    f = f.requires_grad_()
    (found,) = torch.autograd.grad(material.energy_density(f).sum(), f)
    torch.testing.assert_close(found, material.first_piola(f.detach()), rtol=1e-10, atol=1e-6)


def test_the_gradient_of_the_stress_is_its_finite_difference(material, f):
    found = _jacobian(material.first_piola, f)
    h = 1e-6
    for column, shift in enumerate(h * torch.eye(9, dtype=f.dtype).view(9, 3, 3)):
        rise = material.first_piola(f + shift) - material.first_piola(f - shift)
        expected = rise.flatten(1) / (2.0 * h)
        torch.testing.assert_close(found[..., column], expected, rtol=1e-6, atol=1e-5 * YOUNG)


def test_the_energy_can_be_differentiated_twice(material, f):
    def stress(f: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(material.energy_density(f).sum(), f, create_graph=True)[0]

    found, expected = _jacobian(stress, f), _jacobian(material.first_piola, f)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_energy_and_stress_are_differentiated_by_youngs_modulus(name, f):
    young = torch.full((len(f),), YOUNG, dtype=f.dtype, requires_grad=True)
    material = MODELS[name](young, POISSON)
    # Both are in proportion to it.
    (by_young,) = torch.autograd.grad(material.energy_density(f).sum(), young)
    torch.testing.assert_close(by_young, material.energy_density(f).detach() / YOUNG)
    stress = material.first_piola(f)
    rows = [
        torch.autograd.grad(each.sum(), young, retain_graph=True)[0] for each in entries(stress)
    ]
    torch.testing.assert_close(torch.stack(rows, dim=1), stress.detach().flatten(1) / YOUNG)


@pytest.mark.parametrize("name", MODELS)
def test_the_stress_from_the_energy_is_differentiated_by_both_moduli(name, f):
    f = f.requires_grad_()
    poisson = torch.full((len(f),), POISSON, dtype=f.dtype, requires_grad=True)
    young = torch.full((len(f),), YOUNG, dtype=f.dtype, requires_grad=True)
    material = MODELS[name](young, poisson)
    by_poisson, by_young = torch.autograd.grad(
        material.energy_density(f).sum(), (poisson, young), create_graph=True
    )
    by_both = torch.autograd.grad(by_poisson.sum(), f, retain_graph=True)[0]
    h = 1e-5
    more, less = (MODELS[name](YOUNG, POISSON + shift).first_piola(f) for shift in (h, -h))
    torch.testing.assert_close(by_both, (more - less).detach() / (2.0 * h), rtol=1e-6, atol=1e-2)
    by_both = torch.autograd.grad(by_young.sum(), f)[0]
    stress = MODELS[name](YOUNG, POISSON).first_piola(f).detach()
    torch.testing.assert_close(by_both, stress / YOUNG)


def entries(stress: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return stress.reshape(-1, 9).unbind(1)


def _jacobian(stress: Callable[[torch.Tensor], torch.Tensor], f: torch.Tensor) -> torch.Tensor:
    """(M, 9, 9): the entries of the stress by those of F."""
    f = f.clone().requires_grad_()
    rows = [torch.autograd.grad(each.sum(), f, retain_graph=True)[0] for each in entries(stress(f))]
    return torch.stack(rows, dim=1).reshape(-1, 9, 9)
