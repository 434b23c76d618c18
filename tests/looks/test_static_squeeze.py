# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.looks.static_squeeze import BODIES, distances, simulate


def test_moving_and_turning_along_the_ground_is_no_distance() -> None:
    points = np.random.default_rng(1).normal(size=(50, 3)) * [3.0, 1.0, 0.5]
    cos, sin = np.cos(0.7), np.sin(0.7)
    turned = points @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    moved = turned + np.array([5.0, -2.0, 0.0])
    np.testing.assert_allclose(distances(points, moved), 0.0, atol=1e-12)


def test_height_and_shape_are_distances() -> None:
    points = np.random.default_rng(2).normal(size=(50, 3))
    np.testing.assert_allclose(distances(points, points + np.array([0.0, 0.0, 0.1])), 0.1)
    points -= points.mean(axis=0)
    wider = distances(points, 1.5 * points)
    np.testing.assert_allclose(wider, 0.5 * np.linalg.norm(points, axis=1))


def test_a_pebble_sinks_by_a_quarter_of_its_height_on_the_ground() -> None:
    found, seen = simulate("pebble", 0.6)
    height = float(np.ptp(BODIES["pebble"][0]()[0][:, 2]))
    assert 0.2 < 1e-3 * found["sunk_mm"] / height < 0.3
    assert found["below_ground_mm"] == 0.0
    assert len(seen) == len(BODIES["pebble"][0]()[0])
