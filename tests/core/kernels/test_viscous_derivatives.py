# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core import Scene, SoftBody
from supple.core.compiled import is_compiled
from supple.core.kernels.viscous_derivatives import ViscousDerivativesKernel
from supple.core.system import System
from supple.verification.meshes import block

pytestmark = pytest.mark.skipif(not is_compiled(), reason="numba is missing")


def test_the_work_of_viscous_forces_changes_as_differences_say() -> None:
    scene = Scene([SoftBody(block((2, 2, 2), (1, 1, 1)))])
    tets = System(scene, torch.device("cpu"), torch.float64).elasticities[0].tets
    kernel, random = ViscousDerivativesKernel(tets), torch.Generator().manual_seed(0)
    rest = torch.as_tensor(scene.bodies[0].mesh.vertices.T.copy())
    along = [torch.randn(rest.shape, generator=random).double() for _ in range(3)]
    displacement = torch.randn(rest.shape, generator=random).double()
    at = [rest + 0.1 * along[0], along[1]]
    moduli = [torch.rand(len(tets), generator=random).double() + 0.5 for _ in range(2)]

    def work(positions: torch.Tensor, velocities: torch.Tensor) -> float:
        out = torch.zeros_like(positions)
        kernel.add_viscous_forces(positions, velocities, moduli[0], moduli[1], out)
        return float((out * displacement).sum())

    *found, works = kernel.along(at[0], at[1], displacement, *moduli)
    for index, own in enumerate(found):
        ends = []
        for sign in (1.0, -1.0):
            moved = [part.clone() for part in at]
            moved[index] += sign * 1e-6 * along[2]
            ends.append(work(*moved))
        slope = (ends[0] - ends[1]) / 2e-6
        assert float((own * along[2]).sum()) == pytest.approx(slope, rel=1e-7)
    whole = sum((own * modulus).sum() for own, modulus in zip(works, moduli, strict=True))
    assert float(whole) == pytest.approx(work(*at))
    moduli[1].zero_()
    assert float((works[0] * moduli[0]).sum()) == pytest.approx(work(*at))
