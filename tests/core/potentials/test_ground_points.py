# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground's energies of points that follow several vertices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.potentials import GroundBarrier, GroundFriction, Potential
from supple.core.potentials.ground import EmbeddedPoints
from supple.tests.core.dense import dense
from supple.tests.core.rubbing import alike

REACH, SLIP = 0.5, 0.02
#: Two tets that share a face.
TETS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]], dtype=np.int32).T
#: Points within, on an edge, at a vertex, and outside.
CORNERS = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 3], [4, 4, 4, 4], [1, 2, 3, 4]]).T
SHARES = torch.tensor(
    [[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.4, -0.4]],
    dtype=torch.float64,
).T
FREE = torch.tensor([True, True, True, False, True])


@pytest.fixture
def positions() -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    places = torch.rand(3, 5, generator=generator, dtype=torch.float64)
    places[2] = 0.05 + 0.3 * places[2]
    return places


@pytest.fixture
def barrier() -> GroundBarrier:
    points = EmbeddedPoints(CORNERS.contiguous(), SHARES.contiguous(), FREE)
    weights = torch.tensor([30.0, 5.0, 12.0, 7.0], dtype=torch.float64)
    return GroundBarrier(points, weights, 0.0, torch.full_like(weights, REACH))


@pytest.fixture(params=["barrier", "friction"])
def energy(
    request: pytest.FixtureRequest, barrier: GroundBarrier, positions: torch.Tensor
) -> Potential:
    if request.param == "barrier":
        return barrier
    friction = GroundFriction(
        barrier, alike(barrier.weights, 0.4), torch.ones_like(barrier.weights)
    )
    friction.begin_step(positions - 0.3 * SLIP, torch.full_like(barrier.weights, SLIP))
    return friction


def _directions() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(6)
    return [torch.randn(3, 5, generator=generator, dtype=torch.float64) for _ in range(4)]


def test_a_gradient_is_the_difference_of_energies(energy: Potential, positions) -> None:
    gradient = energy.gradient(positions)
    for way in _directions():
        rise = energy.energy(positions + 1e-6 * way) - energy.energy(positions - 1e-6 * way)
        assert float(rise) / 2e-6 == pytest.approx(float((gradient * way).sum()), rel=1e-6)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_hessian_is_the_difference_of_gradients(
    energy: Potential, positions, is_compiled: bool, request: pytest.FixtureRequest
) -> None:
    if not is_compiled:
        request.getfixturevalue("without_compiled_loops")
    free = np.flatnonzero(FREE.numpy())
    pattern = BlockPattern(TETS, free, 5, positions.device)
    matrix = BlockMatrix(pattern, positions.dtype)
    energy.add_hessian(positions, matrix, projected=False)
    whole = dense(matrix)
    torch.testing.assert_close(whole, whole.permute(2, 3, 0, 1))
    for way in _directions():
        way[:, ~FREE] = 0.0
        rise = energy.gradient(positions + 1e-6 * way) - energy.gradient(positions - 1e-6 * way)
        expected = (rise / 2e-6)[:, FREE].T
        found = torch.einsum("aibj,bj->ai", whole, way[:, FREE].T)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_a_force_on_a_point_goes_to_its_vertices_by_their_shares(barrier: GroundBarrier) -> None:
    out = torch.ones(2, 5, dtype=torch.float64)
    forces = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 0.0]], dtype=torch.float64)
    barrier.points.add(forces, out)
    expected = torch.ones(2, 5, dtype=torch.float64)
    for point in range(4):
        for corner in range(4):
            expected[:, CORNERS[corner, point]] += forces[:, point] * SHARES[corner, point]
    torch.testing.assert_close(out, expected)
    assert barrier.vertices.tolist() == [0, 1, 2, 4]
