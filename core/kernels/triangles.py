# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels over pairs of triangles and cells: clipping and winding numbers.

A cell is a tet, given by the four affine maps (4, 4) of its barycentric coordinates: of a point x
they are M[:, :3] x + M[:, 3]. Its triangles are rows of arrays sorted by cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .barycentric import coordinate
from .vectors import NOTHING, cross, dot, minus, plus

_MIN_AREA = 1e-12
# A triangle cut by the four faces of a tet has no more corners.
_MAX_CORNERS = 8
_GOLDEN_RATIO = 0.6180339887


@compiled()
def clip(triangle: Any, maps: Any, polygon: Any, spare: Any) -> int:
    """Puts what of a triangle (3, 3) lies in a tet into ``polygon`` (8, 3), and counts its corners.

    Sutherland and Hodgman, "Reentrant polygon clipping", 1974.
    """
    count = 3
    for i in range(3):
        for axis in range(3):
            polygon[i, axis] = triangle[i, axis]
    for a in range(4):
        kept = 0
        for i in range(count):
            j = i + 1 if i + 1 < count else 0
            here = coordinate(maps[a], polygon[i, 0], polygon[i, 1], polygon[i, 2])
            there = coordinate(maps[a], polygon[j, 0], polygon[j, 1], polygon[j, 2])
            if here >= 0.0:
                for axis in range(3):
                    spare[kept, axis] = polygon[i, axis]
                kept += 1
            if (here >= 0.0) != (there >= 0.0):
                along = here / (here - there)
                for axis in range(3):
                    step = polygon[j, axis] - polygon[i, axis]
                    spare[kept, axis] = polygon[i, axis] + along * step
                kept += 1
        count = kept
        for i in range(count):
            for axis in range(3):
                polygon[i, axis] = spare[i, axis]
    return count


@compiled()
def polygon_area(polygon: Any, count: int) -> float:
    """Of a convex one."""
    total = NOTHING
    for i in range(1, count - 1):
        first, second = minus(polygon[i], polygon[0]), minus(polygon[i + 1], polygon[0])
        total = plus(total, cross(first, second))
    return float(0.5 * np.sqrt(dot(total, total)))


@compiled(allocates=True)
def clip_all(triangles: Any, maps: Any, areas: Any, centres: Any) -> None:
    """Of each triangle (K, 3, 3) in its tet, maps (K, 4, 4): the area (K,) of what lies in it, zero
    where nothing does, and a point (K, 3) in the middle."""
    polygon, spare = np.empty((_MAX_CORNERS, 3)), np.empty((_MAX_CORNERS, 3))
    for k in range(len(triangles)):
        count = clip(triangles[k], maps[k], polygon, spare)
        areas[k] = 0.0
        if count < 3:
            continue
        area = polygon_area(polygon, count)
        if area <= _MIN_AREA:
            continue
        areas[k] = area
        # Unequal weights: points in a symmetric place see each other along edges of triangles.
        for axis in range(3):
            total = weights = 0.0
            for i in range(count):
                weight = 1.0 + (_GOLDEN_RATIO * i) % 1.0
                total += weight * polygon[i, axis]
                weights += weight
            centres[k, axis] = total / weights


@compiled()
def crossing(start: Any, end: Any, triangle: Any) -> Any:
    """Where between two points a triangle is crossed, 0 … 1, and what that adds to the winding
    number: 1 on the way in, -1 on the way out, 0 where nothing is crossed.

    Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
    """
    way, a, b = minus(end, start), minus(triangle[1], triangle[0]), minus(triangle[2], triangle[0])
    p = cross(way, b)
    determinant = dot(a, p)
    if determinant == 0.0:
        return 0.0, 0.0
    s = minus(start, triangle[0])
    u = dot(s, p) / determinant
    if u < 0.0 or u > 1.0:
        return 0.0, 0.0
    q = cross(s, a)
    v = dot(way, q) / determinant
    if v < 0.0 or u + v > 1.0:
        return 0.0, 0.0
    along = dot(b, q) / determinant
    if along <= 0.0 or along >= 1.0:
        return 0.0, 0.0
    return along, 1.0 if determinant > 0.0 else -1.0


@compiled()
def winding_at(point: Any, base: Any, base_winding: float, triangles: Any, skip: int) -> float:
    """Winding number at a point, from that at another one in the same tet: it changes by one with
    each triangle on the way. One of the triangles can be left out."""
    total = base_winding
    for k in range(len(triangles)):
        if k != skip:
            _, step = crossing(base, point, triangles[k])
            total += step
    return float(total)


@compiled()
def measure_windings(
    first: Any,
    triangles: Any,
    centres: Any,
    bases: Any,
    base_windings: Any,
    samples: Any,
    windings: Any,
    in_front: Any,
) -> None:
    """Winding numbers of the samples (C, S, 3) of each cell, and just in front of each triangle.

    Args:
        first: (C + 1,) where the triangles of each cell begin among all.
        triangles, centres: (K, 3, 3), and a point (K, 3) of each in its cell.
        bases, base_windings: (C, 3), (C,) a point in each cell and the number there.
        samples: (C, S, 3).
        windings: (C, S), to be filled.
        in_front: (K,), to be filled; behind a triangle it is one more.
    """
    for c in range(len(samples)):
        own = triangles[first[c] : first[c + 1]]
        for s in range(samples.shape[1]):
            windings[c, s] = winding_at(samples[c, s], bases[c], base_windings[c], own, -1)
        for k in range(len(own)):
            centre = centres[first[c] + k]
            number = winding_at(centre, bases[c], base_windings[c], own, k)
            side = _side(bases[c], centre, own[k])
            in_front[first[c] + k] = number if side > 0.0 else number - 1.0


@compiled()
def _side(point: Any, centre: Any, triangle: Any) -> float:
    """Positive in front of the plane of a triangle."""
    return float(dot(normal_of(triangle), minus(point, centre)))


@compiled()
def normal_of(triangle: Any) -> Any:
    """Of unit length."""
    x, y, z = cross(minus(triangle[1], triangle[0]), minus(triangle[2], triangle[0]))
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length
