# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of barycentric coordinates: their maps, and the tets that points lie in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .vectors import cross, dot, four_points, minus, plus, scaled, vector_at


@compiled()
def coordinate(row: Any, x: float, y: float, z: float) -> float:
    """A barycentric coordinate of a point."""
    return float(row[0] * x + row[1] * y + row[2] * z + row[3])


@compiled()
def shape_gradients(vertices: Any, corners: Any) -> Any:
    """Six times the volume of a tet, and the gradients of its barycentric coordinates, of length
    1 / altitude."""
    a, b, c, d = four_points(vertices, corners[0], corners[1], corners[2], corners[3])
    u, v, w = minus(b, a), minus(c, a), minus(d, a)
    normal = cross(v, w)
    volume = dot(u, normal)
    inverse = 1.0 / volume
    second, third = scaled(inverse, normal), scaled(inverse, cross(w, u))
    fourth = scaled(inverse, cross(u, v))
    return volume, (scaled(-1.0, plus(plus(second, third), fourth)), second, third, fourth)


@compiled()
def write_maps(vertices: Any, tets: Any, maps: Any) -> None:
    """See ``barycentric_maps``."""
    for e in range(len(tets)):
        _, gradients = shape_gradients(vertices, tets[e])
        first = vector_at(vertices, tets[e, 0])
        for k in range(4):
            maps[e, k, 0], maps[e, k, 1], maps[e, k, 2] = gradients[k]
            maps[e, k, 3] = -dot(gradients[k], first)
        maps[e, 0, 3] += 1.0


@compiled()
def _least_coordinate(maps: Any, point: Any) -> float:
    least = np.inf
    for a in range(4):
        least = min(least, coordinate(maps[a], point[0], point[1], point[2]))
    return float(least)


@compiled()
def _shared_corners(tets: Any, one: int, two: int) -> int:
    shared = 0
    for a in range(4):
        for b in range(4):
            if tets[one, a] == tets[two, b]:
                shared += 1
    return shared


@compiled()
def locate(
    points: Any,
    near: Any,
    tets: Any,
    maps: Any,
    offsets: Any,
    around: Any,
    owner: Any,
    least: Any,
    rival: Any,
) -> None:
    """See ``TetsAround.locate``."""
    for p in range(len(points)):
        winner, most = near[p], 0
        best = _least_coordinate(maps[winner], points[p])
        if best < 0.0:
            for corner in range(4):
                vertex = tets[near[p], corner]
                for slot in range(offsets[vertex], offsets[vertex + 1]):
                    tet = around[slot]
                    found = _least_coordinate(maps[tet], points[p])
                    if tet == winner or (found < 0.0 and most > 0):
                        continue
                    shared = 0
                    if found >= 0.0:
                        shared = _shared_corners(tets, near[p], tet)
                    if shared > most:
                        best, winner, most, rival[p] = found, tet, shared, -1
                    elif shared == most and found > best:
                        rival[p] = winner if best >= 0.0 else -1
                        best, winner = found, tet
                    elif shared == most and found >= 0.0:
                        rival[p] = tet
        owner[p], least[p] = winner, best
