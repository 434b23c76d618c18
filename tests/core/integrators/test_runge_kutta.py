# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Ground, InstabilityError, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ExplicitIntegrator, Midpoint, RungeKutta4
from supple.core.integrators.stability import spectrum
from supple.core.materials import Linear, StableNeoHookean

FRAME = 1.0 / 24.0
WEIGHTLESS = (0.0, 0.0, 0.0)
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
SCHEMES = [Midpoint(), RungeKutta4()]


@pytest.fixture(params=SCHEMES, ids=lambda scheme: scheme.label)
def scheme(request: pytest.FixtureRequest) -> ExplicitIntegrator:
    return request.param


def _spring(scheme: ExplicitIntegrator, substeps: int | None, damping: float = 0.0) -> Simulator:
    """A linear tet drawn along its fastest vibration."""
    body = SoftBody(TetMesh(CORNERS, [[0, 1, 2, 3]]), Linear(1e4, 0.3), damping=damping)
    simulator = Simulator(
        Scene([body], gravity=WEIGHTLESS), scheme, frame_time=0.05, substeps=substeps
    )
    direction, _ = _fastest(simulator)
    state = simulator.state
    state.positions.add_(1e-3 * direction)
    return simulator


def _fastest(simulator: Simulator) -> tuple[torch.Tensor, float]:
    """(3, 4) direction of the fastest vibration, and its frequency in rad/s."""
    system = simulator.system
    rest = system.rest_positions()
    columns = []
    for index in range(rest.numel()):
        moved = rest.clone()
        moved.view(-1)[index] += 1.0
        gradient = torch.zeros_like(rest)
        system.add_gradient(moved, gradient)
        columns.append((gradient * system.inverse_mass).view(-1))
    values, vectors = np.linalg.eigh(torch.stack(columns, 1).numpy())
    return torch.as_tensor(vectors[:, -1]).view(3, 4), math.sqrt(values[-1])


def test_free_fall_is_the_parabola_itself(make_block, scheme) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), velocity=(1.0, 0.0, 2.0))
    *_, last = Simulator(Scene([body]), scheme, substeps=20).run(24)
    way = np.array([last.time, 0.0, 2.0 * last.time - 0.5 * 9.81 * last.time**2])
    np.testing.assert_allclose(last.positions[0].numpy(), body.mesh.vertices + way, atol=1e-9)


@pytest.mark.parametrize(
    ("scheme", "growth"),
    [
        (Midpoint(), lambda z: 1.0 + z**4 / 4.0),
        (RungeKutta4(), lambda z: 1.0 - z**6 / 72.0 + z**8 / 576.0),
    ],
    ids=["midpoint", "runge_kutta4"],
)
@pytest.mark.parametrize("substeps", [8, 20])
def test_the_energy_of_a_vibration_changes_by_the_square_of_the_stability_function(
    scheme, growth, substeps: int
) -> None:
    simulator = _spring(scheme, substeps)
    _, frequency = _fastest(simulator)
    before = simulator.system.energies(simulator.state).total
    (frame,) = simulator.run(1)
    expected = growth(frequency * 0.05 / substeps) ** substeps
    assert frame.report.energies.total / before == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_the_error_falls_with_the_power_of_the_step_that_is_the_order(scheme, damping) -> None:
    def error(substeps: int) -> float:
        simulator = _spring(scheme, substeps, damping)
        direction, frequency = _fastest(simulator)
        (frame,) = simulator.run(1)
        # x″ + damping x′ + ω²x = 0 from rest
        beat, decay = math.sqrt(frequency**2 - damping**2 / 4.0), damping / 2.0
        swing = math.cos(beat * 0.05) + decay / beat * math.sin(beat * 0.05)
        exact = 1e-3 * math.exp(-decay * 0.05) * swing * direction
        found = frame.positions[0].T - simulator.system.rest_positions()
        return float((found - exact).norm())

    measured = math.log2(error(40) / error(80))
    assert measured == pytest.approx(scheme.order, abs=0.15)


def test_momentum_and_damping_of_a_free_body_follow_their_closed_forms(make_block, scheme) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), damping=0.7, velocity=(1.0, 2.0, 3.0))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), scheme, substeps=20)
    *_, last = simulator.run(24)
    momentum = (simulator.system.mass @ last.velocities[0]).numpy()
    expected = 1000.0 * math.exp(-0.7) * np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(momentum, expected, rtol=1e-9)


def test_runge_kutta_holds_at_a_step_that_makes_midpoint_explode(make_block) -> None:
    mesh = make_block()
    start = mesh.vertices * [1.05, 1.0, 1.0]
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), initial_positions=start, name="Block")
    scene = Scene([body], gravity=WEIGHTLESS)
    highest = spectrum(Simulator(scene).system).frequency
    step = 1.6 / highest
    holding = Simulator(scene, RungeKutta4(), frame_time=step, substeps=1)
    start = holding.system.energies(holding.state).total
    *_, held = holding.run(100)
    assert held.report.energies.total < start
    exploding = Simulator(scene, Midpoint(), frame_time=step, substeps=1)
    with pytest.raises(InstabilityError, match=r"Block: .*too few at frame \d+"):
        list(exploding.run(100))
    assert torch.isfinite(exploding.state.positions).all()


def test_steps_chosen_for_it_keep_the_energy_of_a_wobble(make_block, scheme) -> None:
    mesh = make_block()
    start = mesh.vertices * [1.1, 1.0, 1.0]
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), initial_positions=start)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), scheme)
    before = simulator.system.energies(simulator.state).total
    *_, last = simulator.run(48)
    assert last.report.energies.total == pytest.approx(before, rel=0.05)


def test_a_dropped_body_comes_to_rest_on_the_ground_under_its_weight(make_block, scheme) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.05)), StableNeoHookean(1e4, 0.3), damping=4.0, density=100.0
    )
    simulator = Simulator(Scene([body], ground=Ground()), scheme)
    *_, last = simulator.run(120)
    barrier = simulator.system.ground_barrier
    carried = float(barrier.normal_force(last.positions[0].T).sum())
    assert carried == pytest.approx(100.0 * 9.81, rel=2e-3)


def test_led_pins_are_where_they_are_led_at_each_frame(make_block, scheme) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] > 0.99)
    path = mesh.vertices[top] + np.linspace(0, 0.2, 5)[:, None, None] * [1.0, 0.0, 0.0]
    body = SoftBody(mesh, StableNeoHookean(1e3, 0.3), pinned=top, pin_path=path, damping=1.0)
    for frame in Simulator(Scene([body], gravity=WEIGHTLESS), scheme).run(4):
        np.testing.assert_allclose(frame.positions[0][top].numpy(), path[frame.index], atol=1e-12)
        speed = 0.05 / FRAME
        np.testing.assert_allclose(frame.velocities[0][top, 0].numpy(), speed, rtol=1e-6)
