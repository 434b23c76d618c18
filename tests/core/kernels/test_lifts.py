# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the points that the ground lifts against a dense minimisation in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.ground_path import carriers, lift, solve
from supple.core.kernels.obstacles import EmbeddedGround

COUNT, POINTS, DISTANCE, GROUND = 12, 40, 0.01, 0.3
HELD = 5


def _points() -> tuple[np.ndarray, np.ndarray]:
    """Corners and shares of points, some of them outside of their corners."""
    random = np.random.default_rng(1)
    corners = np.array([random.choice(COUNT, 4, replace=False) for _ in range(POINTS)])
    shares = random.uniform(-0.1, 1.0, (POINTS, 4))
    return corners.astype(np.int32), shares / shares.sum(axis=1, keepdims=True)


CORNERS, SHARES = _points()
MATRIX = np.zeros((POINTS, COUNT))
np.add.at(MATRIX, (np.arange(POINTS)[:, None], CORNERS), SHARES)
WEIGHTS = 10.0 ** np.random.default_rng(2).uniform(0.0, 4.0, POINTS)
DISTANCES = np.full(POINTS, DISTANCE)


def _compliance() -> np.ndarray:
    compliance = 1e-4 * np.random.default_rng(3).uniform(0.5, 2.0, COUNT)
    compliance[HELD] = 0.0
    return compliance


def _fallen(depth: float) -> np.ndarray:
    """(N,) heights, most of them below the ground."""
    heights = GROUND + np.random.default_rng(4).uniform(-depth, 0.5 * DISTANCE, COUNT)
    heights[HELD] = GROUND + 2.0 * DISTANCE
    return heights


def _lifted(heights: np.ndarray, forces: np.ndarray) -> np.ndarray:
    out, near = heights.copy(), np.arange(POINTS, dtype=np.int32)
    ground = EmbeddedGround(CORNERS, SHARES, WEIGHTS, DISTANCES, GROUND, 1e-77)
    lift(out, ground, _compliance(), near, forces.copy(), 1e-8)
    return out


def _gradient(heights: np.ndarray, target: np.ndarray) -> np.ndarray:
    ratio = np.minimum((MATRIX @ heights - GROUND) / DISTANCES, 1.0)
    gap = ratio - 1.0
    slope = -gap * (2.0 * np.log(ratio) + gap / ratio)
    free = np.arange(COUNT) != HELD
    inertia = np.zeros(COUNT)
    inertia[free] = (heights - target)[free] / _compliance()[free]
    return (inertia + MATRIX.T @ (WEIGHTS * slope)) * free


@pytest.mark.parametrize("depth", [1e-3, 0.1, 10.0])
def test_forces_balance_where_vertices_are_held_up(depth: float) -> None:
    target = _fallen(depth)
    heights = _lifted(target, np.zeros(POINTS))
    assert (MATRIX @ heights > GROUND).all()
    assert heights[HELD] == target[HELD]
    size = np.abs((heights - target)[np.arange(COUNT) != HELD]).max() / 1e-4
    assert size > 1.0
    np.testing.assert_allclose(_gradient(heights, target), 0.0, atol=1e-5 * size)


def test_forces_at_the_beginning_are_part_of_the_heights() -> None:
    target, forces = _fallen(0.02), np.linspace(0.0, 30.0, POINTS)
    carried = target + _compliance() * (MATRIX.T @ forces)
    lifted = _lifted(carried, forces), _lifted(target, np.zeros(POINTS))
    np.testing.assert_allclose(*lifted, rtol=0.0, atol=1e-7 * DISTANCE)


def test_what_is_high_stays() -> None:
    heights = np.full(COUNT, GROUND + 3.0 * DISTANCE)
    np.testing.assert_array_equal(_lifted(heights, np.zeros(POINTS)), heights)


def test_a_system_of_points_is_solved() -> None:
    near = np.arange(0, POINTS, 2, dtype=np.int32)
    vertices, numbers = carriers(CORNERS, _compliance(), near)
    assert HELD not in vertices
    size, random = len(vertices), np.random.default_rng(5)
    stiffness, own = random.uniform(0.5, 2.0, size), random.uniform(0.0, 9.0, len(near))
    maps = MATRIX[near][:, vertices]
    whole = np.diag(stiffness) + maps.T @ (own[:, None] * maps)
    forces = np.append(random.normal(size=size), 0.0)
    exact = np.linalg.solve(whole, forces[:size])
    error = solve(stiffness, numbers, SHARES[near], own, forces)[:size] - exact
    assert error @ whole @ error <= 1e-2 * (exact @ whole @ exact)
