# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core import Scene, SoftBody
from supple.core.adjoint.force_loops import ElasticDerivativesKernel, RestProducts
from supple.core.kernels.elasticity import Constants
from supple.core.materials import InvariantMaterial, NeoHookean, StableNeoHookean
from supple.core.math3.torch_matrices import matmul3
from supple.core.system import System
from supple.verification.meshes import block


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
    kernel = ElasticDerivativesKernel(Constants(part.material, tets.volumes), tets)
    sums = torch.zeros_like(positions), positions.new_zeros(2, len(tets))
    kernel.add_along(positions, weight * along, *sums, products)
    expected = [weight * own for own in by]
    torch.testing.assert_close(products.grad_volumes(), expected[0])
    torch.testing.assert_close(
        products.grad_shape_gradients(gradients), expected[1], rtol=1e-9, atol=1e-7
    )
    products.clear()
    assert not products.sums.any()
