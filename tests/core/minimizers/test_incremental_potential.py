# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, SceneError, SoftBody
from supple.core.materials import NeoHookean, StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.potentials import GroundFriction, TimeStep
from supple.core.system import System
from supple.tests.core.dense import dense

STEP = 1.0 / 24.0
REACH = 0.05
PINNED = [7, 2]
CPU = torch.device("cpu")


@pytest.fixture
def system(make_block) -> System:
    """Two bodies of different materials, one of them pinned at two vertices, on rough ground."""
    bodies = [
        SoftBody(make_block((1, 1, 2)), NeoHookean(1e4, 0.3), pinned=PINNED),
        SoftBody(make_block((1, 2, 1), origin=(2.0, 0, 0)), StableNeoHookean(1e5, 0.4)),
    ]
    return System(Scene(bodies, ground=Ground(distance=REACH)), CPU, torch.float64)


@pytest.fixture
def positions(system: System) -> torch.Tensor:
    """The (3, N) positions in a step, the lowest vertices within reach of the ground."""
    moved = _near(system.rest_positions(), 0.05, 52)
    low = system.rest_positions()[2] == 0.0
    moved[2, low] = torch.linspace(0.1, 1.3, int(low.sum()), dtype=torch.float64) * REACH
    return moved


@pytest.fixture
def objective(system: System, positions: torch.Tensor) -> IncrementalPotential:
    """In a step in which some vertices stick and others slide."""
    objective = IncrementalPotential(system)
    sticking = 1e-4 * system.size * STEP
    ways = torch.logspace(-1, 2, system.vertex_count, dtype=torch.float64)
    start = positions + sticking * ways * _near(torch.zeros_like(positions), 1.0, 53)
    start[2] = positions[2]
    objective.begin(TimeStep(start, _near(positions, 0.1, 54), STEP, STEP))
    return objective


def _near(positions: torch.Tensor, spread: float, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return positions + spread * torch.randn(positions.shape, generator=random, dtype=torch.float64)


def test_everything_pushes_at_once(objective, positions) -> None:
    system = objective.system
    energies = [float(part.energy(positions)) for part in system.potentials]
    assert all(energy != 0.0 for energy in energies) and len(energies) == 3
    barrier = system.ground_barrier
    assert 0 < int((barrier.normal_force(positions) > 0.0).sum()) < len(barrier.vertices)


def test_the_gradient_is_the_finite_difference_of_the_energy(objective, positions) -> None:
    gradient, h = objective.gradient(positions), 1e-8
    for seed in range(5):
        direction = _near(torch.zeros_like(positions), 1.0, seed) * objective.system.free
        (after, _), (before, _) = (objective.energy(positions + s * direction) for s in (h, -h))
        slope = float((gradient * direction).sum())
        assert (after - before) / (2.0 * h) == pytest.approx(slope, rel=1e-5)


def test_the_hessian_is_the_finite_difference_of_the_gradient(objective, positions) -> None:
    hessian, h = dense(objective.hessian(positions, projected=False)), 1e-9
    for seed in range(5):
        direction = _near(torch.zeros_like(positions), 1.0, seed) * objective.system.free
        rise = objective.gradient(positions + h * direction) - objective.gradient(
            positions - h * direction
        )
        found = torch.einsum("aibj,bj->ai", hessian, objective.unknowns(direction))
        expected = objective.unknowns(rise) / (2.0 * h)
        scale = float(expected.abs().max())
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * scale)


def test_the_projected_hessian_is_positive_definite_where_the_other_is_not(
    objective, positions
) -> None:
    objective.system.free_mass.mul_(1e-6)
    objective.begin(TimeStep(positions, positions, STEP, STEP))
    squeezed = positions * torch.tensor([[1.0], [1.0], [0.3]], dtype=torch.float64)
    size = 3 * objective.pattern.size
    lowest = [
        float(torch.linalg.eigvalsh(dense(objective.hessian(squeezed, p)).reshape(size, size))[0])
        for p in (True, False)
    ]
    assert lowest[0] > 0.0 > lowest[1]


def test_the_hessian_of_tets_is_reused_while_that_of_the_ground_is_assembled(
    system, positions
) -> None:
    touching = replace(system.scene, contact=Contact())
    objective = IncrementalPotential(System(touching, CPU, torch.float64))
    objective.begin(TimeStep(positions, positions, STEP, STEP))
    ground = objective.system.ground_barrier.vertices
    smooth = objective.smooth_hessian(positions)
    first = objective.hessian(positions).values
    moved = positions.clone()
    moved[2, ground] = 0.9 * moved[2, ground]
    reused = objective.hessian(moved, smooth=smooth).values
    on_ground = torch.zeros(len(reused), dtype=torch.bool)
    on_ground[objective.pattern.diagonal_block_of_vertex[ground]] = True
    assert torch.equal(reused[~on_ground], first[~on_ground])
    assert not torch.equal(reused[on_ground], first[on_ground])
    reassembled = objective.hessian(moved).values
    assert not torch.equal(reassembled[~on_ground], first[~on_ground])
    # From here back to there, whatever was evaluated between: as it was, to the bit.
    assert torch.equal(objective.hessian(positions, smooth=smooth).values, first)


def test_pinned_vertices_have_no_gradient_and_no_unknown(objective, positions) -> None:
    gradient = objective.gradient(positions)
    assert not gradient[:, PINNED].any()
    assert float(gradient.abs().max()) > 0.0
    free = set(range(objective.system.vertex_count)) - set(PINNED)
    assert sorted(objective.pattern.vertices.tolist()) == sorted(free)
    assert objective.hessian(positions).pattern.size == len(free)


def test_unknowns_are_the_vectors_of_the_vertices_that_are_not_pinned(objective, positions) -> None:
    back = objective.vectors(objective.unknowns(positions))
    assert torch.equal(back, positions * objective.system.free)


def test_groups_of_unknowns_lie_in_one_body_each(objective) -> None:
    offsets = objective.group_offsets.tolist()
    assert offsets[0] == 0 and offsets[-1] == objective.pattern.size
    first = objective.system.body_slices()[0].stop
    for begin, end in pairwise(offsets):
        assert len(set((objective.pattern.vertices[begin:end] < first).tolist())) == 1


def test_without_forces_the_energy_is_least_where_the_body_coasts_to(make_block) -> None:
    system = System(Scene([SoftBody(make_block())], gravity=(0.0, 0.0, 0.0)), CPU, torch.float64)
    objective = IncrementalPotential(system)
    coasted = system.rest_positions() + 3.0
    objective.begin(TimeStep(system.rest_positions(), coasted, STEP, STEP))
    assert objective.energy(coasted)[0] == pytest.approx(0.0, abs=1e-9)
    assert float(objective.gradient(coasted).abs().max()) < 1e-9
    # ½ m d² / h².
    away = coasted + torch.tensor([[0.2], [0.0], [0.0]], dtype=torch.float64)
    assert objective.energy(away)[0] == pytest.approx(0.5 * 1000.0 * (0.2 / STEP) ** 2)


def test_solves_are_measured_by_the_lightest_body_and_at_rest_by_all_that_moves(make_block) -> None:
    bodies = [
        SoftBody(make_block((1, 1, 1)), density=density, pinned=pinned)
        for density, pinned in ((1000.0, []), (300.0, []), (2000.0, range(7)))
    ]
    objective = IncrementalPotential(System(Scene(bodies), CPU, torch.float64))
    rest, moves = objective.system.rest_positions(), float(objective.system.mass[-1])
    assert 0.0 < moves < 1000.0
    objective.begin(TimeStep(rest, rest, STEP, STEP))
    assert objective.reference_mass == pytest.approx(3.0 * min(300.0, moves))
    objective.begin_static_step(rest, STEP, STEP)
    assert objective.reference_mass == pytest.approx(1300.0 + moves)


def test_what_rounding_makes_of_accelerations_is_that_of_the_stiffest_lightest_vertex(
    objective, positions
) -> None:
    system, pattern = objective.system, objective.pattern
    hessian = objective.hessian(positions)
    blocks = dense(hessian).diagonal(dim1=0, dim2=2)
    # A vertex that is off by the last bit of the scene's size, on the mean of three ways.
    off = system.size * 2.0**-52
    accelerations = off * blocks.diagonal(dim1=0, dim2=1).mean(1) / system.mass[pattern.vertices]
    assert objective.acceleration_rounding(hessian) == pytest.approx(float(accelerations.max()))
    assert float(accelerations.max()) > 1.1 * float(accelerations.median())


def test_the_size_of_the_energy_is_that_of_its_terms_before_they_cancel(make_block) -> None:
    material = StableNeoHookean(1e5, 0.25)
    system = System(Scene([SoftBody(make_block(), material)]), CPU, torch.float64)
    objective = IncrementalPotential(system)
    lowered = system.rest_positions() - torch.tensor([[0.0], [0.0], [2.0]], dtype=torch.float64)
    objective.begin(TimeStep(lowered, lowered, STEP, STEP))
    energy, size = objective.energy(lowered)
    weight = 1000.0 * 9.81
    assert energy == pytest.approx(-1.5 * weight)
    # A cubic metre of elastic terms, each about μ, which are nothing together.
    assert size == pytest.approx(1.5 * weight + 2.0 * material.mu)


def test_the_path_is_straight_without_a_ground(make_block) -> None:
    system = System(Scene([SoftBody(make_block())]), CPU, torch.float64)
    objective = IncrementalPotential(system)
    rest = system.rest_positions()
    direction = _near(torch.zeros_like(rest), 1.0, 55)
    assert torch.equal(objective.paths.curve(rest, direction)(0.25), rest + 0.25 * direction)


def test_the_path_leaves_in_the_direction_of_the_step_and_stays_above_the_ground(
    objective, positions
) -> None:
    objective.hessian(positions, projected=False)
    direction = 1e-4 * _near(torch.zeros_like(positions), 1.0, 56) * objective.system.free
    path, h = objective.paths.curve(positions, direction), 1e-4
    torch.testing.assert_close((path(h) - path(-h)) / (2.0 * h), direction, rtol=1e-4, atol=1e-8)
    assert float(objective.paths.curve(positions, 1e6 * direction)(1.0)[2].min()) > 0.0


def test_the_normal_forces_of_friction_follow_when_they_are_updated(objective, positions) -> None:
    pressed = positions.clone()
    pressed[2] *= 0.9
    assert objective.update_lagged(pressed) > 0.01
    assert objective.update_lagged(pressed) == 0.0


def test_the_normal_forces_of_friction_may_go_a_part_of_the_way(objective, positions) -> None:
    pressed = positions.clone()
    pressed[2] *= 0.9
    whole = objective.update_lagged(pressed, 0.75)
    assert objective.update_lagged(pressed) == pytest.approx(0.25 * whole)


@pytest.mark.parametrize("step", [STEP, 0.1 * STEP])
def test_what_sticks_creeps_by_a_share_of_its_size_a_second(make_block, step: float) -> None:
    """Whatever the step: 1e-4 of its body on the ground, three times as much between surfaces."""
    sizes = (0.1, 1.0)
    bodies = [SoftBody(make_block((1, 1, 1), (s,) * 3, (2.0 * s, 0.0, 0.02))) for s in sizes]
    scene = Scene(bodies, ground=Ground(distance=REACH), contact=Contact())
    objective = IncrementalPotential(System(scene, CPU, torch.float64))
    rest = objective.system.rest_positions()
    contact = objective.contact
    (ground,) = (part for part in objective.potentials if isinstance(part, GroundFriction))
    assert contact is not None
    diagonals = torch.tensor(np.repeat(np.sqrt(3.0) * np.array(sizes), 8))
    for begin in (
        lambda: objective.begin(TimeStep(rest, rest, step, step)),
        lambda: objective.begin_static_step(rest, 7.0 * step, step),
    ):
        begin()
        torch.testing.assert_close(ground.stick_threshold, 1e-4 * step * diagonals)
        smaller = np.array([[sizes[0], sizes[0]], [sizes[0], sizes[1]]])
        np.testing.assert_allclose(contact.stick_thresholds, 3e-4 * step * np.sqrt(3.0) * smaller)


def test_nothing_lags_without_friction(make_block) -> None:
    scene = Scene([SoftBody(make_block())], ground=Ground(friction=0.0))
    objective = IncrementalPotential(System(scene, CPU, torch.float64))
    assert objective.update_lagged(objective.system.rest_positions()) == 0.0


def test_a_bouncy_ground_is_refused(make_block) -> None:
    scene = Scene([SoftBody(make_block())], ground=Ground(response="projection"))
    with pytest.raises(SceneError, match="bouncy ground needs explicit steps"):
        IncrementalPotential(System(scene, CPU, torch.float64))


def test_a_step_gains_little_by_the_kinetic_energy_of_each_body_or_that_of_the_tolerance(
    system,
) -> None:
    objective, start = IncrementalPotential(system), system.rest_positions()
    objective.begin(TimeStep(start, start, STEP, STEP))
    fast, still = system.body_slices()
    positions, direction, force = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    # The first body goes at 2 m/s, but for two pinned vertices; inertia holds those not at all.
    positions[0, fast] += 2.0 * STEP
    energy = 0.5 * float(system.free_mass[fast].sum()) * 2.0**2
    direction[1] = 1.0

    def gains_little(body: slice, gain: float, speed: float = 0.0) -> bool:
        force.zero_()
        force[1, body.start] = -2.0 * gain
        return objective.gains_little(positions, force, direction, speed)

    assert gains_little(fast, 0.99e-3 * energy)
    assert not gains_little(fast, 1.01e-3 * energy)
    assert not gains_little(still, 1e-9 * energy)
    tolerated = 0.5 * float(system.mass[still].sum()) * 0.1**2
    assert gains_little(still, 0.99 * tolerated, 0.1)
    assert not gains_little(still, 1.01 * tolerated, 0.1)


def test_the_path_of_a_projected_step_descends(objective, positions) -> None:
    """Friction's bound makes its steps shorter; along the path they end where it is exact."""
    matrix, gradient = objective.hessian(positions), objective.gradient(positions)
    solver = objective.linear_solver()
    solver.begin()
    solver.prepare(matrix, objective.unknowns(positions))
    direction = objective.vectors(solver.solve(objective.unknowns(-gradient), 1e-10, 0.0).x)
    path = objective.paths.curve(positions, direction)
    assert float((gradient * (path(1e-3) - positions)).sum()) < 0.0
    assert objective.energy(path(1e-3))[0] < objective.energy(positions)[0]
