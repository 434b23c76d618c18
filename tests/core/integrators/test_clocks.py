# SPDX-License-Identifier: GPL-3.0-or-later
"""Animated objects lag where they are blocked, and catch up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Scene, Simulator, SoftBody
from supple.core.integrators import Automatic, ImplicitEuler, SymplecticEuler
from supple.core.integrators.clocks import MAX_RATE, MIN_RATE, RATE_GROWTH, Clocks
from supple.tests.core.touching import plate
from supple.verification.meshes import block

from .test_mesh_contact_step import SOFT, WEIGHTLESS, checked, stepper_of


def clocks_of(simulator: Simulator) -> Clocks:
    contact = stepper_of(simulator).contact
    assert contact is not None
    return contact.clocks


def free_blade() -> Scene:
    """A plate that comes at 1 m/s upon a block that floats."""
    heights = [-0.05 + k / 24 for k in range(9)]
    blade = plate(0.0, 3.0, np.array([[0.0, 0.0, height] for height in heights]))
    return Scene([SoftBody(block((2, 2, 2)), SOFT)], None, WEIGHTLESS, [blade], contact=Contact())


def test_a_blade_does_not_slow_before_a_block_that_is_free() -> None:
    simulator = Simulator(free_blade(), SymplecticEuler())
    touched = 0
    for frame in checked(simulator, 8):
        assert not clocks_of(simulator).lags.any()
        assert simulator.state.clocks is None
        assert simulator.state.colliders is not None
        np.testing.assert_allclose(simulator.state.colliders[:, 2], -0.05 + frame.index / 24)
        touched += frame.report.solver_statistics.contacts
    assert touched > 0


def jammed(retreats: bool = False) -> Scene:
    """Pins that come down on pins, and a block beside them that falls."""
    lower, upper = block((1, 1, 1)), block((1, 1, 1), origin=(0.0, 0.0, 1.05))
    drops = [0.04 * k for k in range(7)]
    if retreats:
        drops = [0.04 * k if k < 4 else 0.12 - 0.06 * (k - 3) for k in range(10)]
    pinned = np.arange(7)
    down = upper.vertices[pinned] - np.array([[0.0, 0.0, drop] for drop in drops])[:, None]
    bodies = [
        SoftBody(lower, SOFT, pinned=pinned, name="Table"),
        SoftBody(upper, SOFT, pinned=pinned, pin_path=down, name="Press"),
        SoftBody(block((1, 1, 1), origin=(3.0, 0.0, 0.0)), SOFT, velocity=(0.0, 0.0, -1.0)),
    ]
    return Scene(bodies, gravity=WEIGHTLESS, contact=Contact())


@pytest.mark.parametrize("integrator", [SymplecticEuler(), Automatic()])
def test_a_stamp_stops_on_what_cannot_yield_while_the_rest_goes_on(integrator) -> None:
    simulator = Simulator(jammed(), integrator)
    frames = list(checked(simulator, 6))
    heights = [float(frame.positions[1][:, 2].min()) for frame in frames]
    assert heights[0] == pytest.approx(1.01, abs=1e-12)
    assert all(1.0 < height < 1.003 for height in heights[1:])
    falling = [float(frame.positions[2][:, 2].mean()) for frame in frames]
    np.testing.assert_allclose(np.diff(falling), -1.0 / 24, rtol=1e-6)
    blocked = [frame.report.solver_statistics.blocked for frame in frames]
    assert blocked[0] == ()
    assert blocked[-1] == ("the pins of Press: Table is in the way",)
    lags = [frame.report.solver_statistics.lag for frame in frames]
    expected = [height - (1.01 - 0.04 * k) for k, height in enumerate(heights)]
    np.testing.assert_allclose(lags, expected, atol=1e-9)
    assert frames[-1].report.solver_statistics.linearizations > 0
    # It goes as a whole.
    press = frames[-1].positions[1][:7]
    assert torch.allclose(
        press[:, 2] - press[:, 2].min(), torch.round(press[:, 2] - 1.0), atol=1e-12
    )


def test_an_implicit_step_says_how_far_a_stamp_is_behind() -> None:
    for number, frame in enumerate(checked(Simulator(jammed(), ImplicitEuler()), 6)):
        lag = frame.report.solver_statistics.lag
        height = float(frame.positions[1][:7, 2].min())
        assert lag == pytest.approx(height - (1.01 - 0.04 * number), abs=1e-9)
    assert 0.1 < lag < 0.2


def test_what_is_free_again_catches_up_and_is_exactly_where_it_should_be() -> None:
    simulator = Simulator(jammed(retreats=True), SymplecticEuler())
    frames = list(checked(simulator, 9))
    pinned = frames[-1].positions[1]
    whole = Simulator(jammed(retreats=True), SymplecticEuler()).system.moving_pins
    assert whole is not None
    expected = whole.positions(9, 0.0)
    assert simulator.state.clocks is None
    assert frames[-1].report.solver_statistics.lag == 0.0
    assert torch.equal(pinned[np.arange(7)].T, expected)


def test_a_state_that_lags_goes_on_to_the_same_bits() -> None:
    whole, resumed = (Simulator(jammed(retreats=True), SymplecticEuler()) for _ in range(2))
    list(whole.run(4))
    assert whole.state.clocks is not None
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    expected = list(whole.run(4))
    resumed.state = resumed.state.restored(4, arrays)
    for mine, own in zip(resumed.run(4), expected, strict=True):
        assert torch.equal(torch.cat(mine.positions), torch.cat(own.positions))


def test_a_clock_halves_its_rate_where_it_is_blocked_and_catches_up_at_a_bounded_one() -> None:
    simulator = Simulator(free_blade(), SymplecticEuler())
    clocks = clocks_of(simulator)
    clocks.begin(None, 0, np.empty((3, 0)), np.empty((0, 3)))
    steps, blocked, rates, lags = 10, 9, [], []
    for number in range(80):
        frame, place = divmod(number, steps)
        clocks.prescribe(frame, place / steps, (place + 1) / steps)
        is_blocked = 3 <= number < 3 + blocked
        clocks.advance(np.array([1.0, 0.0 if is_blocked else 1.0]))
        rates.append(1.0 if clocks.saved is None else float(clocks.saved[1, 1]))
        lags.append(float(clocks.lags[1]))
    assert min(rates) == MIN_RATE and max(rates) == MAX_RATE
    np.testing.assert_allclose(np.diff(np.log(rates[11:22])), np.log(RATE_GROWTH))
    # It loses the steps that it is blocked in, and of later ones what its rate is below 1.
    slow = [rate for rate in MIN_RATE * RATE_GROWTH ** np.arange(20) if rate < 1.0]
    assert max(lags) == pytest.approx((blocked + sum(1.0 - rate for rate in slow)) / steps)
    assert np.diff(lags).min() == pytest.approx((1.0 - MAX_RATE) / steps)
    assert lags[-1] == clocks.lags[0] == 0.0 and clocks.saved is None


@pytest.mark.parametrize("lag", [0.9, 1.0, 2.3])
def test_what_is_held_on_its_path_stays_as_far_behind(lag: float) -> None:
    simulator = Simulator(free_blade(), SymplecticEuler())
    clocks, blade = clocks_of(simulator), simulator.system.scene.colliders[0]
    assert isinstance(blade, Collider)
    at = blade.at(6) - np.array([0.0, 0.0, lag / 24])
    clocks.begin(np.array([[0.0, lag], [1.0, 0.25]]), 6, np.empty((3, 0)), at)
    np.testing.assert_allclose(clocks.lags, [0.0, lag], rtol=1e-9)
    assert clocks.saved is not None and clocks.saved[1, 1] == 0.25


def test_what_the_path_comes_back_to_is_where_the_clock_goes_on_from() -> None:
    """It went to and fro; its clock stands at 3.35 frames, and it comes by there again."""
    heights = [0.0, 0.1, 0.2, 0.3, 0.4, 0.3, 0.2]
    blade = plate(0.0, 3.0, np.array([[0.0, 0.0, height - 2.0] for height in heights]))
    body = SoftBody(block((2, 2, 2)), SOFT)
    scene = Scene([body], None, WEIGHTLESS, [blade], contact=Contact())
    clocks = clocks_of(Simulator(scene, SymplecticEuler()))
    at = blade.at(3) + np.array([0.0, 0.0, 0.035])
    clocks.begin(np.array([[0.0, 6.0 - 3.35], [1.0, 0.25]]), 6, np.empty((3, 0)), at)
    np.testing.assert_allclose(clocks.lags, [0.0, 6.0 - 4.65], rtol=1e-9)
    assert clocks.saved is not None and clocks.saved[1, 1] == 1.0
    # A place beside the path is none of it.
    clocks.begin(np.array([[0.0, 6.0 - 3.35], [1.0, 0.25]]), 6, np.empty((3, 0)), at + 0.01)
    np.testing.assert_allclose(clocks.lags, [0.0, 6.0 - 3.35], rtol=1e-9)


def test_a_clock_slows_by_the_share_that_its_object_went() -> None:
    clocks = clocks_of(Simulator(free_blade(), SymplecticEuler()))
    clocks.begin(None, 0, np.empty((3, 0)), np.empty((0, 3)))
    clocks.prescribe(0, 0.0, 0.1)
    clocks.advance(np.array([1.0, 0.8]))
    assert clocks.saved is not None
    np.testing.assert_allclose(clocks.saved[:, 1], [0.02, 0.8])
    clocks.prescribe(0, 0.1, 0.2)
    clocks.advance(np.array([1.0, 0.3]))
    np.testing.assert_allclose(clocks.saved[:, 1], [0.02 + 0.1 - 0.3 * 0.08, 0.4])
