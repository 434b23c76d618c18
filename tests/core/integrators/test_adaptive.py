# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Ground, InstabilityError, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import Adaptive, Midpoint, RungeKutta4, SymplecticEuler, adaptive
from supple.core.materials import NeoHookean, StableNeoHookean

WEIGHTLESS = (0.0, 0.0, 0.0)
SCHEMES = [SymplecticEuler(), Midpoint(), RungeKutta4()]


@pytest.fixture(params=SCHEMES, ids=lambda scheme: scheme.label)
def scheme(request: pytest.FixtureRequest):
    return request.param


def _stretched(make_block, amount: float = 0.1, **options) -> Scene:
    mesh = make_block()
    start = mesh.vertices * [1.0 + amount, 1.0, 1.0]
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), initial_positions=start, **options)
    return Scene([body], gravity=WEIGHTLESS)


def test_the_error_follows_the_tolerance(make_block, scheme) -> None:
    scene = _stretched(make_block)
    *_, exact = Simulator(scene, RungeKutta4(), substeps=200).run(4)

    def error(tolerance: float) -> tuple[float, int]:
        frames = list(Simulator(scene, Adaptive(scheme, tolerance)).run(4))
        steps = sum(frame.report.substeps for frame in frames)
        return float((frames[-1].positions[0] - exact.positions[0]).abs().max()), steps

    (loose, few), (tight, many) = error(1e-4), error(1e-7)
    assert tight < 0.1 * loose
    assert many > few


def test_the_steps_grow_where_nothing_happens_and_shrink_where_something_does(make_block) -> None:
    body = SoftBody(
        make_block(origin=(0.0, 0.0, 0.3)), StableNeoHookean(1e4, 0.3), velocity=(0.0, 0.0, -1.0)
    )
    simulator = Simulator(Scene([body], ground=Ground()), Adaptive(RungeKutta4(), 1e-5))
    steps = [frame.report.substeps for frame in simulator.run(12)]
    assert steps[2] < min(steps[6:9])


def test_a_body_at_rest_takes_the_longest_steps_there_are(make_block) -> None:
    scene = Scene([SoftBody(make_block(), StableNeoHookean(1e-3, 0.3))], gravity=WEIGHTLESS)
    frames = list(Simulator(scene, Adaptive()).run(3))
    assert frames[-1].report.substeps == 1


def test_led_pins_are_where_they_are_led_at_each_frame(make_block, scheme) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] > 0.99)
    path = mesh.vertices[top] + np.linspace(0, 0.2, 5)[:, None, None] * [1.0, 0.0, 0.0]
    body = SoftBody(mesh, StableNeoHookean(1e3, 0.3), pinned=top, pin_path=path)
    for frame in Simulator(Scene([body], gravity=WEIGHTLESS), Adaptive(scheme)).run(4):
        np.testing.assert_allclose(frame.positions[0][top].numpy(), path[frame.index], atol=1e-12)


def test_a_run_that_goes_on_from_a_saved_state_gives_the_same_bits(make_block, scheme) -> None:
    scene = _stretched(make_block)
    whole = Simulator(scene, Adaptive(scheme))
    *_, expected = whole.run(6)
    first = Simulator(scene, Adaptive(scheme))
    list(first.run(3))
    resumed = Simulator(scene, Adaptive(scheme))
    resumed.state = resumed.state.restored(3, first.state.to_arrays())
    *_, found = resumed.run(3)
    assert torch.equal(found.positions[0], expected.positions[0])


def test_steps_that_shrink_without_end_are_given_up_and_the_frames_are_kept(make_block) -> None:
    scene = _stretched(make_block)
    scene.bodies[0].name = "Block"
    simulator = Simulator(scene, Adaptive(SymplecticEuler(), 1e-30))
    with pytest.raises(InstabilityError, match=r"Block: frame 1 needs steps below .* tolerance"):
        list(simulator.run(2))
    assert simulator.state.frame == 0
    assert torch.isfinite(simulator.state.positions).all()


def test_a_frame_of_steps_without_number_is_given_up(make_block, monkeypatch) -> None:
    monkeypatch.setattr(adaptive, "MAX_SUBSTEPS", 20)
    simulator = Simulator(_stretched(make_block), Adaptive(SymplecticEuler(), 1e-9))
    with pytest.raises(InstabilityError, match=r"frame 1 needs steps below"):
        list(simulator.run(1))


def test_an_inverted_body_comes_back_without_a_frame_taken_twice(make_block) -> None:
    mesh = make_block()
    start = mesh.vertices * [-0.3, 1.0, 1.0]
    body = SoftBody(mesh, NeoHookean(1e4, 0.3), initial_positions=start, damping=5.0)
    *_, last = Simulator(Scene([body], gravity=WEIGHTLESS), Adaptive()).run(48)
    assert torch.isfinite(last.positions[0]).all()


def test_a_step_that_is_followed_meets_the_tolerance_where_its_error_has_the_order_that_is_known(
    make_block, scheme
) -> None:
    """The error of a step goes with its length to the power p + 1."""
    tolerance = 1e-5
    stepper = Simulator(_stretched(make_block), Adaptive(scheme, tolerance)).stepper
    assert isinstance(stepper, adaptive._AdaptiveStepper)
    for longer in (0.5, 1.0, 1.9):
        error = tolerance * longer ** -(scheme.order + 1)
        assert stepper._growth_ratio(error) == pytest.approx(0.9 * longer)
    assert (stepper._growth_ratio(0.0), stepper._growth_ratio(np.inf)) == (2.0, 0.2)


@pytest.mark.parametrize("response", ["barrier", "projection"])
def test_a_landing_that_a_step_and_its_halves_agree_on_is_looked_at_closely(
    make_block, response
) -> None:
    """Both end on the ground; how deep the body fell in between, neither knows."""
    body = SoftBody(make_block(origin=(0.0, 0.0, 1.0)), StableNeoHookean(1e-3, 0.3))
    scene = Scene([replace(body, velocity=(0.0, 0.0, -10.0))], Ground(response=response))
    frames = Simulator(scene, Adaptive(SymplecticEuler(), 1e-2)).run(4)
    falling, *_, landing = (frame.report.substeps for frame in frames)
    assert falling <= 3
    assert landing > 5 * falling


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_refused(tolerance: float) -> None:
    with pytest.raises(SceneError, match="tolerance of adaptive steps must be above 0 m"):
        Adaptive(tolerance=tolerance)
