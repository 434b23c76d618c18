# SPDX-License-Identifier: GPL-3.0-or-later
"""Test explicit steps against obstacles at points that share vertices."""

from __future__ import annotations

import pytest
import torch

from supple.core.obstacles import (
    Ball,
    BarrierStep,
    EmbeddedBarrierStep,
    EmbeddedProjectionStep,
    Plane,
)
from supple.core.potentials import GroundBarrier
from supple.core.potentials.ground import EmbeddedPoints
from supple.tests.core.rubbing import alike

STEP, REACH = 0.01, 0.02
COUNT = 12  # vertices
#: Torch passes ask all points at once, which is an estimate: they end elsewhere.
ONE_BY_ONE = pytest.mark.parametrize("way", ["compiled loops"], indirect=True)


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _points(least: float = 0.0, count: int = 40) -> EmbeddedPoints:
    """The points of three tets; shares go down to ``least``."""
    tets = torch.arange(COUNT).view(3, 4)
    shares = torch.rand(count, 4, generator=_random(1), dtype=torch.float64) + least
    shares = shares / shares.sum(1, keepdim=True)
    corners = tets[torch.arange(count) * 3 // count]
    return EmbeddedPoints(corners.T.contiguous(), shares.T.contiguous(), _masses() < 1e3)


def _masses() -> torch.Tensor:
    return 0.5 + torch.rand(COUNT, generator=_random(2), dtype=torch.float64)


def _barrier(points: EmbeddedPoints) -> GroundBarrier:
    weights = 1.0 + 50.0 * torch.rand(len(points), generator=_random(3), dtype=torch.float64)
    return GroundBarrier(points, weights, 0.0, torch.full_like(weights, REACH))


def _step(
    points: EmbeddedPoints, friction: float, kinetic: float | None = None
) -> EmbeddedBarrierStep:
    coefficients = alike(points.shares[0], friction, kinetic)
    return EmbeddedBarrierStep(_barrier(points), 1.0 / _masses(), coefficients)


def _state(deep: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    positions = torch.rand(3, COUNT, generator=_random(4), dtype=torch.float64)
    positions[2] = deep * REACH * (2.0 * positions[2] - 1.0)
    return positions, torch.randn(3, COUNT, generator=_random(5), dtype=torch.float64)


def _repeated(step: EmbeddedBarrierStep, state: tuple[torch.Tensor, torch.Tensor]) -> None:
    """The same step, until the forces that it begins with are those that it ends with."""
    for _ in range(200):
        step.apply(state[0].clone(), state[1].clone(), STEP, _times())
    step.apply(*state, STEP, _times())


def _times() -> torch.Tensor:
    return torch.full((COUNT,), STEP, dtype=torch.float64)


# All at once, points outside of their tets are pushed down by others.
@pytest.mark.parametrize(
    ("way", "least"),
    [("compiled loops", 0.0), ("compiled loops", -0.15), ("torch passes", 0.0)],
    indirect=["way"],
)
@pytest.mark.parametrize("deep", [0.5, 30.0])
def test_no_point_ends_in_the_ground(least: float, deep: float) -> None:
    points = _points(least)
    positions, velocities = _state(deep)
    assert float(points.gather(positions[2]).min()) < 0.0
    _step(points, 0.5).apply(positions, velocities, STEP, _times())
    assert float(points.gather(positions[2]).min()) > 0.0


@ONE_BY_ONE
def test_a_step_ends_where_inertia_and_barrier_are_least() -> None:
    points, masses = _points(-0.1), _masses()
    barrier = _barrier(points)
    positions, velocities = _state()
    before = positions.clone()
    _repeated(_step(points, 0.0), (positions, velocities))
    pull = masses * (positions - before)[2] / STEP**2
    push = torch.zeros_like(pull)
    points.add(barrier.normal_force(positions), push)
    assert float(push.max()) > 1.0
    torch.testing.assert_close(pull, push, rtol=2e-3, atol=2e-3 * float(push.max()))


@ONE_BY_ONE
def test_momentum_changes_by_what_the_ground_gives_and_energy_is_not_gained() -> None:
    points, masses = _points(), _masses()
    barrier = _barrier(points)
    positions, velocities = _state()
    velocities[2] = -velocities[2].abs()
    before, start = velocities.clone(), positions.clone()
    _repeated(_step(points, 0.3), (positions, velocities))
    given = (masses * (velocities - before)).sum(1)
    force = float(barrier.normal_force(positions).sum())
    assert float(given[2]) == pytest.approx(force * STEP, rel=2e-3)
    assert float(given[:2].norm()) <= 0.3 * force * STEP * 1.001
    torch.testing.assert_close((positions - start)[2], STEP * (velocities - before)[2])


@pytest.mark.parametrize("kinetic", [0.4, 0.1])
def test_a_point_at_a_vertex_is_met_as_the_vertex_is(kinetic: float) -> None:
    """Friction included, whether it sticks or slides."""
    vertices = torch.arange(COUNT)
    corners, shares = vertices.repeat(4, 1), torch.zeros(4, COUNT, dtype=torch.float64)
    shares[0] = 1.0
    points = EmbeddedPoints(corners, shares, _masses() < 1e3)
    weights = torch.full((COUNT,), 20.0, dtype=torch.float64)
    distances = torch.full_like(weights, REACH)
    inverse = 1.0 / _masses()
    for speed in (1e-3, 1.0):
        states = [_state(), _state()]
        for _, velocities in states:
            velocities *= speed
        friction = alike(weights, 0.4, kinetic)
        barriers = [GroundBarrier(own, weights, 0.0, distances) for own in (points, vertices)]
        EmbeddedBarrierStep(barriers[0], inverse, friction).apply(*states[0], STEP, _times())
        BarrierStep(barriers[1], inverse, friction).apply(*states[1], STEP, _times())
        torch.testing.assert_close(states[0], states[1], rtol=1e-6, atol=1e-9)


@ONE_BY_ONE
def test_what_lies_still_under_friction_stays() -> None:
    """Points whose sideways speed friction can stop have none left."""
    points = _points()
    positions, velocities = _state()
    velocities[:2] *= 1e-3
    _repeated(_step(points, 0.5), (positions, velocities))
    pushed = _barrier(points).normal_force(positions) > 1.0
    slip = torch.linalg.vector_norm(points.gather(velocities[:2]), dim=0)
    assert int(pushed.sum()) > 5
    assert float(slip[pushed].max()) < 1e-3 * 0.05


@pytest.mark.parametrize(
    "surface", [Plane(0.0), Ball((0.5, 0.5, -0.6), 0.6)], ids=["plane", "ball"]
)
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_points_are_put_back_and_leave(surface, restitution: float) -> None:
    points = _points(-0.1)
    positions, velocities = _state()
    velocities[2] = -1.0
    inside = surface.nearest(points.gather(positions))[0] < 0.0
    friction = alike(points.shares[0], 0.3)
    step = EmbeddedProjectionStep(points, 1.0 / _masses(), surface, friction, restitution, 0.0)
    step.apply(positions, velocities, STEP, _times())
    distance, normal = surface.nearest(points.gather(positions))
    assert int(inside.sum()) > 1
    assert float(distance.min()) > -1e-9
    after = (points.gather(velocities) * normal).sum(0)[inside]
    assert float(after.mean()) > (0.1 if restitution else -0.3)


def test_held_vertices_stay() -> None:
    points = _points()
    inverse = 1.0 / _masses()
    inverse[::2] = 0.0
    positions, velocities = _state()
    before = positions.clone(), velocities.clone()
    friction = alike(points.shares[0], 0.5)
    step = EmbeddedBarrierStep(_barrier(points), inverse, friction)
    step.apply(positions, velocities, STEP, _times())
    assert torch.equal(positions[:, ::2], before[0][:, ::2])
    assert torch.equal(velocities[:, ::2], before[1][:, ::2])
    assert not torch.equal(positions, before[0])
