# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Goals, Ground, InstabilityError, Scene, Simulator, SoftBody, TetMesh
from supple.core.assembly.tets import Tets
from supple.core.integrators import (
    Adaptive,
    ExplicitIntegrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.integrators.explicit_stepper import ENERGY_SAMPLES
from supple.core.integrators.stability import spectrum
from supple.core.kernels.posed_tets import PosedTetsKernel
from supple.core.materials import Linear, NeoHookean, StableNeoHookean, StVenantKirchhoff
from supple.core.system import System
from supple.verification.meshes import block

FRAME = 1.0 / 24.0


def _stretched_block(make_block, amount: float = 0.05, **options) -> SoftBody:
    mesh = make_block()
    return SoftBody(
        mesh,
        StableNeoHookean(1e4, 0.3),
        initial_positions=mesh.vertices * [1.0 + amount, 1.0, 1.0],
        **options,
    )


@pytest.mark.parametrize("substeps", [1, 7])
def test_free_fall_follows_the_closed_form_of_the_scheme(make_block, substeps: int) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), velocity=(1.0, 0.0, 2.0))
    simulator = Simulator(Scene([body]), SymplecticEuler(), substeps=substeps)
    *_, last = simulator.run(24)
    steps, h = 24 * substeps, FRAME / substeps
    drop = 9.81 * h * h * steps * (steps + 1) / 2
    expected = body.mesh.vertices + np.array([last.time, 0.0, 2.0 * last.time - drop])
    np.testing.assert_allclose(last.positions[0].numpy(), expected, atol=1e-9)


def test_an_undamped_body_keeps_its_energy(make_block) -> None:
    scene = Scene([_stretched_block(make_block)], gravity=(0.0, 0.0, 0.0))
    simulator = Simulator(scene, SymplecticEuler())
    start = simulator.system.energies(simulator.state).total
    totals = [frame.report.energies.total for frame in simulator.run(240)]
    assert max(totals) < 1.05 * start
    assert np.mean(totals[-48:]) == pytest.approx(np.mean(totals[:48]), rel=0.01)


def test_the_energy_error_shrinks_in_proportion_to_the_step(make_block) -> None:
    def error(substeps: int) -> float:
        scene = Scene([_stretched_block(make_block)], gravity=(0.0, 0.0, 0.0))
        simulator = Simulator(scene, SymplecticEuler(), substeps=substeps)
        start = simulator.system.energies(simulator.state).total
        return max(abs(f.report.energies.total - start) for f in simulator.run(48))

    coarse, fine = error(40), error(160)
    assert coarse / fine == pytest.approx(4.0, rel=0.2)


def test_momentum_of_a_free_body_is_kept(make_block) -> None:
    body = _stretched_block(make_block, velocity=(1.0, 2.0, 3.0))
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), SymplecticEuler())
    *_, last = simulator.run(24)
    momentum = simulator.system.mass @ last.velocities[0]
    np.testing.assert_allclose(momentum.numpy(), [1000.0, 2000.0, 3000.0], rtol=1e-10)


@pytest.mark.parametrize("substeps", [1, 10])
def test_damping_is_a_rate_whatever_the_step(make_block, substeps: int) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), damping=0.7, velocity=(1.0, 0.0, 0.0))
    simulator = Simulator(
        Scene([body], gravity=(0.0, 0.0, 0.0)), SymplecticEuler(), substeps=substeps
    )
    *_, last = simulator.run(24)
    assert float(last.velocities[0][0, 0]) == pytest.approx(math.exp(-0.7), rel=1e-9)


def test_bodies_keep_their_own_damping(make_block) -> None:
    bodies = [SoftBody(make_block(), damping=rate, velocity=(1.0, 0.0, 0.0)) for rate in (0.0, 2.0)]
    *_, last = Simulator(Scene(bodies, gravity=(0.0, 0.0, 0.0)), SymplecticEuler()).run(24)
    speeds = [float(velocities[0, 0]) for velocities in last.velocities]
    assert speeds == pytest.approx([1.0, math.exp(-2.0)], rel=1e-9)


def test_chosen_substeps_survive_a_hard_fall_of_a_stiff_body(make_block) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.5)), StableNeoHookean(1e6, 0.45), velocity=(0.0, 0.0, -10.0)
    )
    simulator = Simulator(Scene([body], ground=Ground()), SymplecticEuler())
    start = simulator.system.energies(simulator.state)
    for frame in simulator.run(24):
        assert frame.report.energies.total <= start.total * 1.01
        assert frame.report.minimum_ground_distance > 0.0


@pytest.mark.parametrize("size", [1.0, 0.01])
@pytest.mark.parametrize("model", [StableNeoHookean, NeoHookean])
def test_a_frame_that_would_diverge_is_taken_again_with_more_substeps(
    make_block, model, size: float
) -> None:
    mesh = make_block(size=(size,) * 3)
    squeezed = mesh.vertices * [0.2, 1.0, 1.0]
    # Vibrations of a body of any size are as fast beside its steps.
    body = SoftBody(mesh, model(1e5 * size**2, 0.45), initial_positions=squeezed, damping=1.0)
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), SymplecticEuler())
    chosen = simulator.state.substeps
    start = simulator.system.energies(simulator.state).total
    *_, last = simulator.run(12)
    assert simulator.state.substeps > chosen
    assert last.report.energies.total < 1.1 * start


def test_too_few_substeps_are_refused_with_the_number_needed(make_block) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e7, 0.45), name="Block")
    with pytest.raises(InstabilityError, match=r"Block: 2 substeps .* too few.*at least \d+"):
        Simulator(Scene([body]), SymplecticEuler(), substeps=2)


def test_a_fixed_number_of_substeps_that_diverges_says_so_and_keeps_the_frames(make_block) -> None:
    mesh = make_block()
    body = SoftBody(
        mesh,
        StableNeoHookean(1e5, 0.45),
        initial_positions=mesh.vertices * [0.1, 1, 1],
        name="Block",
    )
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    system = System(scene, torch.device("cpu"), torch.float64)
    fewest = math.ceil(FRAME / SymplecticEuler().stability_limit(spectrum(system)))
    simulator = Simulator(scene, SymplecticEuler(), substeps=fewest)
    with pytest.raises(InstabilityError, match="too few at frame 1"):
        list(simulator.run(5))
    assert simulator.state.frame == 0
    assert torch.isfinite(simulator.state.positions).all()


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Adaptive()], ids=repr)
def test_more_steps_than_anyone_waits_for_are_refused(make_block, integrator) -> None:
    body = SoftBody(make_block(size=(1e-3,) * 3), StableNeoHookean(1e12, 0.3), name="Grain")
    with pytest.raises(InstabilityError, match=r"Grain: .*Symplectic Euler needs \d+ substeps"):
        Simulator(Scene([body]), integrator)


def test_substeps_do_not_double_without_end_from_frame_to_frame(make_block) -> None:
    """Stretched to twice its length in every frame, this solid gets four times as stiff."""
    mesh = make_block((1, 1, 2))
    ends = np.flatnonzero(np.abs(mesh.vertices[:, 2] - 0.5) > 0.4)
    path = np.array([mesh.vertices[ends] * [1.0, 1.0, 2.0**frame] for frame in range(12)])
    body = SoftBody(mesh, StVenantKirchhoff(1e4, 0.3), pinned=ends, pin_path=path)
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), SymplecticEuler())
    most, taken = 64 * simulator.stepper.substeps, list[int]()
    with pytest.raises(InstabilityError, match="substeps a frame are too few at frame"):
        taken.extend(frame.report.substeps for frame in simulator.run(12))
    assert simulator.stepper.substeps < max(taken, default=0) <= most


def test_rest_shapes_and_energies_of_a_pose_are_taken_a_few_times_a_frame(monkeypatch) -> None:
    """Both take longer than a gradient."""
    mesh = block((1, 1, 2), (0.1, 0.1, 0.2), (0.0, 0.0, 0.0))
    bent = np.repeat(mesh.vertices[None], 4, axis=0)
    bent[..., 0] += 0.02 * np.arange(4)[:, None] * mesh.vertices[:, 2]
    goals = Goals(np.arange(len(mesh.vertices)), bent, 1.0, 5.0, sag_free=True)
    simulator = Simulator(Scene([SoftBody(mesh, goals=goals)]), SymplecticEuler(), substeps=200)
    counts = {"shapes": 0, "energies": 0, "changes": 0}
    for name, owner, member in (
        ("shapes", Tets, "set_rest_positions"),
        ("energies", PosedTetsKernel, "energy"),
        ("changes", PosedTetsKernel, "energy_change"),
    ):
        original = getattr(owner, member)

        def counted(*arguments, _name=name, _original=original):
            counts[_name] += 1
            return _original(*arguments)

        monkeypatch.setattr(owner, member, counted)
    list(simulator.run(2))
    assert counts["shapes"] <= 2 * 4
    assert counts["energies"] <= 2 * 4
    assert counts["changes"] == 2 * ENERGY_SAMPLES


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
