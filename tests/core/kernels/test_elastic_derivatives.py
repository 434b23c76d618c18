# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core import Scene, SoftBody
from supple.core.adjoint.force_loops import ElasticDerivativesKernel
from supple.core.kernels.elasticity import Constants
from supple.core.materials import InvariantMaterial, NeoHookean, StableNeoHookean
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
    kernel = ElasticDerivativesKernel(Constants(part.material, part.tets.volumes), part.tets)
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
