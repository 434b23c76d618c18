# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure distances of points from the nearest of many triangles, only up to a cutoff."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.core.geometry.triangles import point_triangle_distance
from supple.core.geometry.winding_number import PointGrid

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def distance_to_triangles(
    points: FloatArray, vertices: FloatArray, triangles: IntArray, cutoff: float
) -> NDArray[np.float64]:
    """Distance of points (P, 3) to the nearest triangle; infinite beyond `cutoff`."""
    distance = np.full(len(points), np.inf)
    if len(points) == 0 or len(triangles) == 0:
        return distance
    corners = vertices[triangles]
    centre = corners.mean(axis=1)
    radius = np.sqrt(((corners - centre[:, None]) ** 2).sum(axis=2).max(axis=1))
    grid = PointGrid(points, cutoff)
    low, high = corners.min(axis=1) - cutoff, corners.max(axis=1) + cutoff
    # A triangle whose bounding sphere is farther than another's far side cannot be the nearest.
    bound = np.full(len(points), cutoff)
    candidates = []
    for triangle, point in grid.pairs(low, high):
        to_centre = np.sqrt(((points[point] - centre[triangle]) ** 2).sum(axis=1))
        np.minimum.at(bound, point, to_centre + radius[triangle])
        nearest = to_centre - radius[triangle]
        keep = nearest <= bound[point]
        candidates.append((triangle[keep], point[keep], nearest[keep]))
    for triangle, point, nearest in candidates:
        keep = nearest <= bound[point]
        triangle, point = triangle[keep], point[keep]
        a, b, c = (corners[triangle, corner] for corner in range(3))
        np.minimum.at(distance, point, point_triangle_distance(points[point], a, b, c))
    distance[distance > cutoff] = np.inf
    return distance
