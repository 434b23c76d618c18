# SPDX-License-Identifier: GPL-3.0-or-later
"""Which way is out of a surface, at points on it or near it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.groups import first_of_each, vertex_sums
from ..geometry.triangles import orient_consistently
from ..geometry.winding_number import PointGrid
from ..meshing.surface import signed_volume

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


def outward_faces(vertices: FloatArray, triangles: NDArray[np.integer[Any]]) -> IndexArray:
    """(F, 3) the triangles of a closed surface, wound so that their normals point out of it."""
    faces = orient_consistently(np.asarray(triangles, dtype=np.intp))
    return faces[:, ::-1] if signed_volume(vertices, faces) < 0.0 else faces


def vertex_normals(vertices: FloatArray, faces: NDArray[np.integer[Any]]) -> FloatArray:
    """(V, 3) the unit means of the normals of the triangles (F, 3) around each vertex, weighted by
    area; zero where there is none."""
    a, b, c = vertices[faces].swapaxes(0, 1)
    areas = np.repeat(np.cross(b - a, c - a)[:, None], 3, axis=1)
    normals = vertex_sums(areas, faces, len(vertices))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit: FloatArray = normals / np.where(length > 0.0, length, 1.0)
    return unit


def outward_normals(
    points: FloatArray, vertices: FloatArray, triangles: NDArray[np.integer[Any]]
) -> FloatArray:
    """(P, 3) unit normals of a closed surface at points on it or near it.

    Vertex normals are the area-weighted mean of the triangles around; a point has that of the
    vertex nearest to it. Zero where there is none.

    Args:
        points: (P, 3), the vertices themselves or others.
        vertices, triangles: (V, 3) and (F, 3); which way they are wound does not matter.
    """
    faces = outward_faces(vertices, triangles)
    normals = vertex_normals(vertices, faces)
    if np.array_equal(points, vertices):
        return normals
    used = np.unique(faces)
    nearest: FloatArray = normals[used[_nearest(points, vertices[used])]]
    return nearest


def _nearest(points: FloatArray, others: FloatArray) -> IndexArray:
    """(P,) the nearest of others (Q, 3) to each point (P, 3), the first of those equally near."""
    nearest, least = np.full(len(points), -1), np.full(len(points), np.inf)
    search_radius = float(np.ptp(others, axis=0).max()) / np.sqrt(len(others))
    search_radius = max(search_radius, float(np.finfo(np.float64).tiny))
    while (nearest < 0).any():
        left = np.flatnonzero(nearest < 0)
        low, high = points[left] - search_radius, points[left] + search_radius
        for row, other in PointGrid(others, search_radius).pairs(low, high):
            point, distance = left[row], np.linalg.norm(points[left[row]] - others[other], axis=1)
            closer = distance <= np.minimum(search_radius, np.nextafter(least[point], 0.0))
            point, other, distance = point[closer], other[closer], distance[closer]
            first = first_of_each(point, distance, other)
            nearest[point[first]], least[point[first]] = other[first], distance[first]
        search_radius *= 2.0
    return nearest
