# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import pytest
import torch

from supple.core.kernels.barrier import barrier, barrier_derivative, barrier_derivatives


def _ratios() -> torch.Tensor:
    return torch.linspace(0.01, 0.999, 50, dtype=torch.float64)


def test_value_matches_the_published_formula() -> None:
    assert float(barrier(torch.tensor(0.5, dtype=torch.float64))) == pytest.approx(
        0.25 * math.log(2)
    )


def test_slope_is_the_finite_difference_of_the_value() -> None:
    u, h = _ratios(), 1e-6
    torch.testing.assert_close(
        barrier_derivative(u), (barrier(u + h) - barrier(u - h)) / (2 * h), rtol=1e-5, atol=1e-8
    )


def test_curvature_is_the_finite_difference_of_the_slope() -> None:
    u, h = _ratios(), 1e-6
    difference = (barrier_derivative(u + h) - barrier_derivative(u - h)) / (2 * h)
    torch.testing.assert_close(barrier_derivatives(u)[1], difference, rtol=1e-5, atol=1e-6)


def test_it_is_infinite_at_contact_and_nothing_beyond_its_reach() -> None:
    u = torch.tensor([-1.0, 0.0, 1.0, 5.0], dtype=torch.float64)
    assert barrier(u).tolist() == [math.inf, math.inf, 0.0, 0.0]


def test_beyond_its_reach_nothing_pushes() -> None:
    u = torch.tensor([1.0, 1.01, 1.3, 5.0], dtype=torch.float64)
    assert not barrier_derivative(u).any()


def test_it_fades_in_with_two_continuous_derivatives() -> None:
    u = torch.tensor([1.0 - 1e-7], dtype=torch.float64)
    assert float(barrier_derivative(u)) == pytest.approx(0.0, abs=1e-6)
    assert float(barrier_derivatives(u)[1]) == pytest.approx(0.0, abs=1e-5)
