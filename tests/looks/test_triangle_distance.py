# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core.geometry.triangles import point_triangle_distance
from supple.looks.triangle_distance import distance_to_triangles


def test_the_grid_finds_what_brute_force_finds() -> None:
    rng = np.random.default_rng(4)
    centres = rng.uniform(-1, 1, (300, 1, 3))
    corners = centres + rng.normal(scale=0.15, size=(300, 3, 3))
    triangles = np.arange(900).reshape(300, 3)
    points = rng.uniform(-1.5, 1.5, (200, 3))
    pairs = [np.repeat(corners[:, k], len(points), axis=0) for k in range(3)]
    brute = point_triangle_distance(np.tile(points, (300, 1)), *pairs).reshape(300, -1).min(axis=0)
    brute[brute > 0.4] = np.inf
    found = distance_to_triangles(points, corners.reshape(-1, 3), triangles, 0.4)
    assert np.isinf(found).any()
    np.testing.assert_allclose(found, brute, atol=1e-12)


def test_without_triangles_everything_is_infinitely_far() -> None:
    found = distance_to_triangles(np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((0, 3), int), 1.0)
    assert np.isinf(found).all()
