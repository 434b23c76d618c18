# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets are not turned inside out by implicit steps, whatever their model would let them do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import bsr_array

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.integrators import ImplicitEuler
from supple.core.materials import (
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials.volume_floor import FLOOR, PRESSURE_RATIO, VolumeFloor
from supple.core.system import System
from supple.verification.meshes import block

MESH = block((2, 2, 2))
SOFT = StableNeoHookean(1e4, 0.4)


def floor_in(system: System, *left: int) -> VolumeFloor:
    """With no vertices left alone but some."""
    alone = torch.zeros(system.vertex_count, dtype=torch.bool)
    alone[list(left)] = True
    return VolumeFloor(system.solved_elasticities, alone)


def floor_of(mesh: TetMesh = MESH, material=SOFT) -> tuple[VolumeFloor, torch.Tensor]:
    system = System(Scene([SoftBody(mesh, material)]), torch.device("cpu"), torch.float64)
    return floor_in(system), system.rest_positions()


def pressed(rest: torch.Tensor, height: float) -> torch.Tensor:
    """Flat in z, and a little uneven."""
    generator = torch.Generator().manual_seed(5)
    shaken = rest + 0.02 * torch.randn(rest.shape, generator=generator, dtype=rest.dtype)
    return shaken * torch.tensor([[1.0], [1.0], [height]], dtype=rest.dtype)


def directions(like: torch.Tensor):
    generator = torch.Generator().manual_seed(6)
    return [torch.randn(like.shape, generator=generator, dtype=like.dtype) for _ in range(4)]


def hessian(floor: VolumeFloor, mesh: TetMesh, positions: torch.Tensor, projected: bool):
    """(3N, 3N) vertex by vertex, in N/m."""
    count = positions.shape[1]
    pattern = BlockPattern(mesh.tets.T, np.arange(count), count, torch.device("cpu"))
    matrix = BlockMatrix(pattern, torch.float64)
    floor.add_hessian(positions, matrix, projected)
    assert not matrix.values.any()
    parts = matrix.off_pattern
    blocks = (parts.values.reshape(-1, 3, 3), parts.columns, parts.offsets)
    return bsr_array(blocks, shape=(3 * count, 3 * count)).toarray()


def test_it_leaves_alone_what_is_above_it() -> None:
    floor, rest = floor_of()
    above = rest * torch.tensor([[1.0], [1.0], [FLOOR + 0.01]], dtype=rest.dtype)
    assert float(floor.energy(above)) == 0.0
    assert not floor.gradient(above).any()
    assert not hessian(floor, MESH, above, True).any()


@pytest.mark.parametrize("height", [-0.5 * FLOOR, 0.5 * FLOOR, 0.95 * FLOOR])
def test_derivatives_are_finite_differences(height) -> None:
    floor, rest = floor_of()
    at, step = pressed(rest, height), 1e-7
    assert float(floor.energy(at)) > 0.0
    true = hessian(floor, MESH, at, False)
    for direction in directions(at):
        ahead, behind = at + step * direction, at - step * direction
        slope = float((floor.gradient(at) * direction).sum())
        rise = float(floor.energy(ahead) - floor.energy(behind)) / (2.0 * step)
        assert rise == pytest.approx(slope, rel=1e-5)
        change = (floor.gradient(ahead) - floor.gradient(behind)) / (2.0 * step)
        expected = (true @ direction.T.ravel().numpy()).reshape(-1, 3).T
        size = float(change.abs().max())
        np.testing.assert_allclose(change.numpy(), expected, atol=1e-4 * size)


def test_the_projected_hessian_leaves_out_what_turns_the_pressure() -> None:
    floor, rest = floor_of()
    at = pressed(rest, 0.5 * FLOOR)
    true, projected = (hessian(floor, MESH, at, projected) for projected in (False, True))
    largest = np.linalg.eigvalsh(projected).max()
    assert np.linalg.eigvalsh(true).min() < -1e-3 * largest
    assert np.linalg.eigvalsh(projected).min() > -1e-9 * largest
    # All alike, tets are pressed along one way, on which both agree.
    down = (rest * torch.tensor([[0.0], [0.0], [1.0]], dtype=rest.dtype)).T.ravel().numpy()
    even = rest * torch.tensor([[1.0], [1.0], [0.5 * FLOOR]], dtype=rest.dtype)
    bent = [down @ hessian(floor, MESH, even, projected) @ down for projected in (False, True)]
    assert bent[1] == pytest.approx(bent[0], rel=1e-9)


@pytest.mark.parametrize("ratio", [0.6 * FLOOR, 0.0, -FLOOR])
def test_its_pressure_grows_with_the_square_of_the_depth(ratio: float) -> None:
    floor, rest = floor_of()
    scale = torch.tensor([[1.0], [1.0], [ratio]], dtype=rest.dtype)
    depth = 1.0 - ratio / FLOOR
    pressure = PRESSURE_RATIO * (SOFT.lam + 2.0 * SOFT.mu) * depth**2
    # A unit cube: what its top is pushed with, from below, over its area.
    top = rest[2] > 0.99
    assert float(floor.gradient(rest * scale)[2, top].sum()) == pytest.approx(-pressure)
    energy = pressure * FLOOR * depth / 3.0
    assert float(floor.energy(rest * scale)) == pytest.approx(energy)


def test_what_is_being_unfolded_may_turn() -> None:
    system = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    floor, rest = floor_in(system), system.rest_positions()
    at = pressed(rest, 0.5 * FLOOR)
    for bodies, pushes in (((0,), False), ((), True)):
        system.limit_poisson(bodies, 0.3)
        assert (float(floor.energy(at)) > 0.0) == pushes


def test_bodies_that_begin_inside_out_are_left_alone() -> None:
    bodies = [SoftBody(MESH, SOFT, name=name) for name in "ab"]
    system = System(Scene(bodies), torch.device("cpu"), torch.float64)
    rest, count = system.rest_positions(), len(MESH.vertices)
    at = pressed(rest, 0.5 * FLOOR)
    first, second = at.clone(), at.clone()
    first[:, count:], second[:, :count] = rest[:, count:], rest[:, :count]
    floor = floor_in(system, *range(count))
    assert float(floor.energy(first)) == 0.0
    assert not floor.gradient(first).any()
    assert float(floor.energy(second)) == float(floor_in(system).energy(second)) > 0.0


@pytest.mark.parametrize("model", [Linear, NeoHookean, CorotatedLinear, StVenantKirchhoff])
def test_models_that_lose_volume_or_keep_it_themselves_are_left_alone(model) -> None:
    body = SoftBody(MESH, model(1e4, 0.3))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    rest = system.rest_positions()
    floor = floor_in(system)
    assert float(floor.energy(pressed(rest, 0.5 * FLOOR))) == 0.0


def test_tets_that_are_all_but_empty_are_held_as_full_ones_are() -> None:
    (full, rest), empty = floor_of(), TetMesh(MESH.vertices, MESH.tets, np.full(48, 0.1))
    at = pressed(rest, 0.5 * FLOOR)
    assert float(floor_of(empty)[0].energy(at)) == pytest.approx(float(full.energy(at)))


def test_a_soft_block_that_hits_the_ground_hard_is_not_turned_inside_out() -> None:
    mesh = block((3, 3, 3), (0.5, 0.5, 0.5), origin=(0.0, 0.0, 0.05))
    body = SoftBody(mesh, SOFT, velocity=(0.0, 0.0, -9.0))
    simulator = Simulator(Scene([body], Ground()), ImplicitEuler())
    least = [frame.report.minimum_volume_ratio for frame in simulator.run(12)]
    assert min(least) > 0.05
