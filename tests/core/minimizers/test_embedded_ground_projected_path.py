# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton steps along the ground for points that share vertices."""

from __future__ import annotations

import pytest
import torch

from supple.core.minimizers import search_path as embedded_ground_projected_path
from supple.core.minimizers.search_path import EmbeddedGroundProjectedPath
from supple.core.potentials import GroundBarrier, GroundFriction
from supple.core.potentials.ground import EmbeddedPoints
from supple.tests.core.rubbing import alike

TETS, COUNT = 5, 20
REACH, SLIP = 0.01, 1e-4


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _free() -> torch.Tensor:
    free = torch.ones(COUNT, dtype=torch.bool)
    free[3] = False
    return free


def _barrier() -> GroundBarrier:
    """The barrier of thirty points, some of them outside of their tets."""
    shares = torch.rand(30, 4, generator=_random(1), dtype=torch.float64) - 0.1
    shares = shares / shares.sum(1, keepdim=True)
    corners = torch.arange(COUNT).view(TETS, 4)[torch.arange(30) * TETS // 30]
    points = EmbeddedPoints(corners.T.contiguous(), shares.T.contiguous(), _free())
    weights = 10.0 ** (4.0 * torch.rand(30, generator=_random(2), dtype=torch.float64))
    return GroundBarrier(points, weights, 0.0, torch.full_like(weights, REACH))


def _positions() -> torch.Tensor:
    """The (3, N) positions with points close to the ground and above it, all above zero."""
    positions = torch.rand(3, COUNT, generator=_random(3), dtype=torch.float64)
    positions[2] = REACH * (0.3 + 1.5 * positions[2])
    lowest = float(_barrier().points.gather(positions[2]).min())
    positions[2] += max(0.0, 0.1 * REACH - lowest)
    return positions


def _stiffness(barrier: GroundBarrier) -> torch.Tensor:
    return 1e4 * (0.5 + torch.rand(2, len(barrier.vertices), generator=_random(4)).double())


def _direction(size: float) -> torch.Tensor:
    direction = size * torch.randn(3, COUNT, generator=_random(5), dtype=torch.float64)
    direction[:, ~_free()] = 0.0
    return direction


def _path(size: float, friction: float = 0.5) -> tuple[EmbeddedGroundProjectedPath, GroundBarrier]:
    barrier, positions = _barrier(), _positions()
    drag = None
    if friction > 0.0:
        drag = GroundFriction(
            barrier, alike(barrier.weights, friction), torch.ones_like(barrier.weights)
        )
        drag.begin_step(positions - 0.3 * SLIP, torch.full_like(barrier.weights, SLIP))
    path = EmbeddedGroundProjectedPath(barrier, drag, _free())
    path.start(positions, _direction(size), _stiffness(barrier))
    return path, barrier


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_it_starts_where_the_vertices_are(friction: float) -> None:
    path, _ = _path(1.0, friction)
    torch.testing.assert_close(path.at(0.0), _positions(), rtol=0.0, atol=1e-2 * SLIP)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_it_leaves_in_the_direction_of_the_newton_step(friction: float, monkeypatch) -> None:
    for name in ("HEIGHT_TOLERANCE_RATIO", "DISPLACEMENT_TOLERANCE_RATIO"):
        monkeypatch.setattr(embedded_ground_projected_path, name, 1e-12)
    monkeypatch.setattr(embedded_ground_projected_path, "MAX_SWEEPS", 20000)
    size = 1e-2 * SLIP
    path, _ = _path(size, friction)
    moved = (path.at(1.0) - path.at(-1.0)) / 2.0
    torch.testing.assert_close(moved, _direction(size), rtol=0.05, atol=0.05 * size)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_no_point_meets_the_ground_and_what_is_held_stays(size: float) -> None:
    path, barrier = _path(size)
    for fraction in (0.1, 1.0, 8.0):
        end = path.at(fraction)
        assert torch.isfinite(barrier.energy(end))
        assert float(barrier.ratio(end).min()) > 0.0
        assert torch.equal(end[:, 3], _positions()[:, 3])


def test_free_vertices_end_where_their_energy_is_least() -> None:
    """½ k (z − z̃)² + b(z) of all: a Newton step leads to its end."""
    barrier, positions = _barrier(), _positions()
    stiffness = _stiffness(barrier)
    vertices, fall = barrier.vertices, torch.zeros_like(_positions())
    fall[2, vertices] = -2.0 * REACH
    # The step of the model, whose Hessian couples vertices through their points.
    unit, whole = torch.eye(COUNT, dtype=torch.float64), torch.zeros(COUNT, COUNT).double()
    barrier.points.add(barrier.second_derivative(positions) * barrier.points.gather(unit), whole)
    hessian = whole[vertices][:, vertices] + torch.diag(stiffness[1])
    force = barrier.gradient(positions)[2, vertices] - stiffness[1] * fall[2, vertices]
    direction = torch.zeros_like(positions)
    direction[2, vertices] = torch.linalg.solve(hessian, -force)
    path = EmbeddedGroundProjectedPath(barrier, None, _free())
    path.start(positions, direction, stiffness)
    end = path.at(1.0)
    pull = stiffness[1] * (end - positions - fall)[2, vertices]
    push = -barrier.gradient(end)[2, vertices]
    assert float(push.abs().max()) > 10.0
    torch.testing.assert_close(pull, push, rtol=1e-2, atol=1e-2 * float(push.abs().max()))


def test_what_falls_lands_and_what_lies_stays() -> None:
    barrier, start = _barrier(), _positions()
    friction = GroundFriction(
        barrier, alike(barrier.weights, 0.5), torch.ones_like(barrier.weights)
    )
    friction.begin_step(start, torch.full_like(barrier.weights, SLIP))
    path = EmbeddedGroundProjectedPath(barrier, friction, _free())
    predicted = start.clone()
    predicted[2, _free()] -= 0.5 * REACH
    predicted[0, _free()] += 0.1
    guess = path.project_onto_ground(
        start, predicted, torch.full((COUNT,), 1e4, dtype=torch.float64)
    )
    lies = (barrier.ratio(start) < 1.0) & (barrier.ratio(predicted) < 1.0)
    assert int(lies.sum()) > 5
    assert isinstance(barrier.points, EmbeddedPoints)
    vertices = barrier.points.corners[:, lies].flatten().unique()
    assert torch.equal(guess[:2, vertices], start[:2, vertices])
    assert torch.isfinite(barrier.energy(guess))
    flies = torch.ones(COUNT, dtype=torch.bool)
    flies[vertices] = False
    flies &= _free()
    assert torch.equal(guess[:2, flies], predicted[:2, flies])


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_step_within_what_the_model_holds_need_not_bend(friction: float) -> None:
    path, barrier = _path(1.0, friction)
    least = min(float(barrier.ratio(_positions()).min()) * REACH, SLIP)
    assert not path.is_curved(_positions(), _direction(1e-2 * least))
    assert path.is_curved(_positions(), _direction(REACH))


def test_a_step_that_friction_turns_bends() -> None:
    sideways = _direction(1.0)
    sideways[2] = 0.0
    sideways *= 3.0 * SLIP / float(sideways.abs().max())
    with_friction, without = _path(1.0)[0], _path(1.0, 0.0)[0]
    assert with_friction.is_curved(_positions(), sideways)
    assert not without.is_curved(_positions(), sideways)


def test_a_step_from_afar_bends_where_it_lands() -> None:
    path, _ = _path(1.0, 0.0)
    down = torch.zeros_like(_positions())
    down[2] = -1.0
    high = _positions() + torch.tensor([[0.0], [0.0], [10.0 * REACH]])
    assert not path.is_curved(high, 2.0 * REACH * down)
    assert path.is_curved(high, 20.0 * REACH * down)


def test_a_search_begins_with_no_step_that_crushes_tets_on_the_ground() -> None:
    """The ground lifts points from the step itself where nothing touches."""
    path, barrier = _path(1.0, friction=0.0)
    positions = _positions()
    positions[2] += 2.0 * REACH
    drop = torch.zeros_like(positions)
    drop[2, _free()] = -1.0
    path.start(positions, drop, _stiffness(barrier))
    share = path.max_fraction()
    points = barrier.points
    assert isinstance(points, EmbeddedPoints)
    height, fall = points.gather(positions[2]), -points.gather(drop[2])
    corners = positions[:, points.corners]
    size = (corners.amax(1) - corners.amin(1)).norm(dim=0)
    lifts = (share * fall - height) / size
    assert float(lifts.max()) == pytest.approx(0.25)
    assert path.max_fraction() < 0.9
    # What ends above the ground is lifted by nothing.
    path.start(positions, 1e-3 * REACH * drop, _stiffness(barrier))
    assert path.max_fraction() == 1.0
