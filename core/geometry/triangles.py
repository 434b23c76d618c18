# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles: closest points, distances, pairs, orientation, degenerate and unreferenced ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import components, first_of_each

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
    """Return the result of ``closest_points`` from the few triangles with the closest centroids,
    for triangles of similar size. It takes no more for many."""
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
    """Return the closest point of a triangle (K, 3, 3) to each point (K, 3).

    Returns:
        (K, 3) its barycentric coordinates and (K,) its squared distance. Triangles without area
        count as their edges.
    """
    from ..math3.closest_points import project  # numba, which Blender itself does not have

    weights, squared = np.empty((len(points), 3)), np.empty(len(points))
    project(points, corners, weights, squared)
    return weights, squared


RealArray = NDArray[np.floating[Any]]


def point_triangle_distance(
    points: RealArray, a: RealArray, b: RealArray, c: RealArray
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


def _segment_squared(offset: RealArray, edge: RealArray) -> NDArray[np.float64]:
    """Squared distance of a point to a segment, by its offset from the segment's start."""
    length_squared = np.maximum(dot(edge, edge), np.finfo(np.float64).tiny)
    along = np.clip(dot(offset, edge) / length_squared, 0.0, 1.0)
    difference = offset - along[:, None] * edge
    return dot(difference, difference)


def dot(a: RealArray, b: RealArray) -> NDArray[np.float64]:
    """(K,) products of vectors (K, 3) with their own others."""
    return np.einsum("ij,ij->i", a, b)


Corners = NDArray[np.float64]
Distances = NDArray[np.float64]
Flags = NDArray[np.bool_]


def triangle_distance(
    first: Corners, second: Corners, cutoff: float, shared: Flags | None = None
) -> Distances:
    """Distance of each triangle (K, 3 corners, 3) to its own other one; infinite beyond ``cutoff``.

    0 where they cross. Triangles without area count as their edges.

    Args:
        shared: (K, 3, 3) whether a corner of the first is one of the second. Edges, and an edge
            and a triangle, with common corners are not compared.
    """
    from .triangle_loops import measure  # numba, which Blender itself does not have

    if shared is None:
        shared = np.broadcast_to(np.zeros(1, dtype=bool), (len(first), 3, 3))
    distances = np.empty(len(first))
    measure(
        *(np.ascontiguousarray(first), np.ascontiguousarray(second), cutoff),
        *(np.ascontiguousarray(shared), distances),
    )
    return distances


Triangles = NDArray[np.integer[Any]]

# A triangle of less area, in squares of its longest edge, is a line to rounding.
MIN_AREA_RATIO = 1e-14


def without_degenerate(vertices: FloatArray, triangles: Triangles) -> Triangles:
    """The triangles (G, 3) that have an area, of (F, 3).

    Contact divides by areas and edge lengths. The edges of a triangle that goes are mostly those
    of its neighbours too.

    Args:
        vertices: (V, 3) at the start.
        triangles: (F, 3) indices of vertices.
    """
    return triangles[are_valid(vertices, triangles)]


def are_valid(vertices: FloatArray, triangles: Triangles) -> NDArray[np.bool_]:
    """(F,) whether triangles have three corners and an area; arguments as above."""
    repeated = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
    return have_area(vertices[triangles]) & ~repeated


def have_area(corners: FloatArray) -> NDArray[np.bool_]:
    """(…, F) whether triangles with corners (…, F, 3, 3) are more than lines."""
    edges = np.roll(corners, -1, axis=-2) - corners
    doubled = np.linalg.norm(np.cross(edges[..., 0, :], edges[..., 1, :]), axis=-1)
    longest_squared = np.einsum("...i,...i->...", edges, edges).max(axis=-1)
    return doubled > 2.0 * MIN_AREA_RATIO * longest_squared


Cells = NDArray[np.integer[Any]]


def compact_indices(cells: Cells) -> tuple[Cells, NDArray[np.intp]]:
    """Indices (U,) of the points that `cells` (M, corners) use, and the cells by places in them."""
    used, renumbered = np.unique(cells, return_inverse=True)
    return used, renumbered.reshape(cells.shape).astype(np.intp)


def without_unreferenced(
    points: NDArray[np.float64], cells: Cells
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Points (…, U, 3) of (…, N, 3) that `cells` (M, corners) use, and the cells renumbered."""
    used, renumbered = compact_indices(cells)
    return points[..., used, :], renumbered


def orient_consistently(triangles: IndexArray) -> IndexArray:
    """Flip the minority of triangles (T, 3) in each connected patch that is wound backwards.

    A patch that already agrees is returned as it is, also when it is inside out. A patch with one
    side only, such as a Moebius strip, is left alone.
    """
    first, second, agree = _neighbours(triangles)
    if agree.all():
        return triangles
    # Each triangle is two nodes of a graph, as it is and flipped; neighbours link triangles that
    # agree.
    other = 2 * second + ~agree
    links = np.stack([np.r_[2 * first, 2 * first + 1], np.r_[other, other ^ 1]], axis=1)
    labels = components(2 * len(triangles), links)
    straight, flipped = labels[0::2], labels[1::2]
    patch, side = np.minimum(straight, flipped), straight < flipped
    votes = np.bincount(patch, weights=np.where(side, 1.0, -1.0), minlength=len(labels))
    backwards = (side != (votes >= 0.0)[patch]) & (straight != flipped)
    oriented = triangles.copy()
    oriented[backwards] = oriented[backwards, ::-1]
    return oriented


def _neighbours(triangles: IndexArray) -> tuple[IndexArray, IndexArray, NDArray[np.bool_]]:
    """Pairs of triangles across edges that exactly two share, and whether they agree."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    keys = low * (int(triangles.max()) + 1) + high
    order = np.argsort(keys, kind="stable")
    _, first, count = np.unique(keys[order], return_index=True, return_counts=True)
    one, two = order[first[count == 2]], order[first[count == 2] + 1]
    return one // 3, two // 3, start[one] == end[two]
