# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.assembly import block_matrix
from supple.core.assembly.block_matrix import CORNER_PAIRS, BlockMatrix, BlockPattern
from supple.core.assembly.tets import Tets
from supple.core.kernels.elasticity import Constants, HessianKernel, has_kernel
from supple.core.materials import (
    AsRigidAsPossible,
    CorotatedLinear,
    Linear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials import Elasticity, elasticity
from supple.core.potentials.elasticity import TorchHessian
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.tests.core.smoothness import is_smooth

YOUNG = 1e4
RESISTANT = partial(StVenantKirchhoff, compression_resistance=1e3 * YOUNG)
MODELS = [
    StableNeoHookean,
    NeoHookean,
    CorotatedLinear,
    AsRigidAsPossible,
    StVenantKirchhoff,
    RESISTANT,
]
EVALUATORS = ["compiled", "passes"]


@pytest.fixture(params=MODELS)
def material(request: pytest.FixtureRequest) -> Material:
    return request.param(YOUNG, 0.4)


@pytest.fixture(params=EVALUATORS)
def evaluator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether Hessians are computed and assembled by compiled loops, or by torch passes."""
    if request.param == "passes":
        monkeypatch.setattr(elasticity, "has_kernel", lambda *_: False)
        monkeypatch.setattr(block_matrix, "runs_loops", lambda _: False)
    return request.param


def _separate_tets(count: int) -> TetMesh:
    """Unit tets, whose shape gradients have no rounding."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return TetMesh(np.tile(corners, (count, 1)), np.arange(4 * count).reshape(-1, 4))


def _both(
    material: Material, mesh: TetMesh, positions: torch.Tensor, projected: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Blocks of the compiled loop and of the passes."""
    tets = Tets([(0, mesh)], positions[0])
    assert has_kernel(material, tets.template)
    compiled, passes = positions.new_empty(2, len(mesh.tets), len(CORNER_PAIRS), 9)
    HessianKernel(Constants(material, tets.volumes), tets).blocks(positions, compiled, projected)
    TorchHessian(material, tets).blocks(positions, passes, projected)
    return compiled, passes


def _shaken(mesh: TetMesh, spread: float = 0.15) -> torch.Tensor:
    """(3, N), far enough from rest that tets are inverted."""
    noise = np.random.default_rng(11).normal(scale=spread, size=mesh.vertices.shape)
    return torch.as_tensor(np.ascontiguousarray((mesh.vertices + noise).T))


def _assembled(
    material: Material,
    mesh: TetMesh,
    positions: torch.Tensor,
    vertices: np.ndarray | None = None,
    projected: bool = True,
    times: int = 1,
) -> torch.Tensor:
    """The (3n, 3n) Hessian for n unknown vertices, by default all."""
    count = len(mesh.vertices)
    vertices = np.arange(count) if vertices is None else vertices
    potential = Elasticity(material, [(0, mesh)], positions[0])
    pattern = BlockPattern(potential.corners.numpy(), vertices, count, positions.device)
    matrix = BlockMatrix(pattern, positions.dtype)
    for _ in range(times):
        potential.add_hessian(positions, matrix, projected)
    return dense(matrix).reshape(3 * len(vertices), -1)


def _stress_differences(material: Material, f: torch.Tensor) -> torch.Tensor:
    """The (9, 9) derivative at one deformation gradient, by differences of fourth order."""
    h, columns = 1e-4, []
    for shift in torch.eye(9, dtype=f.dtype).view(9, 3, 3):
        stress = [material.first_piola((f + k * h * shift)[None]).flatten() for k in (-2, -1, 1, 2)]
        columns.append((stress[0] - 8.0 * stress[1] + 8.0 * stress[2] - stress[3]) / (12.0 * h))
    return torch.stack(columns, dim=1)


def _tet_by_tet(material: Material, mesh: TetMesh, positions: torch.Tensor) -> torch.Tensor:
    """(3N, 3N): each tet's Hessian by its corners, differentiated and clamped numerically."""
    total = torch.zeros(len(mesh.vertices), 3, len(mesh.vertices), 3, dtype=positions.dtype)
    for tet, gradients, volume in zip(
        mesh.tets, mesh.shape_gradients, mesh.rest_volumes, strict=True
    ):
        by_corner = torch.as_tensor(gradients)
        f = positions[:, tet] @ by_corner
        hessian = _stress_differences(material, f)
        values, vectors = torch.linalg.eigh(0.5 * (hessian + hessian.T))
        clamped = (vectors * values.clamp(min=0.0) @ vectors.T).view(3, 3, 3, 3)
        element = volume * torch.einsum("ak,ikjl,bl->aibj", by_corner, clamped, by_corner)
        for a, vertex in enumerate(tet):
            for b, other in enumerate(tet):
                total[vertex, :, other] += element[a, :, b]
    return total.reshape(positions.numel(), -1)


@pytest.mark.parametrize("projected", [True, False])
def test_the_compiled_loop_agrees_with_the_passes(
    material, deformation_gradients, projected: bool
) -> None:
    smooth = deformation_gradients[is_smooth(material, deformation_gradients)]
    # One at rest, so that there is one.
    gradients = torch.cat([smooth, torch.eye(3, dtype=torch.float64)[None]])
    mesh = _separate_tets(len(gradients))
    corners = torch.as_tensor(mesh.vertices).view(-1, 4, 3)
    positions = (corners @ gradients.mT).reshape(-1, 3).T.contiguous()
    compiled, passes = _both(material, mesh, positions, projected)
    torch.testing.assert_close(compiled, passes, rtol=1e-9, atol=1e-9 * YOUNG)


def test_the_compiled_loop_agrees_with_the_passes_where_each_tet_has_its_own_stiffness(
    make_block,
) -> None:
    mesh = make_block()
    young, poisson = np.random.default_rng(12).uniform([[1e3], [0.1]], [[1e6], [0.45]], (2, 48))
    for model in MODELS:
        material = model(torch.as_tensor(young), torch.as_tensor(poisson))
        compiled, passes = _both(material, mesh, _shaken(mesh))
        torch.testing.assert_close(compiled, passes, rtol=1e-9, atol=1e-3)
        uniform, _ = _both(model(young[7], poisson[7]), mesh, _shaken(mesh))
        torch.testing.assert_close(compiled[7], uniform[7])


@pytest.mark.parametrize("model", MODELS)
def test_the_hessian_is_the_finite_difference_of_the_gradient(make_block, evaluator, model) -> None:
    mesh, material = make_block(), model(YOUNG, 0.4)
    positions = _shaken(mesh)
    hessian = _assembled(material, mesh, positions, projected=False)
    potential = Elasticity(material, [(0, mesh)], positions[0])
    random, h = torch.Generator().manual_seed(13), 1e-7
    for _ in range(5):
        direction = torch.randn(positions.shape, generator=random, dtype=torch.float64)
        rise = potential.gradient(positions + h * direction) - potential.gradient(
            positions - h * direction
        )
        slope = (hessian @ direction.T.flatten()).view(-1, 3).T
        torch.testing.assert_close(slope, rise / (2.0 * h), rtol=1e-5, atol=1e-5 * YOUNG)


def test_the_matrix_of_the_linear_model_is_the_finite_difference_of_its_gradient(
    make_block,
) -> None:
    mesh = make_block()
    young = torch.linspace(1e3, 1e5, len(mesh.tets), dtype=torch.float64)
    body = SoftBody(mesh, Linear(young.numpy(), 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    (potential,) = system.elasticities
    pattern = BlockPattern(
        potential.corners.numpy(), np.arange(len(system.mass)), len(system.mass), system.device
    )
    matrix = BlockMatrix(pattern, torch.float64)
    positions = _shaken(mesh)
    potential.add_hessian(positions, matrix)
    random = torch.Generator().manual_seed(15)
    direction = torch.randn(positions.shape, generator=random, dtype=torch.float64)
    rise = potential.gradient(positions + direction) - potential.gradient(positions - direction)
    slope = (dense(matrix).reshape(positions.numel(), -1) @ direction.T.flatten()).view(-1, 3).T
    torch.testing.assert_close(slope, rise / 2.0)


@pytest.mark.parametrize("model", MODELS)
def test_the_assembled_matrix_is_that_of_a_tet_by_tet_reference(
    make_block, evaluator, model
) -> None:
    mesh, material = make_block((2, 1, 1)), model(YOUNG, 0.4)
    positions = _shaken(mesh)
    found = _assembled(material, mesh, positions)
    expected = _tet_by_tet(material, mesh, positions)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-7 * YOUNG)


def test_the_assembled_matrix_is_symmetric_and_positive_semi_definite(
    make_block, evaluator, material
) -> None:
    mesh = make_block()
    dense = _assembled(material, mesh, _shaken(mesh))
    torch.testing.assert_close(dense, dense.T, rtol=0.0, atol=1e-9 * YOUNG)
    values = torch.linalg.eigvalsh(dense)
    assert float(values[0]) > -1e-9 * float(values[-1])


@pytest.mark.parametrize("projected", [True, False])
def test_moving_everything_along_takes_no_force(
    make_block, evaluator, material, projected: bool
) -> None:
    mesh = make_block()
    dense = _assembled(material, mesh, _shaken(mesh), projected=projected)
    for axis in torch.eye(3, dtype=torch.float64):
        assert float((dense @ axis.repeat(len(mesh.vertices))).abs().max()) < 1e-9 * YOUNG


def test_pinned_vertices_have_no_rows_and_the_others_those_in_the_order_asked_for(
    make_block, evaluator, material
) -> None:
    mesh = make_block()
    positions = _shaken(mesh)
    free = np.random.default_rng(14).permutation(len(mesh.vertices))[3:]
    unknowns = (3 * free[:, None] + np.arange(3)).ravel()
    whole = _assembled(material, mesh, positions)
    found = _assembled(material, mesh, positions, free)
    torch.testing.assert_close(found, whole[unknowns][:, unknowns], rtol=1e-12, atol=1e-9)


def test_element_matrices_are_added_to_what_is_there(make_block, evaluator, material) -> None:
    mesh = make_block()
    once, twice = (_assembled(material, mesh, _shaken(mesh), times=n) for n in (1, 2))
    torch.testing.assert_close(twice, 2.0 * once)
