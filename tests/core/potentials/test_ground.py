# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.assembly.block_matrix import BlockMatrix, BlockPattern
from supple.core.potentials import GroundBarrier, GroundFriction, Potential
from supple.core.potentials.ground import EmbeddedPoints
from supple.tests.core.dense import dense
from supple.tests.core.rubbing import alike

COEFFICIENT, KINETIC = 0.4, 0.1
SLIP = 1e-4
REACH = 0.01
#: Of all vertices, those that touch the ground; the last of them is out of its reach.
TOUCHING = torch.tensor([4, 0, 3, 1])
HEIGHTS = REACH * torch.tensor([0.4, 2.0, 0.2, 0.9, 0.5], dtype=torch.float64)
#: Ways in units of the one below which a vertex sticks.
WAYS = [0.0, 1e-3, 0.3, 0.99, 1.01, 3.0, 1e4]


@pytest.fixture
def barrier() -> GroundBarrier:
    weights = torch.tensor([300.0, 20.0, 1.0, 50.0], dtype=torch.float64)
    return GroundBarrier(TOUCHING, weights, 0.0, torch.full_like(weights, REACH))


@pytest.fixture
def start() -> torch.Tensor:
    """The (3, 5) positions at the start of a step."""
    horizontal = torch.randn(2, 5, generator=_random(), dtype=torch.float64)
    return torch.cat([horizontal, HEIGHTS[None]])


@pytest.fixture
def friction(barrier: GroundBarrier, start: torch.Tensor) -> GroundFriction:
    return _friction(barrier, start)


@pytest.fixture
def falling(barrier: GroundBarrier, start: torch.Tensor) -> GroundFriction:
    """Friction that falls to a kinetic coefficient."""
    return _friction(barrier, start, KINETIC)


def _friction(
    barrier: GroundBarrier, start: torch.Tensor, kinetic: float = COEFFICIENT
) -> GroundFriction:
    coefficients = alike(barrier.weights, COEFFICIENT, kinetic)
    friction = GroundFriction(barrier, coefficients, torch.ones_like(barrier.weights))
    friction.begin_step(start, torch.full_like(barrier.weights, SLIP))
    return friction


def _random() -> torch.Generator:
    return torch.Generator().manual_seed(21)


def _moved(start: torch.Tensor, ways: float) -> torch.Tensor:
    """Every vertex by so many sticking ways, each in its own direction."""
    angles = torch.linspace(0.3, 5.0, 5, dtype=torch.float64)
    moved = start.clone()
    moved[:2] += ways * SLIP * torch.stack([angles.cos(), angles.sin()])
    return moved


def _hessian(
    potential: Potential, positions: torch.Tensor, projected: bool = False
) -> torch.Tensor:
    """(5, 3, 3) diagonal blocks; there are no others."""
    count = positions.shape[1]
    elements = np.empty((4, 0), dtype=np.int32)
    pattern = BlockPattern(elements, np.arange(count), count, positions.device)
    matrix = BlockMatrix(pattern, positions.dtype)
    potential.add_hessian(positions, matrix, projected)
    return matrix.diagonal_blocks()


def _assert_hessian_matches_gradient(
    potential: Potential, positions: torch.Tensor, h: float
) -> None:
    hessian = _hessian(potential, positions)
    for axis in range(3):
        change = torch.zeros_like(positions)
        change[axis] = h
        rise = potential.gradient(positions + change) - potential.gradient(positions - change)
        expected = (rise / (2.0 * h)).T
        scale = float(hessian.abs().max())
        torch.testing.assert_close(hessian[:, :, axis], expected, rtol=1e-5, atol=1e-6 * scale)


@pytest.mark.parametrize("kinetic", [COEFFICIENT, KINETIC])
@pytest.mark.parametrize("ways", [*WAYS, 1.5, 1.99, 2.01])
def test_the_gradient_is_the_finite_difference_of_the_energy(
    barrier, start, ways: float, kinetic: float
) -> None:
    friction = _friction(barrier, start, kinetic)
    positions, h, random = _moved(start, ways), 1e-5 * SLIP, _random()
    gradient = friction.gradient(positions)
    for _ in range(3):
        direction = torch.randn(3, 5, generator=random, dtype=torch.float64)
        rise = friction.energy(positions + h * direction) - friction.energy(
            positions - h * direction
        )
        slope = float((gradient * direction).sum())
        assert float(rise) / (2.0 * h) == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kinetic", [COEFFICIENT, KINETIC])
@pytest.mark.parametrize("ways", [0.0, 1e-3, 0.3, 0.99, 2.01, 3.0, 1e4])
def test_the_hessian_is_the_finite_difference_of_the_gradient(
    barrier, start, ways: float, kinetic: float
) -> None:
    friction = _friction(barrier, start, kinetic)
    # At no way at all the third derivative jumps: a smaller difference there.
    h = SLIP * (1e-4 if ways else 1e-7)
    _assert_hessian_matches_gradient(friction, _moved(start, ways), h)


@pytest.mark.parametrize("ways", WAYS)
def test_the_energy_is_convex(friction, start, ways: float) -> None:
    values = torch.linalg.eigvalsh(_hessian(friction, _moved(start, ways)))
    assert float(values.min()) > -1e-12 * float(values.max())


def test_where_the_force_falls_the_hessian_is_exact_across_the_way_and_none_along(
    falling, start
) -> None:
    moved = _moved(start, 1.5)
    displacement = (moved - start)[:2, TOUCHING]
    along = displacement / displacement.norm(dim=0)
    across = torch.stack([-along[1], along[0]])
    blocks = _hessian(falling, moved)[TOUCHING, :2, :2]
    pushes = falling.gradient(moved)[:2, TOUCHING].norm(dim=0)
    expected = across * pushes / displacement.norm(dim=0)
    torch.testing.assert_close(torch.einsum("sij,js->is", blocks, across), expected)
    nothing = torch.zeros_like(along)
    found = torch.einsum("sij,js->is", blocks, along)
    torch.testing.assert_close(found, nothing, rtol=0.0, atol=1e-12 * float(blocks.abs().max()))


def test_what_slides_is_held_back_by_the_kinetic_coefficient(falling, barrier, start) -> None:
    pushes = barrier.normal_force(start)
    for ways, coefficient in ((1.0, COEFFICIENT), (1.5, 0.25), (2.0, KINETIC), (50.0, KINETIC)):
        moved = _moved(start, ways)
        force = falling.gradient(moved)[:2, TOUCHING].norm(dim=0)
        torch.testing.assert_close(force, coefficient * pushes)
        # What goes on from there meets no less.
        torch.testing.assert_close(falling.limit_at((moved - start)[:2, TOUCHING]), force)
    resting = torch.zeros(2, len(TOUCHING), dtype=torch.float64)
    torch.testing.assert_close(falling.limit_at(resting), COEFFICIENT * pushes)


@pytest.mark.parametrize("ways", WAYS)
def test_a_bound_of_the_hessian_holds_along_the_way_as_across(friction, start, ways: float) -> None:
    moved = _moved(start, ways)
    true, bound = (_hessian(friction, moved, projected) for projected in (False, True))
    stiffest = torch.linalg.eigvalsh(true)[:, 2, None]
    torch.testing.assert_close(bound, torch.diag_embed(stiffest * stiffest.new_tensor([1, 1, 0])))


def test_a_vertex_that_sticks_is_held_by_a_force_that_grows_with_its_way(friction, start) -> None:
    forces = [friction.gradient(_moved(start, ways)).norm(dim=0)[4] for ways in (0.0, 0.2, 0.8)]
    assert 0.0 == float(forces[0]) < float(forces[1]) < float(forces[2]) < float(friction.limit[0])


def test_no_force_exceeds_the_coefficient_times_the_normal_force(friction, barrier, start) -> None:
    limit = COEFFICIENT * barrier.normal_force(start)
    for ways in WAYS:
        force = friction.gradient(_moved(start, ways))
        assert float(force[2].abs().max()) == 0.0
        assert (force[:2, TOUCHING].norm(dim=0) <= limit * (1.0 + 1e-12)).all()


def test_a_sliding_vertex_is_held_back_by_just_that_force(friction, barrier, start) -> None:
    moved = _moved(start, 7.0)
    displacement = (moved - start)[:2, TOUCHING]
    expected = COEFFICIENT * barrier.normal_force(start) * displacement / displacement.norm(dim=0)
    torch.testing.assert_close(friction.gradient(moved)[:2, TOUCHING], expected)


def test_the_energy_of_a_sliding_vertex_is_its_force_times_its_way(friction, start) -> None:
    for ways in (1.0, 1.0 - 1e-9, 7.0):
        moved = _moved(start, ways)
        lengths = (moved - start)[:2, TOUCHING].norm(dim=0)
        # Nor is there a jump where sticking ends.
        assert float(friction.energy(moved)) == pytest.approx(float(friction.limit @ lengths))


def test_what_the_ground_does_not_push_slides_freely(friction, barrier, start) -> None:
    assert float(barrier.normal_force(start)[3]) == 0.0
    moved = _moved(start, 7.0)
    assert friction.gradient(moved)[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert float(_hessian(friction, moved)[1].abs().max()) == 0.0
    away = start.clone()
    away[2] += 2.0 * REACH
    friction.begin_step(away, torch.full_like(barrier.weights, SLIP))
    assert float(friction.energy(moved)) == 0.0


def test_the_normal_force_is_that_of_the_last_time_it_was_taken(friction, start) -> None:
    lower = start.clone()
    lower[2] *= 0.5
    before = friction.gradient(_moved(lower, 7.0)).norm(dim=0)
    torch.testing.assert_close(before, friction.gradient(_moved(start, 7.0)).norm(dim=0))
    assert _change(friction, lower) > 0.1
    assert (friction.gradient(_moved(lower, 7.0)).norm(dim=0) >= before).all()
    assert _change(friction, lower) == 0.0


def test_normal_forces_may_go_a_share_of_the_way(friction, barrier, start) -> None:
    lower = start.clone()
    lower[2] *= 0.5
    before, target = friction.limit, COEFFICIENT * barrier.normal_force(lower)
    changed, whole = friction.update_lagged(lower, 0.25)
    assert changed == pytest.approx(float((target - before).abs().sum()))
    assert whole == pytest.approx(float(target.sum()))
    torch.testing.assert_close(friction.limit, 0.75 * before + 0.25 * target)


def test_creep_is_the_longest_way_in_slips_of_what_stuck(friction, start) -> None:
    before, after = _moved(start, 0.5), _moved(start, 0.9)
    assert friction.stick_drift(before, after) == pytest.approx(0.4)
    # What slides, and what is not pushed, may go as far as it likes.
    assert friction.stick_drift(_moved(start, 1.5), _moved(start, 7.0)) == 0.0
    friction.limit = torch.zeros_like(friction.limit)
    assert friction.stick_drift(before, after) == 0.0


def test_without_contact_no_normal_force_changes(friction, start) -> None:
    away = start.clone()
    away[2] += 2.0 * REACH
    changed, whole = friction.update_lagged(away)
    assert changed > 0.0 and whole == 0.0
    assert friction.update_lagged(away) == (0.0, 0.0)


def test_the_hessian_of_the_ground_is_the_finite_difference_of_its_gradient(barrier, start) -> None:
    assert float(_hessian(barrier, start).abs().max()) > 0.0
    _assert_hessian_matches_gradient(barrier, start, 1e-6 * REACH)


def _change(friction: GroundFriction, positions: torch.Tensor) -> float:
    """The relative change of the normal forces."""
    changed, whole = friction.update_lagged(positions)
    return changed / whole


GROUND_POINTS_REACH, GROUND_POINTS_SLIP = 0.5, 0.02
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
def ground_points_barrier() -> GroundBarrier:
    points = EmbeddedPoints(CORNERS.contiguous(), SHARES.contiguous(), FREE)
    weights = torch.tensor([30.0, 5.0, 12.0, 7.0], dtype=torch.float64)
    return GroundBarrier(points, weights, 0.0, torch.full_like(weights, GROUND_POINTS_REACH))


@pytest.fixture(params=["barrier", "friction"])
def energy(
    request: pytest.FixtureRequest, ground_points_barrier: GroundBarrier, positions: torch.Tensor
) -> Potential:
    if request.param == "barrier":
        return ground_points_barrier
    friction = GroundFriction(
        ground_points_barrier,
        alike(ground_points_barrier.weights, 0.4),
        torch.ones_like(ground_points_barrier.weights),
    )
    friction.begin_step(
        positions - 0.3 * GROUND_POINTS_SLIP,
        torch.full_like(ground_points_barrier.weights, GROUND_POINTS_SLIP),
    )
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


def test_a_force_on_a_point_goes_to_its_vertices_by_their_shares(
    ground_points_barrier: GroundBarrier,
) -> None:
    out = torch.ones(2, 5, dtype=torch.float64)
    forces = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 0.0]], dtype=torch.float64)
    ground_points_barrier.points.add(forces, out)
    expected = torch.ones(2, 5, dtype=torch.float64)
    for point in range(4):
        for corner in range(4):
            expected[:, CORNERS[corner, point]] += forces[:, point] * SHARES[corner, point]
    torch.testing.assert_close(out, expected)
    assert ground_points_barrier.vertices.tolist() == [0, 1, 2, 4]
