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
    x = y = z = 0.0
    for i in range(1, count - 1):
        ux, uy, uz = (
            polygon[i, 0] - polygon[0, 0],
            polygon[i, 1] - polygon[0, 1],
            polygon[i, 2] - polygon[0, 2],
        )
        vx, vy, vz = (
            polygon[i + 1, 0] - polygon[0, 0],
            polygon[i + 1, 1] - polygon[0, 1],
            polygon[i + 1, 2] - polygon[0, 2],
        )
        x += uy * vz - uz * vy
        y += uz * vx - ux * vz
        z += ux * vy - uy * vx
    return float(0.5 * np.sqrt(x * x + y * y + z * z))


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
def _side_from_first(triangle: Any, corner: int) -> Any:
    """From the first corner of a triangle to another one."""
    return (
        triangle[corner, 0] - triangle[0, 0],
        triangle[corner, 1] - triangle[0, 1],
        triangle[corner, 2] - triangle[0, 2],
    )


@compiled()
def crossing(start: Any, end: Any, triangle: Any) -> Any:
    """Where between two points a triangle is crossed, 0 … 1, and what that adds to the winding
    number: 1 on the way in, -1 on the way out, 0 where nothing is crossed.

    Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
    """
    dx, dy, dz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    (ax, ay, az), (bx, by, bz) = _side_from_first(triangle, 1), _side_from_first(triangle, 2)
    px, py, pz = dy * bz - dz * by, dz * bx - dx * bz, dx * by - dy * bx
    determinant = ax * px + ay * py + az * pz
    if determinant == 0.0:
        return 0.0, 0.0
    sx, sy, sz = start[0] - triangle[0, 0], start[1] - triangle[0, 1], start[2] - triangle[0, 2]
    u = (sx * px + sy * py + sz * pz) / determinant
    if u < 0.0 or u > 1.0:
        return 0.0, 0.0
    qx, qy, qz = sy * az - sz * ay, sz * ax - sx * az, sx * ay - sy * ax
    v = (dx * qx + dy * qy + dz * qz) / determinant
    if v < 0.0 or u + v > 1.0:
        return 0.0, 0.0
    along = (bx * qx + by * qy + bz * qz) / determinant
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
    x, y, z = normal_of(triangle)
    return float(
        x * (point[0] - centre[0]) + y * (point[1] - centre[1]) + z * (point[2] - centre[2])
    )


@compiled()
def normal_of(triangle: Any) -> Any:
    """Of unit length."""
    (ax, ay, az), (bx, by, bz) = _side_from_first(triangle, 1), _side_from_first(triangle, 2)
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length
