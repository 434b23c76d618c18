# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of barycentric coordinates: their maps, and the tets that points lie in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .vectors import cross, dot, four_points, minus, plus, scaled


@compiled()
def coordinate(row: Any, x: float, y: float, z: float) -> float:
    """A barycentric coordinate of a point."""
    return float(row[0] * x + row[1] * y + row[2] * z + row[3])


@compiled()
def write_maps(vertices: Any, tets: Any, maps: Any) -> None:
    """See ``barycentric_maps``."""
    for e in range(len(tets)):
        a, b, c, d = four_points(vertices, tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3])
        u, v, w = minus(b, a), minus(c, a), minus(d, a)
        normal = cross(v, w)
        inverse = 1.0 / dot(u, normal)
        second, third = scaled(inverse, normal), scaled(inverse, cross(w, u))
        fourth = scaled(inverse, cross(u, v))
        sum_of_three = plus(plus(second, third), fourth)
        _write_row(maps[e, 0], scaled(-1.0, sum_of_three), 1.0 + dot(sum_of_three, a))
        _write_row(maps[e, 1], second, -dot(second, a))
        _write_row(maps[e, 2], third, -dot(third, a))
        _write_row(maps[e, 3], fourth, -dot(fourth, a))


@compiled()
def _write_row(row: Any, gradient: Any, offset: float) -> None:
    row[0], row[1], row[2] = gradient
    row[3] = offset


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
