# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact unsigned distance from points to triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]


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
        (dot(np.cross(ab, pa), normal) > 0.0)
        & (dot(np.cross(bc, pb), normal) > 0.0)
        & (dot(np.cross(ca, pc), normal) > 0.0)
    )
    plane = dot(pa, normal)[inside] ** 2 / dot(normal, normal)[inside]
    squared[inside] = np.minimum(squared[inside], plane)
    return np.sqrt(squared)


def _segment_squared(offset: FloatArray, edge: FloatArray) -> NDArray[np.float64]:
    """Squared distance of a point to a segment, by its offset from the segment's start."""
    length_squared = np.maximum(dot(edge, edge), np.finfo(np.float64).tiny)
    along = np.clip(dot(offset, edge) / length_squared, 0.0, 1.0)
    difference = offset - along[:, None] * edge
    return dot(difference, difference)


def dot(a: FloatArray, b: FloatArray) -> NDArray[np.float64]:
    """(K,) products of vectors (K, 3) with their own others."""
    return np.einsum("ij,ij->i", a, b)
