# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact unsigned distance from points to triangles, looking only as far as a cutoff."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .point_grid import PointGrid

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


def point_triangle_distance(
    points: FloatArray, a: FloatArray, b: FloatArray, c: FloatArray
) -> NDArray[np.float64]:
    """Distance of each point (K, 3) to its own triangle with corners a, b, c (K, 3), same unit.

    The plane distance where the point projects inside the triangle, otherwise the nearest edge.
    Degenerate triangles count as their edges.
    """
    ab, bc, ca = b - a, c - b, a - c
    pa, pb, pc = points - a, points - b, points - c
    normal = np.cross(ab, -ca)
    squared = np.minimum(
        np.minimum(_segment_squared(pa, ab), _segment_squared(pb, bc)), _segment_squared(pc, ca)
    )
    inside = (
        (_dot(np.cross(ab, pa), normal) > 0.0)
        & (_dot(np.cross(bc, pb), normal) > 0.0)
        & (_dot(np.cross(ca, pc), normal) > 0.0)
    )
    plane = _dot(pa, normal)[inside] ** 2 / _dot(normal, normal)[inside]
    squared[inside] = np.minimum(squared[inside], plane)
    return np.sqrt(squared)


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


def _segment_squared(offset: FloatArray, edge: FloatArray) -> NDArray[np.float64]:
    """Squared distance of a point to a segment, by its offset from the segment's start."""
    length_squared = np.maximum(_dot(edge, edge), np.finfo(np.float64).tiny)
    along = np.clip(_dot(offset, edge) / length_squared, 0.0, 1.0)
    difference = offset - along[:, None] * edge
    return _dot(difference, difference)


def _dot(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", a, b)
