# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets are not pressed flat by implicit steps, whatever their model would let them do."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

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
from supple.core.potentials.height_floor import (
    FLOOR_RATIO,
    GENTLE_PRESSURE_RATIO,
    PRESSURE_RATIO,
    HeightFloor,
    HeightRatios,
    height_derivatives_of,
    height_ratios,
)
from supple.core.system import System
from supple.tests.core.dense import dense
from supple.verification.meshes import block

MESH = block((2, 2, 2))
SOFT = StableNeoHookean(1e4, 0.4)
#: In Pa, what it pushes with where there is no height left.
MOST = PRESSURE_RATIO * (SOFT.lam + 2.0 * SOFT.mu)


def floor_in(system: System, *left: int) -> HeightFloor:
    """With no vertices left alone but some."""
    alone = torch.zeros(system.vertex_count, dtype=torch.bool)
    alone[list(left)] = True
    return HeightFloor(system.solved_elasticities, system.initial_positions, alone)


def floor_of(mesh: TetMesh = MESH, material=SOFT) -> tuple[HeightFloor, torch.Tensor]:
    system = System(Scene([SoftBody(mesh, material)]), torch.device("cpu"), torch.float64)
    return floor_in(system), system.rest_positions()


def height_at(ratio: float) -> float:
    """In z, of what is pressed to a height ratio without spreading: η = √3 s / √(1 + 2 s²)."""
    return ratio / math.sqrt(3.0 - 2.0 * ratio**2)


def pressed(rest: torch.Tensor, ratio: float) -> torch.Tensor:
    """Flat in z, to a height ratio, and a little uneven."""
    height = height_at(ratio)
    generator = torch.Generator().manual_seed(5)
    shaken = rest + 0.02 * torch.randn(rest.shape, generator=generator, dtype=rest.dtype)
    return shaken * torch.tensor([[1.0], [1.0], [height]], dtype=rest.dtype)


def stretched(rest: torch.Tensor, *ratios: float) -> torch.Tensor:
    return rest * torch.tensor(ratios, dtype=rest.dtype)[:, None]


def slope_at(height: float) -> float:
    """dη / ds of what does not spread."""
    return math.sqrt(3.0) / (1.0 + 2.0 * height**2) ** 1.5


def directions(like: torch.Tensor):
    generator = torch.Generator().manual_seed(6)
    return [torch.randn(like.shape, generator=generator, dtype=like.dtype) for _ in range(4)]


def hessian(floor: HeightFloor, mesh: TetMesh, positions: torch.Tensor, projected: bool):
    """(3N, 3N) vertex by vertex, in N/m."""
    count = positions.shape[1]
    pattern = BlockPattern(mesh.tets.T, np.arange(count), count, torch.device("cpu"))
    matrix = BlockMatrix(pattern, torch.float64)
    floor.add_hessian(positions, matrix, projected)
    return dense(matrix).reshape(3 * count, -1).numpy()


def test_it_leaves_alone_what_is_above_it() -> None:
    floor, rest = floor_of()
    above = stretched(rest, 1.0, 1.0, height_at(FLOOR_RATIO + 0.01))
    assert float(floor.energy(above)) == 0.0
    assert not floor.gradient(above).any()
    assert not hessian(floor, MESH, above, True).any()


def test_what_is_flat_is_found_anew_where_tets_have_another_rest_shape() -> None:
    system = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    floor, rest = floor_in(system), system.rest_positions()
    squashed = stretched(rest, 1.0, 1.0, height_at(0.5 * FLOOR_RATIO))
    for is_flat, shape in ((True, rest), (False, squashed), (True, rest)):
        system.solved_elasticities[0].tets.set_rest_positions(shape)
        assert bool(floor.energy(squashed) > 0.0) == is_flat


@pytest.mark.parametrize("ratio", [-0.5 * FLOOR_RATIO, 0.5 * FLOOR_RATIO, 0.95 * FLOOR_RATIO])
def test_derivatives_are_finite_differences(ratio) -> None:
    floor, rest = floor_of()
    at, step = pressed(rest, ratio), 1e-7
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
    at = pressed(rest, 0.5 * FLOOR_RATIO)
    true, projected = (hessian(floor, MESH, at, projected) for projected in (False, True))
    largest = np.linalg.eigvalsh(projected).max()
    assert np.linalg.eigvalsh(true).min() < -1e-3 * largest
    assert np.linalg.eigvalsh(projected).min() > -1e-9 * largest
    # All alike, tets are pressed along one way, in which the pressure rises.
    down = (rest * torch.tensor([[0.0], [0.0], [1.0]], dtype=rest.dtype)).T.ravel().numpy()
    even = stretched(rest, 1.0, 1.0, height_at(0.5 * FLOOR_RATIO))
    rise = MOST * 2.0 * 0.5 / FLOOR_RATIO * slope_at(height_at(0.5 * FLOOR_RATIO)) ** 2
    assert down @ hessian(floor, MESH, even, True) @ down == pytest.approx(rise, rel=1e-6)


@pytest.mark.parametrize("ratio", [0.6 * FLOOR_RATIO, 0.0, -FLOOR_RATIO])
def test_its_pressure_grows_with_the_square_of_the_depth(ratio: float) -> None:
    floor, rest = floor_of()
    at, depth = stretched(rest, 1.0, 1.0, height_at(ratio)), 1.0 - ratio / FLOOR_RATIO
    pressure = MOST * depth**2 * slope_at(height_at(ratio))
    # A unit cube: what its top is pushed with, from below, over its area.
    top = rest[2] > 0.99
    assert float(floor.gradient(at)[2, top].sum()) == pytest.approx(-pressure, rel=1e-5)
    assert float(floor.energy(at)) == pytest.approx(MOST * FLOOR_RATIO * depth**3 / 3.0, rel=1e-5)


def test_what_is_flat_is_held_however_far_it_spreads() -> None:
    floor, rest = floor_of()
    energies = [float(floor.energy(stretched(rest, wide, wide, 0.1))) for wide in (1.0, 2.0, 3.0)]
    assert min(energies) > 0.8 * max(energies) > 0.0
    # As thick as that, it may lose as much volume from all sides.
    assert float(floor.energy(stretched(rest, *3 * (0.1 ** (1.0 / 3.0),)))) == 0.0


def test_what_is_being_unfolded_may_turn() -> None:
    system = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    floor, rest = floor_in(system), system.rest_positions()
    at = pressed(rest, 0.5 * FLOOR_RATIO)
    for bodies, pushes in (((0,), False), ((), True)):
        system.limit_poisson(bodies, 0.3)
        assert (float(floor.energy(at)) > 0.0) == pushes


def test_bodies_that_begin_inside_out_are_left_alone() -> None:
    bodies = [SoftBody(MESH, SOFT, name=name) for name in "ab"]
    system = System(Scene(bodies), torch.device("cpu"), torch.float64)
    rest, count = system.rest_positions(), len(MESH.vertices)
    at = pressed(rest, 0.5 * FLOOR_RATIO)
    first, second = at.clone(), at.clone()
    first[:, count:], second[:, :count] = rest[:, count:], rest[:, :count]
    floor = floor_in(system, *range(count))
    assert float(floor.energy(first)) == 0.0
    assert not floor.gradient(first).any()
    assert float(floor.energy(second)) == float(floor_in(system).energy(second)) > 0.0


def test_tets_that_begin_flat_are_opened_gently() -> None:
    """A hundredth of the pressure, which then is as much as their own elasticity has."""
    rest = System(Scene([SoftBody(MESH, SOFT)]), torch.device("cpu"), torch.float64)
    at = pressed(rest.rest_positions(), 0.5 * FLOOR_RATIO)
    ratio = GENTLE_PRESSURE_RATIO / PRESSURE_RATIO
    for share, expected in ((0.999, ratio), (1.001, 1.0)):
        start = MESH.vertices * [1.0, 1.0, height_at(share * FLOOR_RATIO)]
        body = SoftBody(MESH, SOFT, initial_positions=start)
        system = System(Scene([body]), torch.device("cpu"), torch.float64)
        gentle, full = float(floor_in(system).energy(at)), float(floor_in(rest).energy(at))
        assert gentle == pytest.approx(expected * full, rel=1e-12)


@pytest.mark.parametrize("model", [Linear, NeoHookean, CorotatedLinear, StVenantKirchhoff])
def test_models_that_lose_volume_or_keep_it_themselves_are_left_alone(model) -> None:
    body = SoftBody(MESH, model(1e4, 0.3))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    rest = system.rest_positions()
    floor = floor_in(system)
    assert float(floor.energy(pressed(rest, 0.5 * FLOOR_RATIO))) == 0.0


def test_tets_that_are_all_but_empty_are_held_as_full_ones_are() -> None:
    (full, rest), empty = floor_of(), TetMesh(MESH.vertices, MESH.tets, np.full(48, 0.1))
    at = pressed(rest, 0.5 * FLOOR_RATIO)
    assert float(floor_of(empty)[0].energy(at)) == pytest.approx(float(full.energy(at)))


def test_a_soft_block_that_hits_the_ground_hard_is_not_pressed_flat() -> None:
    mesh = block((3, 3, 3), (0.5, 0.5, 0.5), origin=(0.0, 0.0, 0.05))
    body = SoftBody(mesh, SOFT, velocity=(0.0, 0.0, -9.0))
    simulator = Simulator(Scene([body], Ground()), ImplicitEuler())
    volumes, heights = [], []
    for frame in simulator.run(12):
        volumes.append(frame.report.minimum_volume_ratio)
        corners = np.asarray(frame.positions[0], dtype=float)[mesh.tets]
        heights.append(HeightRatios(corners.swapaxes(1, 2) @ mesh.shape_gradients).values.min())
    assert min(volumes) > 0.05
    assert min(heights) > 0.25 * FLOOR_RATIO


RANDOM = np.random.default_rng(3)
#: Some with the wrong side out.
GRADIENTS = RANDOM.normal(size=(20, 3, 3))


def value(f: np.ndarray) -> np.ndarray:
    return HeightRatios(f).values


def of_stretches(*stretches: float) -> float:
    """Turned, before and after."""
    first, second = Rotation.random(2, random_state=4).as_matrix()
    return float(value((first @ np.diag(stretches) @ second)[None])[0])


def test_at_rest_it_is_one_and_scales_with_size() -> None:
    assert of_stretches(1.0, 1.0, 1.0) == pytest.approx(1.0, rel=1e-6)
    assert of_stretches(0.3, 0.3, 0.3) == pytest.approx(0.3, rel=1e-4)
    assert of_stretches(0.5, 0.5, -0.5) == pytest.approx(-0.5, rel=1e-5)


@pytest.mark.parametrize("stretches", [(1.0, 1.0, 0.2), (2.0, 1.5, 0.07), (3.0, 0.4, 0.2)])
def test_it_is_volume_over_the_root_mean_square_of_areas(stretches) -> None:
    a, b, c = stretches
    area = math.sqrt(((a * b) ** 2 + (b * c) ** 2 + (c * a) ** 2) / 3.0)
    assert of_stretches(*stretches) == pytest.approx(a * b * c / area, rel=1e-5)


def test_a_flat_tet_is_as_flat_wherever_it_spreads() -> None:
    for wide in (1.0, 2.0, 5.0):
        assert of_stretches(wide, wide, 0.01) == pytest.approx(0.01 * math.sqrt(3.0), rel=2e-4)


def test_a_tet_that_is_a_line_has_no_height_and_is_pushed_nowhere() -> None:
    line = HeightRatios(np.diag([2.0, 0.0, 0.0])[None])
    assert float(line.values[0]) == 0.0
    assert not line.gradients.any()


def test_height_ratio_derivatives_are_finite_differences() -> None:
    step, found = 1e-6, HeightRatios(GRADIENTS)
    for entry in range(9):
        shift = step * np.eye(9)[entry].reshape(3, 3)
        ahead, behind = HeightRatios(GRADIENTS + shift), HeightRatios(GRADIENTS - shift)
        slope = (ahead.values - behind.values) / (2.0 * step)
        np.testing.assert_allclose(found.gradients.reshape(-1, 9)[:, entry], slope, atol=1e-7)
        change = (ahead.gradients - behind.gradients).reshape(-1, 9) / (2.0 * step)
        np.testing.assert_allclose(found.hessians[:, entry], change, atol=1e-5)


def test_passes_give_the_same() -> None:
    ratios, slopes = height_derivatives_of(torch.as_tensor(GRADIENTS.transpose(1, 2, 0)))
    found = HeightRatios(GRADIENTS)
    np.testing.assert_allclose(ratios, found.values, rtol=1e-12)
    np.testing.assert_allclose(slopes.permute(2, 0, 1), found.gradients, atol=1e-12)


def ratios_of_a_body() -> np.ndarray:
    body = SoftBody(block((2, 2, 2)), StableNeoHookean(1e4, 0.4))
    system = System(Scene([body]), torch.device("cpu"), torch.float64)
    flat = system.rest_positions() * torch.tensor([[1.0], [1.5], [0.2]], dtype=torch.float64)
    return height_ratios(system.elasticities[0].tets, flat).numpy()


def test_compiled_loops_give_what_passes_give(without_compiled_loops) -> None:
    np.testing.assert_allclose(ratios_of_a_body(), of_stretches(1.0, 1.5, 0.2), rtol=1e-12)


def test_compiled_loops_give_it_of_every_tet() -> None:
    np.testing.assert_allclose(ratios_of_a_body(), of_stretches(1.0, 1.5, 0.2), rtol=1e-12)
