# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the common base of implicit Euler and BDF2."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from supple.core import (
    Contact,
    Frame,
    Ground,
    InstabilityError,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    TetMesh,
)
from supple.core.integrators import BDF2, ImplicitEuler, Integrator, implicit_stepper
from supple.core.materials import NeoHookean, StableNeoHookean

FRAME = 1.0 / 24.0
WEIGHTLESS = (0.0, 0.0, 0.0)
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
MakeBlock = Callable[..., TetMesh]
Method = Callable[..., Integrator]


@pytest.fixture(params=[ImplicitEuler, BDF2], ids=["implicit Euler", "BDF2"])
def method(request: pytest.FixtureRequest) -> Method:
    """Makes the integrator, of a tolerance where one is given."""
    return request.param


def _stretched(mesh: TetMesh, amount: float, young: float = 1e4, **options) -> SoftBody:
    return SoftBody(
        mesh,
        StableNeoHookean(young, 0.3),
        initial_positions=mesh.vertices * [amount, 1.0, 1.0],
        **options,
    )


def _wobbled(integrator: Integrator, substeps: int) -> np.ndarray:
    """A single tet that was stretched, two frames later."""
    scene = Scene([_stretched(TetMesh(CORNER, [[0, 1, 2, 3]]), 1.1)], gravity=WEIGHTLESS)
    *_, last = Simulator(scene, integrator, substeps=substeps).run(2)
    assert last.report.solver_statistics.converged
    return last.positions[0].numpy()


@pytest.fixture(scope="module")
def exact_wobble() -> np.ndarray:
    return _wobbled(BDF2(1e-9), 256)


@pytest.mark.parametrize(("method", "order"), [(ImplicitEuler, 1), (BDF2, 2)])
def test_the_error_falls_with_the_order_of_the_method(exact_wobble, method, order: int) -> None:
    substeps = [8, 16, 32]
    errors = [np.abs(_wobbled(method(1e-9), n) - exact_wobble).max() for n in substeps]
    slope = np.polyfit(np.log(substeps), np.log(errors), 1)[0]
    assert -slope == pytest.approx(order, abs=0.1)


def test_momentum_of_a_free_body_is_kept(make_block, method) -> None:
    body = _stretched(make_block(), 1.05, velocity=(1.0, 2.0, 3.0))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), method(1e-6))
    *_, last = simulator.run(24)
    momentum = simulator.system.mass @ last.velocities[0]
    np.testing.assert_allclose(momentum.numpy(), [1000.0, 2000.0, 3000.0], rtol=1e-8)


@pytest.mark.parametrize("substeps", [1, 2, 10])
def test_damping_is_a_rate_whatever_the_step(make_block, method, substeps: int) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e3, 0.3), damping=0.7, velocity=(1.0, 0.0, 0.0))
    scene = Scene([body], gravity=WEIGHTLESS)
    *_, last = Simulator(scene, method(), substeps=substeps).run(24)
    assert float(last.velocities[0][0, 0]) == pytest.approx(math.exp(-0.7), rel=1e-9)


def test_bodies_keep_their_own_damping(make_block, method) -> None:
    bodies = [SoftBody(make_block(), damping=rate, velocity=(1.0, 0.0, 0.0)) for rate in (0.0, 2.0)]
    *_, last = Simulator(Scene(bodies, gravity=WEIGHTLESS), method()).run(24)
    speeds = [float(velocities[0, 0]) for velocities in last.velocities]
    assert speeds == pytest.approx([1.0, math.exp(-2.0)], rel=1e-9)


@pytest.mark.parametrize("substeps", [None, 3])
def test_led_pins_go_just_where_they_are_led_and_draw_the_body_along(
    make_block, method, substeps: int | None
) -> None:
    mesh = make_block((4, 1, 1), (1.0, 0.1, 0.1))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    ways = np.array([0.0, 0.01, 0.03, 0.07, 0.1])[:, None, None] * np.array([0.0, 1.0, 0.0])
    path = mesh.vertices[left] + ways
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), pinned=left, pin_path=path, damping=5.0)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), method(), substeps=substeps)
    for frame in simulator.run(48):
        np.testing.assert_array_equal(frame.positions[0][left], path[min(frame.index, 4)])
        if frame.index <= 4:
            expected = (path[frame.index] - path[frame.index - 1]) / FRAME
            np.testing.assert_allclose(frame.velocities[0][left], expected, atol=1e-10)
    assert float(frame.positions[0][:, 1].mean()) == pytest.approx(0.05 + 0.1, abs=0.01)


def test_a_very_stiff_body_falls_on_the_ground_in_one_step_a_frame(make_block, method) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.5)), StableNeoHookean(1e9, 0.45), velocity=(1.0, 0.0, -5.0)
    )
    simulator = Simulator(Scene([body], ground=Ground()), method(), substeps=1)
    start = simulator.system.energies(simulator.state).total
    for frame in simulator.run(24):
        assert frame.report.solver_statistics.converged
        assert frame.report.energies.total <= start
        assert frame.report.minimum_ground_distance > 0.0
        assert frame.report.minimum_volume_ratio == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6])
def test_a_converged_frame_is_within_tolerance(make_block, method, tolerance: float) -> None:
    for frame in _landing(make_block, method(tolerance)).run(16):
        assert frame.report.solver_statistics.converged
        assert frame.report.solver_statistics.termination_reason == "converged"
        assert 0.0 < frame.report.solver_statistics.residual_speed <= tolerance


def test_a_finer_tolerance_is_nearer_to_the_exact_step(make_block, method) -> None:
    def end(tolerance: float) -> torch.Tensor:
        *_, last = _landing(make_block, method(tolerance)).run(8)
        return last.positions[0]

    exact = end(1e-9)
    errors = [float((end(tolerance) - exact).abs().max()) for tolerance in (1e-1, 1e-4)]
    assert errors[1] < 0.1 * errors[0]


def _landing(make_block: MakeBlock, integrator: Integrator) -> Simulator:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.1)), StableNeoHookean(1e5, 0.4), velocity=(1.0, 0.0, -2.0)
    )
    return Simulator(Scene([body], ground=Ground(friction=0.0)), integrator)


@pytest.mark.parametrize("materials", ["one model", "two models"])
def test_bodies_of_different_materials_move_as_if_alone(make_block, method, materials: str) -> None:
    first = StableNeoHookean(1e4, 0.4)
    second = StableNeoHookean(1e6, 0.2) if materials == "one model" else NeoHookean(1e6, 0.2)

    def ends(bodies: list[SoftBody]) -> list[torch.Tensor]:
        scene = Scene(bodies, ground=Ground(distance=1e-3, friction=0.0))
        *_, last = Simulator(scene, method(1e-7), substeps=2).run(8)
        return last.positions

    bodies = [
        SoftBody(make_block(origin=(3.0 * i, 0, 0.1)), material, velocity=(0.3, 0.0, -1.0))
        for i, material in enumerate((first, second))
    ]
    together = ends(bodies)
    for body, found in zip(bodies, together, strict=True):
        torch.testing.assert_close(found, ends([body])[0], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("contact", [None, Contact()], ids=["apart", "contact"])
def test_a_centimetre_rests_as_if_alone_while_ten_metres_land_beside_it(
    make_block, contact
) -> None:
    # All of the small body's energy is less than the rounding of the large one's.
    size = 0.01
    small = SoftBody(make_block((2, 2, 2), (size,) * 3, (0, 0, 0.005)), StableNeoHookean(1e4, 0.45))
    large = make_block((2, 2, 2), (10.0,) * 3, (20.0, 0.0, 0.5))

    def frames(bodies: list[SoftBody]) -> list[Frame]:
        scene = Scene(bodies, ground=Ground(), contact=contact)
        return list(Simulator(scene, ImplicitEuler()).run(12))

    together = frames([small, SoftBody(large, StableNeoHookean(1e9, 0.3), density=100.0)])
    for found, alone in zip(together, frames([small]), strict=True):
        assert found.report.solver_statistics.converged
        difference = (found.positions[0] - alone.positions[0]).abs().max()
        assert difference < implicit_stepper.TOLERANCE_M_PER_S * FRAME


@pytest.fixture
def few_iterations(monkeypatch: pytest.MonkeyPatch) -> int:
    """Too few for one step a frame of what follows."""
    monkeypatch.setattr(implicit_stepper, "MAX_ITERATIONS", 5)
    return 5


def _torn(make_block: MakeBlock) -> Scene:
    return Scene([_stretched(make_block(), 3.0, young=1e5)], gravity=WEIGHTLESS)


def test_a_frame_that_does_not_converge_says_so_and_stands(
    make_block, method, few_iterations
) -> None:
    (frame,) = Simulator(_torn(make_block), method()).run(1)
    assert frame.report.substeps == 1
    assert torch.isfinite(frame.positions[0]).all()
    statistics = frame.report.solver_statistics
    assert not statistics.converged
    assert statistics.termination_reason == f"not converged after {few_iterations} iterations"
    assert statistics.iterations == few_iterations
    assert statistics.residual_speed > 1e-3


def test_one_step_that_does_not_converge_marks_the_whole_frame(
    make_block, method, monkeypatch
) -> None:
    simulator = Simulator(_torn(make_block), method(), substeps=3)
    assert isinstance(simulator.stepper, implicit_stepper.ImplicitStepper)
    newton, limits = simulator.stepper._newton, iter([60, 1, 60])
    minimize = newton.minimize
    monkeypatch.setattr(
        newton,
        "minimize",
        lambda start, tolerance, step, _, **options: minimize(
            start, tolerance, step, next(limits), **options
        ),
    )
    (frame,) = simulator.run(1)
    assert not frame.report.solver_statistics.converged
    assert frame.report.solver_statistics.termination_reason == "not converged after 1 iterations"


def test_positions_that_are_not_finite_are_an_error_that_names_the_body(make_block, method) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e5, 0.3), name="Jelly")
    simulator = Simulator(Scene([body]), method())
    simulator.state.velocities[0, 0] = math.nan
    with pytest.raises(
        InstabilityError,
        match=r"Jelly: frame 1 has no finite positions.*a lower stiffness \(Young's modulus\)",
    ):
        list(simulator.run(1))
    assert simulator.state.frame == 0


def test_the_state_before_a_frame_is_left_as_it_was(make_block, method) -> None:
    simulator = _landing(make_block, method())
    list(simulator.run(4))
    state = simulator.state
    positions, velocities, frame = state.positions.clone(), state.velocities.clone(), state.frame
    simulator.stepper.advance(state)
    assert torch.equal(state.positions, positions)
    assert torch.equal(state.velocities, velocities)
    assert state.frame == frame


def test_a_model_that_cannot_invert_refuses_a_body_inside_out(make_block, method) -> None:
    mesh = make_block()
    mirrored = mesh.vertices * [-1.0, 1.0, 1.0]
    body = SoftBody(mesh, NeoHookean(1e5, 0.3), initial_positions=mirrored, name="Glove")
    with pytest.raises(SceneError, match=r"Glove: 48 tets .* inside out.* Use Stable Neo-Hookean"):
        next(Simulator(Scene([body]), method()).run(1))


@pytest.mark.parametrize("kind", [ImplicitEuler, BDF2])
def test_pins_that_turn_a_tet_inside_out_end_the_run_where_its_model_is_undefined(kind) -> None:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    mesh = TetMesh(corners, [[0, 1, 2, 3], [1, 2, 3, 4]])
    path = np.repeat(mesh.vertices[None, :4], 4, axis=0)
    path[:, 3, 2] = [1.0, 0.5, -0.1, -0.6]
    body = SoftBody(mesh, NeoHookean(1e4, 0.3), pinned=[0, 1, 2, 3], pin_path=path, name="Block")
    simulator = Simulator(Scene([body]), kind())
    with pytest.raises(InstabilityError, match=r"Block: 1 tet is .* At frame 2 moving pins"):
        list(simulator.run(4))
    assert simulator.state.frame == 1
    assert simulator.system.volume_ratios(simulator.state.positions).min() > 0.0
