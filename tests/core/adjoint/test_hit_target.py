# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches by few simulations, on functions that are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supple.core.adjoint.hit_target import FloatArray, bounded_step, trust_region
from supple.core.errors import InstabilityError

START = np.array([1.0, 2.0])


class Known:
    """Counts how often a function is asked for."""

    jacobian_runs = 2

    def __init__(self, function: Callable[[FloatArray], FloatArray]) -> None:
        self._function, self.runs, self.jacobians = function, 0, 0
        self.seen: list[FloatArray] = []

    def missed(self, parameters: FloatArray) -> FloatArray:
        self.runs += 1
        self.seen.append(parameters)
        return self._function(parameters)

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        self.jacobians += 1
        self.runs += self.jacobian_runs
        steps = 1e-6 * np.eye(len(parameters))
        return np.stack([(self._function(parameters + s) - missed) / 1e-6 for s in steps], axis=1)


def curved(parameters: FloatArray) -> FloatArray:
    x, y = parameters
    return np.array([1.5 * x + 0.1 * y * y - 2.0, 2.0 * y - 0.2 * x * x - 1.0])


def test_one_jacobian_that_each_simulation_corrects_is_enough_where_it_curves_little() -> None:
    miss = Known(curved)
    found, away = trust_region(miss, START, 10.0, 1e-9, 30)
    np.testing.assert_allclose(curved(found), away, atol=1e-15)
    # With the first Jacobian as it is, it takes 13.
    assert np.linalg.norm(away) <= 1e-9 and miss.jacobians == 1 and miss.runs <= 9


def test_a_jacobian_of_something_similar_may_begin_it() -> None:
    miss, similar = Known(curved), np.array([[1.0, 0.4], [0.0, 3.0]])
    _, away = trust_region(miss, START, 10.0, 1e-6, 20, similar)
    assert np.linalg.norm(away) <= 1e-6 and miss.jacobians == 0
    np.testing.assert_array_equal(similar, [[1.0, 0.4], [0.0, 3.0]])


def test_a_misleading_jacobian_is_replaced_and_the_region_shrinks() -> None:
    miss = Known(curved)
    _, away = trust_region(miss, START, 1.0, 1e-6, 30, np.array([[-1.5, 0.0], [0.0, -2.0]]))
    assert np.linalg.norm(away) <= 1e-6 and miss.jacobians == 1
    assert np.linalg.norm(miss.seen[1] - START) == pytest.approx(1.0)
    assert np.linalg.norm(miss.seen[2] - START) == pytest.approx(0.5)


def test_it_stops_where_it_is_near_or_has_no_runs_left_and_keeps_the_best() -> None:
    miss = Known(curved)
    found, _ = trust_region(miss, START, 1.0, 10.0, 20)
    assert miss.runs == 1 and found is START
    miss = Known(curved)
    found, away = trust_region(miss, START, 1.0, 0.0, 2, -np.eye(2))
    assert miss.runs == 2 and found is START
    np.testing.assert_array_equal(away, curved(START))
    miss = Known(curved)
    assert trust_region(miss, START, 1.0, 0.0, 3)[0] is START and miss.runs == 1


def test_what_is_out_of_reach_ends_it_soon() -> None:
    """The least that is missed of a circle's points is 1, at (2, 0)."""

    def on_a_circle(parameters: FloatArray) -> FloatArray:
        x, y = parameters
        return 2.0 * np.array([np.cos(x), np.sin(x)]) + [0.1 * np.sin(y) - 0.1, 0.0] - [3.0, 0.0]

    miss = Known(on_a_circle)
    _, away = trust_region(miss, np.array([1.0, 0.3]), 0.5, 1e-2, 100)
    assert np.linalg.norm(away) == pytest.approx(1.0, rel=0.15) and miss.runs <= 30


def test_the_region_bounds_steps_and_grows_where_they_gain_what_they_promise() -> None:
    miss = Known(lambda x: x - 10.0)
    trust_region(miss, np.zeros(1), 1.0, 1e-6, 30)
    np.testing.assert_allclose(np.concatenate(miss.seen), [0.0, 1.0, 3.0, 7.0, 10.0], rtol=1e-6)


def test_a_simulation_that_fails_is_a_step_too_far() -> None:
    def failing(parameters: FloatArray) -> FloatArray:
        if parameters[0] > 2.0:
            raise InstabilityError("too fast")
        return parameters - 1.9

    miss = Known(failing)
    _, away = trust_region(miss, np.zeros(1), 9.0, 1e-6, 20, np.full((1, 1), 0.2))
    assert abs(float(away[0])) <= 1e-6
    with pytest.raises(InstabilityError, match="too fast"):
        trust_region(Known(failing), np.full(1, 3.0), 9.0, 1e-6, 20)


def test_a_step_is_the_best_of_its_length_and_the_shortest_of_the_best() -> None:
    slope, missed = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, -2.0])
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
    others = 0.3 * np.stack([np.cos(angles), np.sin(angles)])
    least = np.linalg.norm(missed[:, None] + slope @ others, axis=0).min()
    step = bounded_step(slope, missed, 0.3)
    assert np.linalg.norm(step) == pytest.approx(0.3)
    assert np.linalg.norm(missed + slope @ step) == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(slope @ bounded_step(slope, missed, 9.0), -missed)
    np.testing.assert_allclose(
        bounded_step(np.array([[3.0, 4.0]]), -np.full(1, 5.0), 9.0), [0.6, 0.8]
    )
