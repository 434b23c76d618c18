# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets are not turned inside out by implicit steps, whatever their model would let them do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import (
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.potentials.volume_floor import FLOOR, VolumeFloor
from supple.core.system import System
from supple.verification.meshes import block

MESH = block((2, 2, 2))
SOFT = StableNeoHookean(1e4, 0.4)


def floor_of(mesh: TetMesh = MESH, material=SOFT) -> tuple[VolumeFloor, torch.Tensor]:
    system = System(Scene([SoftBody(mesh, material)]), torch.device("cpu"), torch.float64)
    return VolumeFloor(system.elasticities), system.rest_positions()


def pressed(rest: torch.Tensor, height: float) -> torch.Tensor:
    """Flat in z, and a little uneven."""
    generator = torch.Generator().manual_seed(5)
    shaken = rest + 0.02 * torch.randn(rest.shape, generator=generator, dtype=rest.dtype)
    return shaken * torch.tensor([[1.0], [1.0], [height]], dtype=rest.dtype)


def directions(like: torch.Tensor):
    generator = torch.Generator().manual_seed(6)
    return [torch.randn(like.shape, generator=generator, dtype=like.dtype) for _ in range(4)]


def gradient(floor: VolumeFloor, positions: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(positions)
    floor.add_gradient(positions, out)
    return out


def test_it_leaves_alone_what_is_above_it() -> None:
    floor, rest = floor_of()
    above = rest * torch.tensor([[1.0], [1.0], [FLOOR + 0.01]], dtype=rest.dtype)
    assert float(floor.energy(above)) == 0.0
    assert not gradient(floor, above).any()
    assert floor.hessian(above, True) is None


@pytest.mark.parametrize("height", [0.5 * FLOOR, 0.95 * FLOOR])
def test_derivatives_are_finite_differences(height) -> None:
    floor, rest = floor_of()
    at, step = pressed(rest, height), 1e-7
    assert float(floor.energy(at)) > 0.0
    hessian = floor.hessian(at, False)
    for direction in directions(at):
        ahead, behind = at + step * direction, at - step * direction
        slope = float((gradient(floor, at) * direction).sum())
        rise = float(floor.energy(ahead) - floor.energy(behind)) / (2.0 * step)
        assert rise == pytest.approx(slope, rel=1e-5)
        change = (gradient(floor, ahead) - gradient(floor, behind)) / (2.0 * step)
        expected = (hessian @ direction.T.ravel().numpy()).reshape(-1, 3).T
        size = float(change.abs().max())
        np.testing.assert_allclose(change.numpy(), expected, atol=1e-4 * size)


def test_the_projected_hessian_is_not_below_the_true_one_nor_negative() -> None:
    floor, rest = floor_of()
    at = pressed(rest, 0.5 * FLOOR)
    true, projected = (floor.hessian(at, projected).toarray() for projected in (False, True))
    largest = np.linalg.eigvalsh(projected).max()
    assert np.linalg.eigvalsh(true).min() < -1e-3 * largest
    assert np.linalg.eigvalsh(projected).min() > -1e-9 * largest
    assert np.linalg.eigvalsh(projected - true).min() > -1e-9 * largest


def test_nothing_goes_through_it() -> None:
    floor, rest = floor_of()
    flat = rest * torch.tensor([[1.0], [1.0], [0.0]], dtype=rest.dtype)
    assert float(floor.energy(flat)) == float("inf")
    down = 3.0 * (flat - rest)
    share = floor.max_step(rest, down)
    assert 0.25 < share < 1.0 / 3.0
    assert floor.max_step(rest, 0.3 * down) == 1.0


def test_what_begins_inside_out_may_come_back() -> None:
    floor, rest = floor_of()
    mirrored = rest * torch.tensor([[1.0], [1.0], [-1.0]], dtype=rest.dtype)
    floor.begin(mirrored)
    assert float(floor.energy(0.3 * mirrored)) == 0.0
    assert floor.max_step(mirrored, -2.0 * mirrored) == 1.0
    floor.begin(rest)
    assert float(floor.energy(mirrored)) == float("inf")
    floor.admit(mirrored)
    assert float(floor.energy(mirrored)) == 0.0


def test_what_is_being_unfolded_may_turn() -> None:
    system = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    floor, rest = VolumeFloor(system.elasticities), system.rest_positions()
    at = pressed(rest, 0.5 * FLOOR)
    for bodies, pushes in (((0,), False), ((), True)):
        system.limit_poisson(bodies, 0.3)
        floor.begin(rest)
        assert (float(floor.energy(at)) > 0.0) == pushes


def test_what_is_led_goes_where_it_is_told() -> None:
    system = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    rest = system.rest_positions()
    at = pressed(rest, 0.5 * FLOOR)
    whole = float(VolumeFloor(system.elasticities).energy(at))
    top = rest[2] > 0.9
    floor = VolumeFloor(system.elasticities, top)
    assert float(floor.energy(at)) == pytest.approx(0.5 * whole, rel=0.3)
    assert float(VolumeFloor(system.elasticities, rest[2] >= 0.0).energy(at)) == 0.0
    driven = rest.clone()
    driven[2, top] = -0.1
    assert floor.max_step(rest, driven - rest) == 1.0


@pytest.mark.parametrize("model", [Linear, NeoHookean, CorotatedLinear, StVenantKirchhoff])
def test_models_that_lose_volume_or_keep_it_themselves_are_left_alone(model) -> None:
    body = SoftBody(MESH, model(1e4, 0.3))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    for part in system.elasticities:
        part.keep_volumes()
    rest = system.rest_positions()
    floor = VolumeFloor(system.elasticities)
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
    assert min(least) > 0.01
