# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core.geometry import triangles as closest_point
from supple.core.geometry.triangles import (
    closest_among_near,
    closest_points,
    point_triangle_distance,
)
from supple.verification.meshes import block

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_above_the_face_an_edge_and_a_corner() -> None:
    points = np.array([[0.2, 0.3, 0.7], [0.4, -1.0, 0.5], [-1.0, -2.0, 3.0], [1.0, 1.0, 0.0]])
    _, weights = closest_points(points, TRIANGLE, np.array([[0, 1, 2]]))
    expected = [[0.2, 0.3, 0], [0.4, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]
    np.testing.assert_allclose(weights @ TRIANGLE, expected, atol=1e-15)


def test_no_triangle_is_closer(monkeypatch) -> None:
    # So few pairs at a time that the points come in several chunks.
    monkeypatch.setattr(closest_point, "_PAIRS_PER_CHUNK", 1000)
    random = np.random.default_rng(3)
    vertices, points = random.normal(size=(60, 3)), random.normal(size=(100, 3))
    triangles = random.integers(0, 60, (150, 3))  # some of them without area
    nearest, weights = closest_points(points, vertices, triangles)
    found = np.einsum("pa,pai->pi", weights, vertices[triangles[nearest]])
    everywhere = [
        point_triangle_distance(
            np.repeat(point[None], 150, axis=0), *vertices[triangles].swapaxes(0, 1)
        )
        for point in points
    ]
    np.testing.assert_allclose(
        np.linalg.norm(found - points, axis=1), np.min(everywhere, axis=1), atol=1e-12
    )
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_of_triangles_that_are_alike_those_near_do() -> None:
    mesh = block((8, 6, 2))
    random = np.random.default_rng(4)
    points = mesh.vertices[mesh.surface].mean(axis=1) + 0.02 * random.normal(
        size=(len(mesh.surface), 3)
    )
    all_of_them = closest_points(points, mesh.vertices, mesh.surface)
    near = closest_among_near(points, mesh.vertices, mesh.surface)
    found, expected = (
        np.einsum("pa,pai->pi", weights, mesh.vertices[mesh.surface[triangle]])
        for triangle, weights in (near, all_of_them)
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    few = closest_among_near(points, mesh.vertices, mesh.surface[:2])
    expected = closest_points(points, mesh.vertices, mesh.surface[:2])[0]
    np.testing.assert_array_equal(few[0], expected)
