# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.adjoint.implicit_run import conjugate_residuals
from supple.core.adjoint.sag_free import RestShapeChange
from supple.core.materials import CorotatedLinear, Material, StableNeoHookean
from supple.core.system import System
from supple.verification.meshes import block

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
