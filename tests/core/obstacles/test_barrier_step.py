# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.kernels.barrier import barrier_derivative
from supple.core.obstacles import BarrierStep, barrier_proximal
from supple.core.potentials import GroundBarrier
from supple.tests.core.rubbing import alike

TIME = torch.tensor([0.01], dtype=torch.float64)


def _one_vertex(height: float, velocity: tuple[float, float, float]) -> tuple:
    positions = torch.tensor([[0.0], [0.0], [height]], dtype=torch.float64)
    return positions, torch.tensor(velocity, dtype=torch.float64)[:, None]


def _barrier_step(friction: float = 0.0, kinetic: float | None = None) -> BarrierStep:
    barrier = GroundBarrier(
        torch.tensor([0]),
        torch.tensor([100.0], dtype=torch.float64),
        0.0,
        torch.tensor([0.01], dtype=torch.float64),
    )
    inverse_mass = torch.tensor([2.0], dtype=torch.float64)
    return BarrierStep(barrier, inverse_mass, alike(inverse_mass, friction, kinetic))


@pytest.mark.parametrize("stiffness", [1e-12, 1e-6, 1e-2, 0.3, 1.0, 3.0, 1e2, 1e6])
def test_the_proximal_root_is_exact_from_far_below_to_the_edge(stiffness: float) -> None:
    start = torch.cat([-torch.logspace(6, -6, 40), torch.linspace(0.0, 0.999999, 40)]).double()
    weight = torch.full_like(start, stiffness)
    root = barrier_proximal(start, weight)
    residual = root - start + weight * barrier_derivative(root)
    scale = root.abs() + start.abs() + (weight * barrier_derivative(root)).abs()
    assert ((root > 0) & (root <= 1)).all()
    assert float((residual / scale).abs().max()) < 1e-9


@pytest.mark.parametrize("speed", [-0.1, -10.0, -1000.0])
def test_no_speed_brings_a_vertex_through_the_barrier(speed: float) -> None:
    positions, velocities = _one_vertex(0.02 + 0.01 * speed, (0.0, 0.0, speed))
    _barrier_step().apply(positions, velocities, 0.01, TIME)
    assert float(positions[2]) > 0.0


def test_a_vertex_out_of_reach_is_left_alone() -> None:
    positions, velocities = _one_vertex(0.02, (1.0, 2.0, -3.0))
    _barrier_step(0.5).apply(positions, velocities, 0.01, TIME)
    assert positions.flatten().tolist() == [0.0, 0.0, 0.02]
    assert velocities.flatten().tolist() == [1.0, 2.0, -3.0]


def test_friction_takes_the_coefficient_times_what_the_barrier_gives() -> None:
    positions, velocities = _one_vertex(-0.01, (3.0, 4.0, -2.0))
    _barrier_step(0.25).apply(positions, velocities, 0.01, TIME)
    lost = 5.0 - float(torch.hypot(*velocities[:2]))
    assert lost == pytest.approx(0.25 * (float(velocities[2]) + 2.0))
    assert lost > 0.3


@pytest.mark.parametrize("speed", [0.1, 0.38, 0.41, 5.0])
def test_what_the_static_coefficient_cannot_stop_is_slowed_by_the_kinetic_one(speed) -> None:
    positions, velocities = _one_vertex(-0.01, (speed, 0.0, -2.0))
    step = _barrier_step(0.25, 0.1)
    _, free = positions.clone(), velocities.clone()
    step.apply(positions, velocities, 0.01, TIME)
    gained = float(velocities[2] - free[2])
    speed_after = 0.0 if speed <= 0.25 * gained else speed - 0.1 * gained
    assert 0.38 < 0.25 * gained < 0.41
    assert float(velocities[0]) == pytest.approx(speed_after, abs=1e-12)
    assert float(positions[0]) == pytest.approx(0.01 * (speed_after - speed), abs=1e-12)


def test_compiled_loops_and_torch_passes_agree() -> None:
    dtype = torch.float64
    generator = torch.Generator().manual_seed(5)
    heights = torch.linspace(-0.02, 0.05, 40, dtype=dtype)
    positions = torch.stack([torch.zeros_like(heights), torch.zeros_like(heights), heights])
    velocities = torch.randn(3, 40, generator=generator, dtype=dtype)
    velocities[:, ::7] = 0.0
    vertices, ones = torch.arange(40), torch.ones(40, dtype=dtype)
    distances = torch.linspace(0.005, 0.03, 40, dtype=dtype)
    times = torch.linspace(0.004, 0.01, 40, dtype=dtype)
    barrier = GroundBarrier(vertices, 50.0 * ones, 0.0, distances)
    step = BarrierStep(barrier, 2.0 * ones, alike(ones, 0.4, 0.2))
    looped, passed = (positions.clone(), velocities.clone()), (positions, velocities)
    step.apply(*looped, 0.01, times)
    step._apply_passes(*passed, 0.01, times)
    torch.testing.assert_close(looped, passed)
