# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of numbers between the cells of grids: torch passes gather each corner by itself."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range


@compiled()
def _around(x: Any, count: Any) -> Any:
    """The two cells whose centres are on either side, and the part of the way from one to the
    other; what lies beyond the last centre has that cell on both sides."""
    lower = math.floor(x - 0.5)
    first = min(max(int(lower), 0), count - 1)
    second = min(max(int(lower) + 1, 0), count - 1)
    return first, second, x - 0.5 - lower


@compiled()
def _between(grid: Any, x: Any, y: Any, z: Any, number: Any) -> Any:
    """One of the numbers of a (Z, Y, X, K) grid at a point in cells, and its three derivatives."""
    depth, height, width = grid.shape[:3]
    i, p, u = _around(x, width)
    j, q, v = _around(y, height)
    k, r, w = _around(z, depth)
    value = slope_x = slope_y = slope_z = 0.0
    for corner in range(8):
        far_x, far_y, far_z = corner & 1, corner >> 1 & 1, corner >> 2
        own = grid[r if far_z else k, q if far_y else j, p if far_x else i, number]
        share_x, side_x = (u, 1.0) if far_x else (1.0 - u, -1.0)
        share_y, side_y = (v, 1.0) if far_y else (1.0 - v, -1.0)
        share_z, side_z = (w, 1.0) if far_z else (1.0 - w, -1.0)
        value += share_x * share_y * share_z * own
        slope_x += side_x * share_y * share_z * own
        slope_y += share_x * side_y * share_z * own
        slope_z += share_x * share_y * side_z * own
    return value, slope_x, slope_y, slope_z


@compiled(parallel=True)
def grid_values(before: Any, after: Any, part: Any, points: Any, out: Any) -> None:
    """(K, N) at (3, N) points in cells, ``part`` of the way from one (Z, Y, X, K) grid to
    another."""
    for n in shared_range(points.shape[1]):
        x, y, z = points[0, n], points[1, n], points[2, n]
        for number in range(out.shape[0]):
            first, _, _, _ = _between(before, x, y, z, number)
            second, _, _, _ = _between(after, x, y, z, number)
            out[number, n] = first + part * (second - first)


@compiled(parallel=True)
def grid_slopes(before: Any, after: Any, part: Any, points: Any, out: Any) -> None:
    """(K, 3, N) derivatives of ``grid_values``: number, direction."""
    for n in shared_range(points.shape[1]):
        x, y, z = points[0, n], points[1, n], points[2, n]
        for number in range(out.shape[0]):
            _, a, b, c = _between(before, x, y, z, number)
            _, d, e, f = _between(after, x, y, z, number)
            out[number, 0, n] = a + part * (d - a)
            out[number, 1, n] = b + part * (e - b)
            out[number, 2, n] = c + part * (f - c)
