# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, TetMesh
from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.assembly.tets import Tets
from supple.core.potentials import Viscosity, viscosity
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.tests.core.pretended_cuda import pretended_cuda

SPAN = 0.02


@pytest.fixture(params=["compiled", "passes"])
def evaluator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "passes":
        monkeypatch.setattr(viscosity, "runs_loops", lambda _: False)
    return request.param


def _random(like: np.ndarray, seed: int, spread: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(like.T.shape, generator=generator, dtype=torch.float64)


def _viscosity(mesh: TetMesh) -> Viscosity:
    """Every tet with coefficients of its own."""
    tets = Tets([(0, mesh)], torch.as_tensor(mesh.vertices.T)[0])
    steps = torch.linspace(0.0, 1.0, len(mesh.tets), dtype=torch.float64)
    return Viscosity(tets, 3.0 + 2.0 * steps, 5.0 - 3.0 * steps)


def _begun(mesh: TetMesh) -> tuple[Viscosity, torch.Tensor]:
    """In the middle of a step, and where it has come to."""
    resistance = _viscosity(mesh)
    start = torch.as_tensor(mesh.vertices.T) + _random(mesh.vertices, 1, 0.05)
    resistance.begin_step(SPAN, [(4.0 / 3.0, start), (-1.0 / 3.0, start + 0.01)])
    return resistance, start + _random(mesh.vertices, 2, 0.05)


def _stress(resistance: Viscosity, e: int, strain: np.ndarray) -> np.ndarray:
    shear, bulk = float(resistance._shear[e]), float(resistance._bulk[e])
    return 2.0 * shear * strain + bulk * np.trace(strain) * np.eye(3)


def test_forces_and_energy_match_a_tet_by_tet_reference(make_block, evaluator) -> None:
    mesh = make_block((2, 1, 1))
    resistance = _viscosity(mesh)
    x = mesh.vertices + _random(mesh.vertices, 1, 0.1).T.numpy()
    v = _random(mesh.vertices, 2, 1.0).T.numpy()
    y = x + SPAN * v
    forces, energy = np.zeros_like(x), 0.0
    for e, tet in enumerate(mesh.tets):
        g, volume = mesh.shape_gradients[e], mesh.rest_volumes[e]
        f, change, after = x[tet].T @ g, v[tet].T @ g, y[tet].T @ g
        rate = 0.5 * (f.T @ change + change.T @ f)
        forces[tet] += volume * (f @ _stress(resistance, e, rate) @ g.T).T
        grown = 0.5 * (after.T @ after - f.T @ f)
        energy += 0.5 * volume / SPAN * np.sum(grown * _stress(resistance, e, grown))
    found = torch.zeros(3, len(x), dtype=torch.float64)
    resistance.add_rate_forces(torch.as_tensor(x.T.copy()), torch.as_tensor(v.T.copy()), found)
    np.testing.assert_allclose(found.T.numpy(), forces, rtol=1e-10, atol=1e-12)
    resistance.begin_step(SPAN, [(1.0, torch.as_tensor(x.T.copy()))])
    assert float(resistance.energy(torch.as_tensor(y.T.copy()))) == pytest.approx(energy, rel=1e-10)


def test_the_gradient_of_a_step_is_the_finite_difference_of_its_energy(
    make_block, evaluator
) -> None:
    resistance, positions = _begun(make_block())
    gradient = resistance.gradient(positions)
    for seed in range(5):
        direction = 1e-6 * _random(make_block().vertices, 10 + seed, 1.0)
        rise = resistance.energy(positions + direction) - resistance.energy(positions - direction)
        slope = 2.0 * float((gradient * direction).sum())
        assert float(rise) == pytest.approx(slope, rel=1e-6)


def _hessian(resistance: Viscosity, positions: torch.Tensor, projected: bool) -> torch.Tensor:
    count = positions.shape[1]
    corners = resistance.tets.corners.numpy()
    matrix = BlockMatrix(
        BlockPattern(corners, np.arange(count), count, positions.device), positions.dtype
    )
    resistance.add_hessian(positions, matrix, projected)
    return dense(matrix).reshape(3 * count, -1)


def test_the_hessian_of_a_step_is_the_finite_difference_of_its_gradient(
    make_block, evaluator
) -> None:
    resistance, positions = _begun(make_block((2, 1, 1)))
    hessian, h = _hessian(resistance, positions, projected=False), 1e-6
    for seed in range(5):
        direction = _random(make_block((2, 1, 1)).vertices, 20 + seed, 1.0)
        after, before = (resistance.gradient(positions + s * h * direction) for s in (1, -1))
        expected = ((after - before) / (2 * h)).T.reshape(-1)
        found = hessian @ direction.T.reshape(-1)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-4)


def test_the_projected_hessian_has_no_negative_eigenvalue(make_block, evaluator) -> None:
    resistance, positions = _begun(make_block((2, 1, 1)))
    values = torch.linalg.eigvalsh(_hessian(resistance, positions, projected=True))
    assert float(values[0]) > -1e-9 * float(values[-1])
    at_start = resistance._strains.strain(positions)
    resistance._before.copy_(at_start)
    true, projected = (_hessian(resistance, positions, p) for p in (False, True))
    torch.testing.assert_close(true, projected)


def test_rigid_motion_is_not_resisted(make_block, evaluator) -> None:
    mesh = make_block()
    resistance = _viscosity(mesh)
    positions = torch.as_tensor(mesh.vertices.T) + _random(mesh.vertices, 1, 0.1)
    spin = torch.tensor([[0.0, -3.0, 2.0], [3.0, 0.0, -1.0], [-2.0, 1.0, 0.0]]).double()
    velocities = spin @ positions + torch.tensor([[1.0], [2.0], [3.0]]).double()
    forces = torch.zeros_like(positions)
    resistance.add_rate_forces(positions, velocities, forces)
    assert float(forces.abs().max()) < 1e-12


def test_what_runs_on_cuda_does_not_wait_for_it(make_block) -> None:
    mesh = make_block()
    body = SoftBody(mesh, stiffness_damping=0.01, viscosity=2.0)
    velocities = _random(mesh.vertices, 3, 1.0)
    expected = torch.zeros_like(velocities)
    on_host = System(Scene([body]), torch.device("cpu"), torch.float64)
    on_host.add_rate_forces(on_host.rest_positions(), velocities, expected)
    with pretended_cuda() as device:
        system = System(Scene([body]), torch.device("cuda"), torch.float64)
        positions, given = system.rest_positions(), velocities.to("cuda")
        found = torch.zeros_like(positions)
        system.add_rate_forces(positions, given, found)
        found.zero_()
        before = device.waits
        system.add_rate_forces(positions, given, found)
        assert device.waits == before
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-9, atol=1e-12)
