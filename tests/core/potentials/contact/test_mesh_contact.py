# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.potentials.contact.normal_collisions import assembled
from supple.tests.core.potentials.contact.close_bodies import (
    DART,
    FORMULATIONS,
    REACH,
    SLIP,
    TRIANGLE,
    contact_of,
    gradient,
    pyramid,
    rest,
    stack,
    tet,
)
from supple.tests.core.touching import checked
from supple.verification.meshes import block

pytest.importorskip("ipctk")

# Energies and their derivatives

FRICTION = {
    "frictionless": ({"friction": 0.0}, 0.0),
    "sticking": ({"friction": 0.7}, 0.3),
    "sliding": ({"friction": 0.7}, 20.0),
    "kinetic, sticking": ({"friction": 0.7, "kinetic_friction": 0.3}, 0.3),
    "kinetic, breaking loose": ({"friction": 0.7, "kinetic_friction": 0.3}, 1.4),
    "kinetic, sliding": ({"friction": 0.7, "kinetic_friction": 0.3}, 20.0),
}


@pytest.fixture(params=FRICTION)
def friction(request) -> str:
    return request.param


@pytest.fixture(params=["boundary", "embedded"])
def surface(request) -> str:
    return request.param


@pytest.fixture
def at_work(formulation, surface, friction) -> tuple[MeshContact, torch.Tensor]:
    """In a step that began where the upper block and the lower one lay further back."""
    coefficients, ways = FRICTION[friction]
    scene = stack(formulation, surface, coefficients)
    contact, positions = contact_of(scene), shaken(rest(scene), 0.05 * REACH, 1)
    back = torch.zeros_like(positions)
    own = len(scene.bodies[0].mesh.vertices)
    direction = torch.tensor([0.8, 0.6, 0.0], dtype=torch.float64)[:, None]
    back[:, own:] = 2.0 * ways * SLIP * direction
    back[:, :own] = ways * SLIP * direction
    contact.begin_step(positions - back, SLIP)
    contact.build_static_candidates(positions)
    contact.update_lagged(positions)
    return contact, positions


def shaken(positions: torch.Tensor, amount: float, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return positions + amount * torch.randn(positions.shape, generator=random, dtype=torch.float64)


@pytest.mark.parametrize("formulation", FORMULATIONS)
class TestDerivatives:
    STEP = 1e-6 * REACH

    def test_the_gradient_is_the_slope_of_the_energy(self, at_work) -> None:
        contact, positions = at_work
        assert float(contact.energy(positions)) > 0.0
        found = gradient(contact, positions)
        for seed in range(3):
            way = shaken(torch.zeros_like(positions), 1.0, 10 + seed)
            after, before = (
                float(contact.energy(positions + sign * self.STEP * way)) for sign in (1, -1)
            )
            slope = (after - before) / (2.0 * self.STEP)
            assert float((found * way).sum()) == pytest.approx(slope, rel=1e-5)

    # Where friction softens it is clamped, which test_friction looks at.
    @pytest.mark.parametrize("friction", sorted({*FRICTION} - {"kinetic, breaking loose"}))
    def test_the_second_derivative_of_friction_is_that_of_its_gradient(self, at_work) -> None:
        contact, positions = at_work
        exact = contact.hessian(positions, False)
        hessian_factors = contact.barrier.hessian_factors(contact._stencils(positions))
        barrier = assembled([hessian_factors], len(contact._stencils(positions).points))
        matrix = contact.surface.pull_back_matrix(exact - barrier)

        def rubbed(at: torch.Tensor) -> torch.Tensor:
            if contact._friction is None:
                return torch.zeros_like(at)
            return torch.as_tensor(
                contact.surface.pull_back(contact._friction.gradient(contact.points(at)))
            )

        for seed in range(3):
            way = shaken(torch.zeros_like(positions), 1.0, 20 + seed)
            after, before = (rubbed(positions + sign * self.STEP * way) for sign in (1, -1))
            change = ((after - before) / (2.0 * self.STEP)).numpy()
            found = (matrix @ way.T.reshape(-1).numpy()).reshape(-1, 3).T
            limit = 1e-5 * np.abs(change).max() + 1e-12 * np.abs(barrier).max()
            np.testing.assert_allclose(found, change, rtol=1e-5, atol=limit)

    def test_both_second_derivatives_are_positive_semidefinite_and_the_projected_one_not_less(
        self, at_work
    ) -> None:
        contact, positions = at_work
        exact, projected = (contact.hessian(positions, flag).toarray() for flag in (False, True))
        least = -1e-9 * np.linalg.eigvalsh(projected)[-1]
        for matrix in (exact, projected):
            assert np.abs(matrix - matrix.T).max() <= 1e-9 * np.abs(matrix).max()
            assert np.linalg.eigvalsh(matrix)[0] >= least
        assert np.linalg.eigvalsh(projected - exact)[0] >= least

    def test_what_is_dragged_changes_the_gradient(self, at_work) -> None:
        contact, positions = at_work
        way = shaken(torch.zeros_like(positions), 1.0, 31)
        aside = np.random.default_rng(5).normal(size=contact.colliders.shape)
        found = contact.hessian_product(positions, way, aside)
        matrix = contact.hessian(positions, True)
        moved = contact.surface.points(way.numpy(), aside)
        change = (matrix @ np.ascontiguousarray(moved).ravel()).reshape(-1, 3)
        np.testing.assert_allclose(found, contact.surface.pull_back(change), rtol=1e-10)

    def test_forces_inside_cancel_out_but_for_what_the_table_bears(self, at_work) -> None:
        contact, positions = at_work
        contact.energy(positions)
        pressed = contact.barrier.gradient(contact._stencils(positions))
        np.testing.assert_allclose(pressed.sum(axis=0), 0.0, atol=1e-9 * np.abs(pressed).max())


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_against_being_pressed_a_point_over_the_middle_of_a_triangle_is_as_stiff_as_it_seems(
    formulation, projected
) -> None:
    corners = DART.mesh.vertices + np.array([0.0, 0.0, 0.4 * REACH - 1.0])
    scene = Scene(
        [tet(*corners)],
        colliders=[Collider(TRIANGLE - TRIANGLE.mean(axis=0), [[0, 1, 2]])],
        contact=Contact(distance=REACH, friction=0.0, formulation=formulation, stiffness=1e6),
    )
    contact, positions = contact_of(scene), rest(scene)
    contact.build_static_candidates(positions)
    assert contact.count(positions) == 1
    # There, and along this way, the barrier is convex: projected, it is the same.
    way, step = torch.zeros_like(positions), 1e-6 * REACH
    way[2] = 1.0
    after, before = (gradient(contact, positions + sign * step * way) for sign in (1, -1))
    change = (after - before).numpy() / (2.0 * step)
    assert change[2, 0] > 0.0
    matrix = contact.surface.pull_back_matrix(contact.hessian(positions, projected))
    found = (matrix @ way.T.reshape(-1).numpy()).reshape(-1, 3).T
    np.testing.assert_allclose(found, change, atol=1e-6 * np.abs(change).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_beyond_its_distance_nothing_pushes_and_nothing_is_close(formulation) -> None:
    scene = stack(formulation, "boundary", {"friction": 0.5})
    contact, positions = contact_of(scene), rest(scene)
    positions[2] += 0.6 * REACH
    positions[2, len(scene.bodies[0].mesh.vertices) :] += 0.7 * REACH
    contact.begin_step(positions, SLIP)
    contact.build_static_candidates(positions)
    assert float(contact.energy(positions)) == 0.0
    assert not gradient(contact, positions).any()
    assert contact.hessian(positions, False).nnz == 0
    assert contact.count(positions) == 0
    assert math.isinf(contact.min_distance(positions))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_gap_is_the_least_distance_between_surfaces(formulation) -> None:
    scene = stack(formulation, "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    contact.build_static_candidates(positions)
    assert contact.min_distance(positions) == pytest.approx(0.4 * REACH, rel=1e-9)
    closer = positions - torch.tensor([[0.0], [0.0], [0.2 * REACH]], dtype=torch.float64)
    contact.build_static_candidates(closer)
    assert contact.min_distance(closer) == pytest.approx(0.3 * REACH, rel=1e-9)
    assert contact.count(closer) > 0


def test_the_energy_grows_without_bound_as_surfaces_come_close() -> None:
    scene = stack("convergent", "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    energies = []
    for gap in (0.9, 0.5, 0.1, 1e-4, 1e-8):
        moved = positions.clone()
        moved[2] += (gap - 0.5) * REACH
        contact.build_static_candidates(moved)
        energies.append(float(contact.energy(moved)))
    assert energies == sorted(energies)
    assert energies[-1] > 1.5 * energies[-2] > 0.0


def test_by_area_the_force_does_not_depend_on_the_mesh() -> None:
    forces = []
    for cells in (2, 4, 8):
        scene = Scene(
            [SoftBody(block((cells, cells, 1)))],
            colliders=[Collider(TRIANGLE - [0.0, 0.0, 0.5 * REACH], [[0, 1, 2]])],
            contact=Contact(distance=REACH, friction=0.0, stiffness=1e6),
        )
        contact, positions = contact_of(scene), rest(scene)
        contact.build_static_candidates(positions)
        forces.append(float(gradient(contact, positions)[2].sum()))
    assert forces[1:] == pytest.approx(forces[:-1], rel=1e-9)


# Steps


def test_a_step_begins_with_no_step_limited_and_colliders_where_they_were_left() -> None:
    scene = Scene([DART], colliders=[Collider(np.stack([TRIANGLE, TRIANGLE - 1.0]), [[0, 1, 2]])])
    contact = contact_of(scene)
    contact.limited_steps = 3
    contact.begin(TRIANGLE - 0.3)
    assert contact.limited_steps == 0
    np.testing.assert_array_equal(contact.colliders, TRIANGLE - 0.3)
    contact.begin(None)
    np.testing.assert_array_equal(contact.colliders, TRIANGLE)


# Displacements made as far as surfaces stay apart


def falling_top(contact: MeshContact, positions: torch.Tensor, top: slice) -> torch.Tensor:
    """(3, N) displacement of a pyramid whose top level alone goes down, far through the others."""
    displacement = torch.zeros_like(positions)
    displacement[0] = 0.01
    displacement[2, top] = -0.4
    through = contact.collision_free_step_size(positions, positions + displacement)
    assert through < 0.1
    return displacement


def test_what_is_in_the_way_of_a_displacement_is_pushed() -> None:
    contact, positions, levels = pyramid()
    displacement = falling_top(contact, positions, levels[2])
    # As heavy as a block each, but for the lowest one, that nothing moves.
    mobility = torch.full_like(positions[0], 1e-3)
    mobility[levels[0]] = 0.0
    reached = contact.truncated(positions, displacement, mobility)
    assert contact.collision_free_step_size(positions, positions + reached) == 1.0
    torch.testing.assert_close(reached[:, levels[0]], displacement[:, levels[0]])
    assert -0.4 < float(reached[2, levels[2]].mean()) < -0.5 * REACH
    assert float(reached[2, levels[1]].mean()) < 0.0


def test_impulses_of_a_displacement_keep_its_momentum() -> None:
    contact, positions, levels = pyramid()
    # Into the open, so that pushed blocks meet nothing else.
    displacement = torch.zeros_like(positions)
    displacement[2, levels[1]] = 0.5
    displacement[2, levels[2]] = 0.3
    mobility = torch.linspace(1e-3, 3e-3, positions.shape[1], dtype=torch.float64)
    reached = contact.truncated(positions, displacement, mobility)
    assert contact.collision_free_step_size(positions, positions + reached) == 1.0
    assert float((reached - displacement).abs().max()) > 0.05
    impulses = (reached - displacement) / mobility
    torch.testing.assert_close(
        impulses.sum(1), torch.zeros(3, dtype=torch.float64), atol=1e-9, rtol=0.0
    )


def test_what_is_pinned_on_both_sides_stops_where_the_surfaces_meet() -> None:
    contact, positions, levels = pyramid()
    displacement = falling_top(contact, positions, levels[2])
    reached = contact.truncated(positions, displacement, torch.zeros_like(positions[0]))
    assert contact.collision_free_step_size(positions, positions + reached) == 1.0
    torch.testing.assert_close(reached[:, levels[0]], displacement[:, levels[0]])
    fallen = reached[2, levels[2]].abs()
    assert 0.0 < float(fallen.min()) < REACH


# What is led


def test_pairs_of_which_nothing_moves_freely_are_told_with_their_distances() -> None:
    contact, positions, levels = pyramid(friction=0.5)
    contact.build_static_candidates(positions)
    pinned = torch.zeros(positions.shape[1], dtype=torch.bool)
    assert led_pairs(contact, positions, pinned) == set()
    pinned[levels[1]] = True
    assert led_pairs(contact, positions, pinned) == set()
    pinned[levels[2]] = True
    assert led_pairs(contact, positions, pinned) == {(1, 2)}
    pinned[levels[0]] = True
    assert led_pairs(contact, positions, pinned) == {(0, 1), (1, 2), (0, 3)}


def led_pairs(
    contact: MeshContact, positions: torch.Tensor, pinned: torch.Tensor
) -> set[tuple[int, ...]]:
    """The objects of pairs, which all are half their reach apart."""
    pairs, distances = contact.kinematic_pairs(positions, pinned)
    np.testing.assert_allclose(distances, np.full(len(pairs), 0.5 * REACH), rtol=1e-9)
    return set(map(tuple, pairs.tolist()))


SIDE, LARGE = 0.01, 10.0
SIZE_RATIOS_REACH = 3e-3 * SIDE * 3.0**0.5
TABLE = Collider(np.array([[-50.0, -50, 0], [50, -50, 0], [0, 90, 0]]), [[0, 1, 2]])


def cube(side: float, young: float, origin: tuple[float, float, float], **options) -> SoftBody:
    return SoftBody(block((2, 2, 2), (side,) * 3, origin), StableNeoHookean(young, 0.3), **options)


def held(origin: tuple[float, float, float]) -> SoftBody:
    """A large cube that moves only at its lower side, and little."""
    vertices = cube(LARGE, 1e9, origin).mesh.vertices
    return cube(LARGE, 1e9, origin, pinned=np.flatnonzero(vertices[:, 2] > vertices[:, 2].min()))


def rested(others: list[SoftBody], colliders: list[Collider]) -> tuple[float, float]:
    """The height at which a small cube comes to rest above zero, and its creep to the side, in
    metres: it was let go a little above, and pulled aside by less than friction holds."""
    small = cube(SIDE, 1e5, (0.3, 0.4, 1.2 * SIZE_RATIOS_REACH), damping=20.0)
    scene = Scene(
        [small, *others], colliders=colliders, contact=Contact(friction=0.5, stiffness=1e4)
    )
    scene.gravity = (0.2 * 9.81, 0.0, -9.81)
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    aside = [float(frame.positions[0][:, 0].mean()) for frame in checked(simulator, 12)]
    lowest: torch.Tensor = simulator.state.positions[2, : len(small.mesh.vertices)].min()
    return float(lowest), aside[-1] - aside[-7]


#: What sticks creeps by less than 3e-4 diagonals a second; this is over six frames.
CREEP = 3e-4 * SIDE * 3.0**0.5 * 6.0 / 24.0


@pytest.fixture(scope="module")
def alone() -> float:
    height, crept = rested([], [TABLE])
    assert 0.5 * SIZE_RATIOS_REACH < height < SIZE_RATIOS_REACH
    assert 0.0 < crept < CREEP
    return height


@pytest.mark.parametrize("where", ["beside", "on"])
def test_a_small_body_rests_as_close_beside_and_on_a_large_one_as_alone(where, alone) -> None:
    if where == "beside":
        height, crept = rested([held((2.0, 0.0, 0.2))], [TABLE])
    else:
        height, crept = rested([held((-5.0, -5.0, -LARGE))], [])
    assert height == pytest.approx(alone, rel=5e-3)
    assert 0.0 < crept < CREEP


def test_a_small_body_lands_beside_a_large_one_without_being_pressed_flat() -> None:
    large = cube(LARGE, 1e7, (20.0, 0.0, 0.5), density=100.0)
    # It falls further in a step than it is high.
    small = cube(SIDE, 1e5, (0.0, 0.0, 0.02))
    scene = Scene([large, small], ground=Ground(), contact=Contact())
    frames = list(Simulator(scene, ImplicitEuler(), device="cpu").run(7))
    landed = frames[2:]
    # Searches from flat tets took hundreds each, and ended with rounding.
    assert all(frame.report.solver_statistics.converged for frame in frames)
    assert sum(frame.report.solver_statistics.iterations for frame in frames) <= 250
    heights = [frame.positions[1][:, 2] for frame in landed]
    assert all(float(z.max() - z.min()) > 0.95 * SIDE for z in heights)


MASS_RATIOS_SIDE, RATIO = 0.3, 1e4


@pytest.mark.parametrize(
    ("light", "young"), [(0.1, 1e5), (1000.0, 1e8)], ids=["light as air", "of dense metal"]
)
def test_a_body_bears_what_is_ten_thousand_times_as_heavy(light, young) -> None:
    """Pressed by 0.03 and by 0.3 of Young's modulus; what is pressed by more than that gives way,
    whatever the ratio is."""
    bodies = [
        SoftBody(
            block(
                (2, 2, 2),
                (MASS_RATIOS_SIDE,) * 3,
                (0.03 * level, 0.02 * level, 0.001 + 1.03 * MASS_RATIOS_SIDE * level),
            ),
            StableNeoHookean(young, 0.4),
            density=density,
        )
        for level, density in enumerate((light, RATIO * light))
    ]
    scene = Scene(bodies, ground=Ground(), contact=Contact())
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    ratios = [frame.report.minimum_volume_ratio for frame in checked(simulator, 12)]
    assert min(ratios) > 0.6
    assert simulator.state.substeps == 1
