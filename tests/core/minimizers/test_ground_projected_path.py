# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.kernels.barrier import barrier_derivative
from supple.core.minimizers.search_path import GroundProjectedPath
from supple.core.potentials import GroundBarrier, GroundFriction
from supple.tests.core.rubbing import alike

COUNT = 200
REACH = 0.01
SLIP = 1e-4
FRACTIONS = [1e-3, 0.1, 0.5, 1.0, 2.0, 64.0]
FASTEST = 1e6


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _reach(count: int) -> torch.Tensor:
    return torch.full((count,), REACH, dtype=torch.float64)


def _barrier(height: float = 0.0) -> GroundBarrier:
    weights = torch.logspace(-2, 4, COUNT, dtype=torch.float64)
    return GroundBarrier(
        torch.randperm(COUNT, generator=_random(41)), weights, height, _reach(COUNT)
    )


def _positions(height: float = 0.0) -> torch.Tensor:
    """The (3, N) positions, from nearly on the ground to far above."""
    positions = torch.randn(3, COUNT, generator=_random(42), dtype=torch.float64)
    above = torch.logspace(-3, 3, COUNT, dtype=torch.float64)
    positions[2] = height + REACH * above[torch.randperm(COUNT, generator=_random(43))]
    return positions


def _stiffness() -> torch.Tensor:
    """The (2, S) stiffness, from a speck of dust to a rock."""
    exponents = 10.0 * torch.rand(2, COUNT, generator=_random(44), dtype=torch.float64)
    return 10.0**exponents


def _direction(speed: float) -> torch.Tensor:
    return speed * torch.randn(3, COUNT, generator=_random(45), dtype=torch.float64)


def _friction(barrier: GroundBarrier, start: torch.Tensor) -> GroundFriction:
    friction = GroundFriction(
        barrier, alike(barrier.weights, 0.5), torch.ones_like(barrier.weights)
    )
    friction.begin_step(start, torch.full_like(barrier.weights, SLIP))
    return friction


def _slid(positions: torch.Tensor, ways: float) -> torch.Tensor:
    """Horizontally, in units of the way that still sticks."""
    slid = positions.clone()
    slid[:2] += SLIP * ways * _direction(1.0)[:2]
    return slid


def _path(
    barrier: GroundBarrier, positions: torch.Tensor, direction: torch.Tensor, slid: float = 0.0
) -> GroundProjectedPath:
    path = GroundProjectedPath(barrier, _friction(barrier, _slid(positions, slid)))
    path.start(positions, direction, _stiffness())
    return path


@pytest.mark.parametrize("slid", [0.0, 0.5, 30.0])
def test_it_starts_where_the_vertices_are(slid: float) -> None:
    positions = _positions()
    found = _path(_barrier(), positions, _direction(1.0), slid).at(0.0)
    torch.testing.assert_close(found, positions, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("slid", [0.0, 0.5, 30.0])
def test_it_leaves_in_the_direction_of_the_newton_step(slid: float) -> None:
    positions = _positions()
    # So small that the ground's stiffness does not change on the way.
    scale = torch.cat([positions.new_full((2, COUNT), SLIP), positions[2:]])
    path = _path(_barrier(), positions, 1e-2 * scale * _direction(1.0), slid)
    h = 1e-2
    tangent = (path.at(h) - path.at(-h)) / (2.0 * h) / scale
    torch.testing.assert_close(tangent, 1e-2 * _direction(1.0), rtol=1e-4, atol=1e-5)


# Heights other than 0 are known to their own rounding, which hides what is left of a mad fall.
@pytest.mark.parametrize(
    ("speed", "height"), [(1e-3, 0.0), (1.0, 0.0), (FASTEST, 0.0), (1.0, -3.0), (1.0, 5.0)]
)
def test_it_never_meets_the_ground(speed: float, height: float) -> None:
    barrier = _barrier(height)
    path = _path(barrier, _positions(height), _direction(speed))
    for fraction in FRACTIONS:
        reached = path.at(fraction)
        assert torch.isfinite(reached).all()
        assert float(reached[2].min()) > height
        assert torch.isfinite(barrier.energy(reached))


def test_it_is_the_straight_line_away_from_the_ground() -> None:
    positions, direction = _positions(), _direction(1.0)
    positions[2] += 2.0 * REACH
    direction[2].abs_()
    path = _path(_barrier(), positions, direction)
    for fraction in FRACTIONS:
        torch.testing.assert_close(path.at(fraction), positions + fraction * direction)


def test_vertices_that_cannot_touch_go_straight() -> None:
    inner = torch.arange(COUNT // 2)
    outer = torch.arange(COUNT // 2, COUNT)
    barrier = GroundBarrier(
        outer, torch.ones(len(outer), dtype=torch.float64), 0.0, _reach(len(outer))
    )
    positions, direction = _positions(), _direction(1.0)
    path = GroundProjectedPath(barrier, None)
    path.start(positions, direction, _stiffness()[:, outer])
    end = path.at(1.0)
    torch.testing.assert_close(end[:, inner], (positions + direction)[:, inner])
    torch.testing.assert_close(end[:2], (positions + direction)[:2])
    assert float(end[2, outer].min()) > 0.0


@pytest.mark.parametrize("fall", [1e-3, 1.0, 1e3])
def test_a_free_vertex_ends_where_its_energy_is_least(fall: float) -> None:
    # ½ k (z − z̃)² + b(z): one Newton step is all it takes.
    barrier, positions, stiffness = _barrier(), _positions(), _stiffness()
    target = positions - fall
    path = GroundProjectedPath(barrier, None)
    path.start(positions, _newton_step(barrier, positions, target, stiffness), stiffness)
    end = path.at(1.0)[:, barrier.vertices]
    pull = stiffness[1] * (end[2] - target[2, barrier.vertices])
    push = barrier.weights * barrier_derivative((end[2] - barrier.height) / REACH)
    torch.testing.assert_close(pull, -push, rtol=1e-7, atol=1e-9)
    assert (push < 0.0).any()


def _newton_step(
    barrier: GroundBarrier, positions: torch.Tensor, target: torch.Tensor, stiffness: torch.Tensor
) -> torch.Tensor:
    """The Newton step of vertices that springs pull to their targets, each by itself."""
    vertices = barrier.vertices
    away = (positions - target)[:, vertices]
    force = stiffness[[0, 0, 1]] * away
    force[2] -= barrier.normal_force(positions)
    step = torch.zeros_like(positions)
    step[:2, vertices] = -force[:2] / stiffness[0]
    step[2, vertices] = -force[2] / (stiffness[1] + barrier.second_derivative(positions))
    return step


@pytest.mark.parametrize("slid", [0.0, 0.5, 30.0])
@pytest.mark.parametrize("pulled", [0.1, 3.0, 1e4])
def test_a_vertex_that_is_drawn_along_the_ground_ends_where_its_energy_is_least(
    pulled: float, slid: float
) -> None:
    # ½ k ‖u − ũ‖² + μN f₀(‖u‖).
    barrier, positions, stiffness = _barrier(), _positions(), _stiffness()
    friction = _friction(barrier, _slid(positions, slid))
    vertices, displacement = barrier.vertices, friction.displacement(positions)
    target = displacement + SLIP * pulled * _direction(1.0)[:2, vertices]
    hessian = friction.second_derivative(displacement).permute(2, 0, 1)
    hessian = hessian + stiffness[0, :, None, None] * torch.eye(2, dtype=torch.float64)
    force = stiffness[0] * (displacement - target) + friction.force(displacement)
    direction = torch.zeros_like(positions)
    direction[:2, vertices] = -torch.linalg.solve(hessian, force.T).T
    path = GroundProjectedPath(barrier, friction)
    path.start(positions, direction, stiffness)
    end = friction.displacement(path.at(1.0))
    pull, hold = stiffness[0] * (target - end), friction.force(end)
    # Ways are differences of positions, and know their rounding times the stiffness.
    slack = 1e-13 * (stiffness[0] + 2.0 * friction.limit / SLIP) + 1e-9 * friction.limit
    assert ((pull - hold).abs() < slack + 1e-6 * pull.abs()).all()


def test_a_vertex_predicted_in_the_ground_lands_as_if_alone() -> None:
    barrier, start = _barrier(), _positions()
    start[2] += 2.0 * REACH
    predicted = start - torch.linspace(0.0, 20.0, COUNT, dtype=torch.float64)
    stiffness = 10.0 ** (10.0 * torch.rand(COUNT, generator=_random(46), dtype=torch.float64))
    landed = GroundProjectedPath(barrier, None).project_onto_ground(start, predicted, stiffness)
    assert torch.equal(landed[:2], predicted[:2])
    vertices = barrier.vertices
    pull = stiffness[vertices] * (landed - predicted)[2, vertices]
    push = barrier.normal_force(landed)
    torch.testing.assert_close(pull, push, rtol=1e-7, atol=1e-9)
    assert (push > 0.0).any() and (push == 0.0).any()


def test_a_vertex_that_touches_already_and_would_go_on_to_stays() -> None:
    barrier, start = _barrier(), _positions()
    start[2] = 0.5 * REACH
    predicted = start + _direction(REACH)
    guess = GroundProjectedPath(barrier, _friction(barrier, start)).project_onto_ground(
        start, predicted, torch.ones(COUNT, dtype=torch.float64)
    )
    stays = predicted[2] < REACH
    assert 0 < int(stays.sum()) < COUNT
    assert torch.equal(guess, torch.where(stays, start, predicted))
