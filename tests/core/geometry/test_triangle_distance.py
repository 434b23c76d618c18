# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.triangles import point_triangle_distance

A, B, C = np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]])


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((0.5, 0.5, 3.0), 3.0),  # above the face
        ((0.5, 0.5, 0.0), 0.0),  # in it
        ((1.0, -2.0, 0.0), 2.0),  # beside an edge
        ((2.0, 2.0, 0.0), np.sqrt(2.0)),  # beside the longest one
        ((-3.0, -4.0, 0.0), 5.0),  # off a corner
        ((-3.0, -4.0, 12.0), 13.0),
    ],
)
def test_the_nearest_feature_decides(point, expected) -> None:
    assert point_triangle_distance(np.array([point]), A[None], B[None], C[None]) == pytest.approx(
        [expected]
    )


def test_it_is_the_least_distance_to_any_point_of_the_triangle() -> None:
    rng = np.random.default_rng(3)
    a, b, c, points = rng.normal(size=(4, 50, 3))
    found = point_triangle_distance(points, a, b, c)
    u, v = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    u, v = u[u + v <= 1], v[u + v <= 1]
    for i in range(50):
        samples = a[i] + u[:, None] * (b[i] - a[i]) + v[:, None] * (c[i] - a[i])
        nearest = np.linalg.norm(samples - points[i], axis=1).min()
        assert found[i] <= nearest + 1e-12
        assert found[i] == pytest.approx(nearest, abs=0.02)


def test_a_flat_triangle_counts_as_its_edges() -> None:
    point = np.array([[1.0, 3.0, 0.0]])
    assert point_triangle_distance(point, A[None], B[None], B[None]) == pytest.approx([3.0])
    assert point_triangle_distance(point, A[None], A[None], A[None]) == pytest.approx([np.sqrt(10)])
