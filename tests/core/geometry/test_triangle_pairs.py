# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances of triangles, beside a search over their points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from supple.core.geometry.triangles import triangle_distance


def pairs(seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, count, 3, 3))
    return first, second + rng.normal(size=(count, 1, 3))


def least_distance(first: np.ndarray, second: np.ndarray) -> float:
    """The distance by a quadratic program in barycentric coordinates, from several starts."""

    def square(x: np.ndarray) -> float:
        weights = np.append(x[:2], 1.0 - x[:2].sum()), np.append(x[2:], 1.0 - x[2:].sum())
        return float(((weights[0] @ first - weights[1] @ second) ** 2).sum())

    inside = [
        {"type": "ineq", "fun": lambda x: 1.0 - x[0] - x[1]},
        {"type": "ineq", "fun": lambda x: 1.0 - x[2] - x[3]},
    ]
    return min(
        minimize(square, start, bounds=[(0, 1)] * 4, constraints=inside, tol=1e-14).fun
        for start in ([0.3] * 4, [0.8, 0.1, 0.1, 0.8])
    )


def test_distances_are_the_least_of_all_points() -> None:
    first, second = pairs(1)
    distances = triangle_distance(first, second, np.inf)
    expected = [np.sqrt(least_distance(*pair)) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(distances, expected, atol=2e-4)
    assert 0 < np.count_nonzero(distances == 0.0) < len(distances)
    np.testing.assert_allclose(triangle_distance(second, first, np.inf), distances, atol=1e-12)


def test_the_order_of_corners_does_not_matter() -> None:
    first, second = pairs(2)
    distances = triangle_distance(first, second, np.inf)
    for order in itertools.permutations(range(3)):
        turned = triangle_distance(first[:, order], second[:, order[::-1]], np.inf)
        np.testing.assert_allclose(turned, distances, atol=1e-12)


def test_beyond_the_cutoff_there_is_no_distance() -> None:
    first, second = pairs(3)
    distances = triangle_distance(first, second, np.inf)
    near = triangle_distance(first, second, 0.5)
    np.testing.assert_array_equal(near, np.where(distances <= 0.5, distances, np.inf))


@pytest.mark.parametrize(("shared", "expected"), [(False, 0.0), (True, 1.0)])
def test_corners_in_common_are_not_compared(shared: bool, expected: float) -> None:
    """Two triangles at right angles, with a corner in common and far edges 1 m apart."""
    first = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])
    second = np.array([[[0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-1.0, 0.0, 1.0]]])
    common = np.zeros((1, 3, 3), dtype=bool)
    common[0, 0, 0] = shared
    assert triangle_distance(first, second, np.inf, common)[0] == pytest.approx(expected)


def test_triangles_without_area_are_edges_and_points() -> None:
    point = np.zeros((1, 3, 3))
    edge = np.array([[[0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0]]])
    assert triangle_distance(point, edge, np.inf)[0] == pytest.approx(2.4)
    assert triangle_distance(edge, edge + np.array([0.0, 0.0, 0.7]), np.inf)[0] == pytest.approx(
        0.7
    )
