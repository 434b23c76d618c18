# SPDX-License-Identifier: GPL-3.0-or-later
"""The closest points of a triangle mesh. No torch here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import first_of_each

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_PAIRS_PER_CHUNK = 1 << 20
_NEAR_COUNT = 12


def closest_points(
    points: FloatArray, vertices: FloatArray, triangles: NDArray[np.integer[Any]]
) -> tuple[IndexArray, FloatArray]:
    """For each point (P, 3), where a mesh is closest to it.

    Args:
        points: (P, 3).
        vertices, triangles: (V, 3) and (F, 3), at least one; they need not be closed.

    Returns:
        (P,) the triangle, the first of those equally close, and (P, 3) the barycentric
        coordinates of the closest point in it.
    """
    corners = vertices[triangles]
    centre = corners.mean(axis=1)
    radius = np.linalg.norm(corners - centre[:, None], axis=2).max(axis=1)
    size = max(1, _PAIRS_PER_CHUNK // len(triangles))
    chunks = [
        _closest(points[first : first + size], corners, centre, radius)
        for first in range(0, len(points), size)
    ]
    nearest, weights = (np.concatenate(part) for part in zip(*chunks, strict=True))
    return nearest, weights


def closest_among_near(
    points: FloatArray, vertices: FloatArray, triangles: NDArray[np.integer[Any]]
) -> tuple[IndexArray, FloatArray]:
    """As ``closest_points`` says, of triangles about as large as those around: of the few whose
    middles are closest. It takes no more for many."""
    # It loads scipy.spatial, which takes a moment that most scenes need not wait.
    from scipy.spatial import cKDTree

    corners, count = vertices[triangles], min(_NEAR_COUNT, len(triangles))
    _, near = cKDTree(corners.mean(axis=1)).query(points, k=count)
    near = near.reshape(len(points), count)
    repeated = np.repeat(points, count, axis=0)
    weights, squared = closest_in_triangle(repeated, corners[near.ravel()])
    best = np.arange(len(points)), squared.reshape(near.shape).argmin(axis=1)
    return near[best], weights.reshape(*near.shape, 3)[best]


def _closest(
    points: FloatArray, corners: FloatArray, centre: FloatArray, radius: FloatArray
) -> tuple[IndexArray, FloatArray]:
    to_centre = np.linalg.norm(points[:, None] - centre, axis=2)
    # A triangle whose bounding sphere is farther than another's far side cannot be the closest.
    bound = (to_centre + radius).min(axis=1, keepdims=True)
    point, triangle = np.nonzero(to_centre - radius <= bound)
    weights, squared = closest_in_triangle(points[point], corners[triangle])
    first = first_of_each(point, squared, triangle)
    return triangle[first], weights[first]


def closest_in_triangle(points: FloatArray, corners: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of each point (K, 3) in its own triangle (K, 3, 3), the closest one.

    Returns:
        (K, 3) its barycentric coordinates and (K,) its squared distance. Triangles without area
        count as their edges.
    """
    from ..kernels.triangle_projection import project  # numba, which Blender itself does not have

    weights, squared = np.empty((len(points), 3)), np.empty(len(points))
    project(points, corners, weights, squared)
    return weights, squared
