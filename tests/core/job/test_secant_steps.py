# SPDX-License-Identifier: GPL-3.0-or-later
"""Throws that are corrected by simulations without gradients."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.job.secant_steps import FloatArray, secant_steps

START = np.array([1.0, 2.0])
# Of what is missed at the start, but for a third.
JACOBIAN = np.array([[1.0, 0.4], [0.0, 3.0]])


def missed(parameters: FloatArray) -> FloatArray:
    x, y = parameters
    return np.array([1.5 * x + 0.1 * y * y - 2.0, 2.0 * y - 0.2 * x * x - 1.0])


def test_a_jacobian_of_something_similar_is_corrected_on_the_way() -> None:
    seen: list[FloatArray] = []

    def simulated(parameters: FloatArray) -> FloatArray:
        seen.append(parameters)
        return missed(parameters)

    found, away = secant_steps(simulated, START, JACOBIAN, 1e-6, 20)
    np.testing.assert_allclose(missed(found), away, atol=1e-15)
    # With the Jacobian as it is given it takes 15.
    assert np.linalg.norm(away) <= 1e-6 and len(seen) <= 9
    np.testing.assert_array_equal(seen[0], START)
    np.testing.assert_array_equal(JACOBIAN[0], [1.0, 0.4])


def test_it_stops_where_it_is_near_or_has_no_runs_left_and_keeps_the_best() -> None:
    found, away = secant_steps(missed, START, JACOBIAN, 10.0, 20)
    np.testing.assert_array_equal(found, START)
    found, away = secant_steps(missed, START, -JACOBIAN, 0.0, 2)
    np.testing.assert_array_equal(found, START)
    np.testing.assert_array_equal(away, missed(START))
    found, _ = secant_steps(missed, START, np.zeros((2, 2)), 0.0, 20)
    np.testing.assert_array_equal(found, START)


def test_no_step_is_longer_than_half_of_what_is_corrected() -> None:
    """The Jacobian is a ninth of what it is there: the whole step would go to the other root."""
    seen: list[float] = []

    def simulated(parameters: FloatArray) -> FloatArray:
        seen.append(float(parameters[0]))
        return parameters**2 - 2.25

    found, away = secant_steps(simulated, np.full(1, 2.0), np.full((1, 1), 0.44), 1e-6, 20)
    assert np.linalg.norm(away) <= 1e-6 and found == pytest.approx([1.5], abs=1e-5)
    assert max(seen) <= 3.0 and seen[1] == pytest.approx(1.0)


def test_of_more_numbers_than_are_missed_it_changes_as_little_as_will_do() -> None:
    row = np.array([[3.0, 4.0]])
    found, _ = secant_steps(lambda x: row @ x - 5.0, np.zeros(2), row, 1e-12, 3)
    assert found == pytest.approx([0.6, 0.8])
