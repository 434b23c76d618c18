# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Scene, SoftBody
from supple.core.adjoint.force_loops import DerivativesKernel, RestProducts
from supple.core.assembly.tets import Tets
from supple.core.kernels.elasticity import Constants
from supple.core.kernels.green_strain import GreenStrainKernel
from supple.core.materials import InvariantMaterial, NeoHookean, StableNeoHookean
from supple.core.math3.torch_matrices import matmul3
from supple.core.system import System
from supple.verification.meshes import block


@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean])
@pytest.mark.parametrize("flattened", [1.0, 0.05])
def test_forces_change_along_a_displacement_as_differences_say(
    model: type[InvariantMaterial], flattened: float
) -> None:
    """Also where a law ends and goes on along its tangent."""
    scene = Scene([SoftBody(block((2, 2, 2), (1, 1, 1)), model(1e5, 0.4))])
    part = System(scene, torch.device("cpu"), torch.float64).elasticities[0]
    kernel = DerivativesKernel(part.tets, Constants(part.material, part.tets.volumes))
    random = torch.Generator().manual_seed(0)
    positions = torch.as_tensor(scene.bodies[0].mesh.vertices.T.copy())
    positions = positions + 0.03 * torch.randn(positions.shape, generator=random).double()
    positions[2] *= flattened
    displacement = torch.randn(positions.shape, generator=random).double()
    found, works = kernel.along(positions, displacement)
    spread = 1e-7
    ends = [part.gradient(positions + sign * spread * displacement) for sign in (1.0, -1.0)]
    differences = (ends[0] - ends[1]) / (2.0 * spread)
    assert (found - differences).norm() < 1e-6 * differences.norm()
    work = (part.gradient(positions) * displacement).sum()
    of_moduli = (works[0] * part.material.mu + works[1] * part.material.lam).sum()
    torch.testing.assert_close(of_moduli, work)


@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean])
def test_work_changes_with_the_rest_shape_as_autograd_says(model: type[InvariantMaterial]) -> None:
    scene = Scene([SoftBody(block((1, 1, 2), (1, 1, 2)), model(1e5, 0.4))])
    part = System(scene, torch.device("cpu"), torch.float64).elasticities[0]
    tets, random = part.tets, torch.Generator().manual_seed(0)
    positions = torch.as_tensor(scene.bodies[0].mesh.vertices.T.copy())
    positions = positions + 0.05 * torch.randn(positions.shape, generator=random).double()
    along = torch.randn(positions.shape, generator=random).double()
    edges, directions = tets.edges(positions), tets.edges(along)
    volumes = tets.volumes.clone().requires_grad_()
    gradients = tets.shape_gradients[1:].clone().requires_grad_()
    f = matmul3(edges, gradients).permute(2, 0, 1)
    stress = volumes[:, None, None] * part.material.first_piola(f)
    work = (stress * matmul3(directions, gradients).permute(2, 0, 1)).sum()
    by = torch.autograd.grad(work, (volumes, gradients))
    products, weight = RestProducts(tets), 1.5
    kernel = DerivativesKernel(tets, Constants(part.material, tets.volumes))
    out, works = torch.zeros_like(positions), positions.new_zeros(2, len(tets))
    state = positions, torch.zeros_like(positions)
    kernel.add_along(state, along, (weight, 0.0), (out, out), works, products)
    expected = [weight * own for own in by]
    torch.testing.assert_close(products.grad_volumes(), expected[0])
    torch.testing.assert_close(
        products.grad_shape_gradients(gradients), expected[1], rtol=1e-9, atol=1e-7
    )
    products.clear()
    assert not products.sums.any()


@dataclass
class Found:
    """The results of a kernel."""

    by_positions: Tensor
    by_velocities: Tensor
    works: Tensor
    rest: RestProducts


def nothing(tets: Tets, like: Tensor, rows: int) -> Found:
    works = like.new_zeros(rows, len(tets))
    return Found(torch.zeros_like(like), torch.zeros_like(like), works, RestProducts(tets))


def along(
    tets: Tets,
    state: tuple[Tensor, Tensor],
    displacement: Tensor,
    moduli: tuple[Tensor, Tensor] | None,
    constants: Constants | None = None,
    factors: tuple[float, float] = (0.0, 1.0),
) -> Found:
    kernel = DerivativesKernel(tets, constants, moduli)
    found = nothing(tets, displacement, 2 if moduli is None else 4)
    out = found.by_positions, found.by_velocities
    kernel.add_along(state, displacement, factors, out, found.works, found.rest)
    return found


def example(
    material: InvariantMaterial | None = None,
) -> tuple[Tets, tuple[Tensor, Tensor], Tensor, tuple[Tensor, Tensor]]:
    """Tets, positions and velocities, a displacement, and moduli."""
    scene = Scene([SoftBody(block((2, 2, 2), (1, 1, 1)), material or StableNeoHookean())])
    tets = System(scene, torch.device("cpu"), torch.float64).elasticities[0].tets
    random = torch.Generator().manual_seed(0)
    rest = torch.as_tensor(scene.bodies[0].mesh.vertices.T.copy())
    first, velocities, displacement = (
        torch.randn(rest.shape, generator=random).double() for _ in range(3)
    )
    shear, bulk = (torch.rand(len(tets), generator=random).double() + 0.5 for _ in range(2))
    return tets, (rest + 0.1 * first, velocities), displacement, (shear, bulk)


def test_the_work_of_viscous_forces_changes_as_differences_say() -> None:
    tets, at, displacement, moduli = example()
    forces = GreenStrainKernel(tets)
    direction = torch.randn(displacement.shape, generator=torch.Generator().manual_seed(1)).double()

    def work(positions: Tensor, velocities: Tensor) -> float:
        out = torch.zeros_like(positions)
        forces.add_viscous_forces(positions, velocities, moduli[0], moduli[1], out)
        return float((out * displacement).sum())

    found = along(tets, at, displacement, moduli)
    for index, own in enumerate((found.by_positions, found.by_velocities)):
        ends = []
        for sign in (1.0, -1.0):
            moved = [part.clone() for part in at]
            moved[index] += sign * 1e-6 * direction
            ends.append(work(moved[0], moved[1]))
        slope = (ends[0] - ends[1]) / 2e-6
        assert float((own * direction).sum()) == pytest.approx(slope, rel=1e-7)
    pairs = zip(found.works[2:], moduli, strict=True)
    assert float(sum((own * modulus).sum() for own, modulus in pairs)) == pytest.approx(work(*at))
    moduli[1].zero_()
    assert float((found.works[2] * moduli[0]).sum()) == pytest.approx(work(*at))


def test_viscous_work_changes_with_the_rest_shape_as_autograd_says() -> None:
    tets, (positions, velocities), displacement, (shear, bulk) = example()
    volumes = tets.volumes.clone().requires_grad_()
    gradients = tets.shape_gradients[1:].clone().requires_grad_()
    f, rate, change = (
        matmul3(tets.edges(own), gradients) for own in (positions, velocities, displacement)
    )
    strain_rate = matmul3(f.transpose(0, 1), rate)
    strain_rate = 0.5 * (strain_rate + strain_rate.transpose(0, 1))
    trace = strain_rate.diagonal(dim1=0, dim2=1).sum(1)
    stress = 2.0 * shear * strain_rate + bulk * trace * torch.eye(3).double()[:, :, None]
    work = (volumes * (matmul3(f, stress) * change).sum((0, 1))).sum()
    expected = torch.autograd.grad(work, (volumes, gradients))
    found = along(tets, (positions, velocities), displacement, (shear, bulk))
    torch.testing.assert_close(found.rest.grad_volumes(), expected[0])
    torch.testing.assert_close(found.rest.grad_shape_gradients(gradients), expected[1])


@pytest.mark.parametrize("material", [StableNeoHookean(30.0, 0.4), NeoHookean(30.0, 0.4)])
def test_elasticity_of_the_same_tets_is_added(material: InvariantMaterial) -> None:
    tets, at, displacement, moduli = example(material)
    constants = Constants(material, tets.volumes)
    factors = 0.7, 1.3
    found = along(tets, at, displacement, moduli, constants, factors)
    viscous = along(tets, at, displacement, moduli, None, factors)
    elastic = along(tets, at, displacement, None, constants, factors)
    pairs = [
        (found.by_positions, viscous.by_positions + elastic.by_positions),
        (found.by_velocities, viscous.by_velocities),
        (found.works[:2], elastic.works),
        (found.works[2:], viscous.works[2:]),
        (torch.as_tensor(found.rest.sums), torch.as_tensor(viscous.rest.sums + elastic.rest.sums)),
    ]
    for own, expected in pairs:
        assert float(expected.norm()) > 0.0
        np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)
