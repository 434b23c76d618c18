# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from supple.core.obstacles import Ball, Plane, ProjectionStep, Surface
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.tests.core.rubbing import alike

STEP = 0.01
ALL = torch.arange(300)
BALL = Ball((0.3, -0.2, 0.5), 0.4)
SURFACES = pytest.mark.parametrize("surface", [Plane(0.25), BALL], ids=["plane", "ball"])
# From the ball's center to its flank, and along it.
OUT = torch.tensor([0.48, 0.6, 0.64], dtype=torch.float64)
ALONG = torch.tensor([0.8, 0.0, -0.6], dtype=torch.float64)


def _column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def _on(surface: Surface, depth: float) -> tuple[Tensor, Tensor, Tensor]:
    """A point so deep inside, the outward normal there and a tangent, all (3, 1)."""
    if isinstance(surface, Ball):
        center = torch.tensor(surface.center, dtype=torch.float64)
        return (center + (surface.radius - depth) * OUT)[:, None], OUT[:, None], ALONG[:, None]
    return _column(0.1, 0.2, 0.25 - depth), _column(0.0, 0.0, 1.0), _column(0.6, 0.8, 0.0)


def _meeting(surface: Surface, friction: float, *settings: float) -> ProjectionStep:
    return _step(surface, friction, *settings, vertices=torch.tensor([0]))


def _step(
    surface: Surface,
    friction: float,
    *settings: float,
    kinetic: float | None = None,
    vertices: Tensor = ALL,
) -> ProjectionStep:
    coefficients = alike(vertices.double(), friction, kinetic)
    return ProjectionStep(vertices, surface, coefficients, *settings)


def _times(positions: Tensor) -> Tensor:
    """The (N,) times, which springs and pushes that are no energy do not need."""
    return torch.full_like(positions[0], STEP)


def _swarm() -> tuple[Tensor, Tensor]:
    """Points in and about the ball and the plane, some of them at rest."""
    generator = torch.Generator().manual_seed(8)
    center = torch.tensor(BALL.center).double()[:, None]
    positions = center + 0.3 * torch.randn(3, 300, generator=generator, dtype=torch.float64)
    velocities = torch.randn(3, 300, generator=generator, dtype=torch.float64)
    velocities[:, ::7] = 0.0
    return positions, velocities


@SURFACES
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_a_vertex_inside_is_put_on_the_surface_and_bounces(surface, restitution: float) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 3.0 * along
    expected = positions + 0.01 * normal
    _meeting(surface, 0.0, restitution).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(positions, expected)
    torch.testing.assert_close(velocities, 2.0 * restitution * normal + 3.0 * along)


@SURFACES
def test_a_vertex_outside_is_left_alone(surface) -> None:
    positions, normal, along = _on(surface, -0.01)
    velocities = -2.0 * normal + 3.0 * along
    before = positions.clone(), velocities.clone()
    _meeting(surface, 0.5, 0.5, 3.0).apply(positions, velocities, STEP, _times(positions))
    assert torch.equal(positions, before[0]) and torch.equal(velocities, before[1])


@SURFACES
def test_a_vertex_that_already_leaves_keeps_its_speed(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = 2.0 * normal + 3.0 * along
    before = velocities.clone()
    _meeting(surface, 0.5, 0.3).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, before)


@SURFACES
def test_friction_takes_the_coefficient_times_the_normal_impulse(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 5.0 * along
    # Two thirds of the way back on the surface: what friction stopped was moved on by too.
    expected = positions + 0.01 * normal - STEP * 0.5 * 3.0 * along
    _meeting(surface, 0.5, 0.5).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, normal + (5.0 - 0.5 * 3.0) * along)
    torch.testing.assert_close(positions, expected)


@SURFACES
def test_friction_stops_a_slow_vertex_and_does_not_turn_it_round(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 0.5 * along
    expected = positions + 0.01 * normal - STEP * 0.5 * along
    _meeting(surface, 0.5).apply(positions, velocities, STEP, _times(positions))
    assert float(velocities.abs().max()) < 1e-15
    torch.testing.assert_close(positions, expected)


@SURFACES
@pytest.mark.parametrize(("speed", "speed_after"), [(0.9, 0.0), (1.1, 0.7), (5.0, 4.6)])
def test_what_the_static_coefficient_cannot_stop_is_slowed_by_the_kinetic_one(
    surface, speed: float, speed_after: float
) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + speed * along
    step = _step(surface, 0.5, kinetic=0.2, vertices=torch.tensor([0]))
    step.apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, speed_after * along)


@SURFACES
def test_the_penalty_is_a_force_along_the_normal_by_speed_and_mass(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = 3.0 * normal + 4.0 * along
    _meeting(surface, 0.0, 0.0, 20.0).apply(positions, velocities, 1e-6, _times(positions))
    # k |v| in m/s², over a step far shorter than 1 / k.
    torch.testing.assert_close(velocities, (3.0 + 1e-6 * 20.0 * 5.0) * normal + 4.0 * along)


@SURFACES
def test_the_penalty_pushes_before_the_vertex_bounces_and_slides(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -3.0 * normal + 4.0 * along
    _meeting(surface, 0.2, 0.5, 20.0).apply(positions, velocities, STEP, _times(positions))
    pushed = -3.0 + (1.0 - math.exp(-20.0 * STEP)) * 5.0
    bounced = -0.5 * pushed
    slowed = 4.0 - 0.2 * (bounced + 3.0)
    torch.testing.assert_close(velocities, bounced * normal + slowed * along)


@SURFACES
def test_no_penalty_adds_more_than_the_speed_there_was(surface) -> None:
    positions, normal, _ = _on(surface, 0.01)
    velocities = -2.0 * normal
    _meeting(surface, 0.0, 0.0, 1e9).apply(positions, velocities, STEP, _times(positions))
    assert float(velocities.abs().max()) < 1e-12


@pytest.mark.parametrize("friction", [0.0, 0.4, 5.0])
def test_nothing_ends_in_the_ball_however_fast_it_slides_along_it(friction: float) -> None:
    positions, velocities = _swarm()
    step = _step(BALL, friction, 0.3, 10.0)
    inside = int((BALL.nearest(positions)[0] < 0.0).sum())
    step.apply(positions, velocities, 0.1, _times(positions))
    assert inside > 50
    assert float(BALL.nearest(positions)[0].min()) > -1e-15


def test_a_vertex_at_the_center_of_the_ball_leaves_upwards() -> None:
    positions, velocities = _column(*BALL.center), _column(0.0, 0.0, 0.0)
    _meeting(BALL, 0.5).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(positions, _column(0.3, -0.2, 0.9))


def test_only_the_vertices_it_was_given_are_met() -> None:
    positions, velocities = _swarm()
    before = positions.clone()
    _step(BALL, 0.4, vertices=ALL[::2]).apply(positions, velocities, STEP, _times(positions))
    moved = (positions != before).any(0)
    assert moved[::2].any() and not moved[1::2].any()


@SURFACES
def test_compiled_loops_and_torch_passes_agree(surface) -> None:
    looped, passed = _swarm(), _swarm()
    step = _step(surface, 0.4, 0.3, 5.0, kinetic=0.2)
    step.apply(*looped, STEP, _times(looped[0]))
    step._apply_passes(*passed, STEP, _times(passed[0]))
    torch.testing.assert_close(looped, passed, rtol=1e-13, atol=1e-14)


@SURFACES
def test_on_a_cuda_device_nothing_waits_for_the_host(surface) -> None:
    expected = _swarm()
    _step(surface, 0.4, 0.3, 5.0, kinetic=0.2).apply(*expected, STEP, _times(expected[0]))
    with pretended_cuda() as device:
        positions, velocities = (values.to("cuda") for values in _swarm())
        step = _step(surface, 0.4, 0.3, 5.0, kinetic=0.2, vertices=ALL.to("cuda"))
        before = device.waits
        step.apply(positions, velocities, STEP, _times(positions))
        assert device.waits == before
        found = positions.cpu(), velocities.cpu()
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-14)
