# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise, sampled flows and shadows of force fields.

Source: Perlin, "Improving Noise", ACM Transactions on Graphics 21, 2002; with the permutation of
Blender's own noise, which its turbulence takes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, shared_range
from ..geometry.triangle_loops import crossing

#: Each octave is half as strong as the one before, at half its wavelength.
OCTAVES = 3
#: The permutation that gives each corner of a unit cell one of the gradients.
PERMUTATION = np.frombuffer(
    bytes.fromhex(
        "A2A0193BF8EBAAEEF31C67281DED00DE952EDC3F3A82354D6CBA36D0F60C7932"
        "D159F4088B63892FB8B49783F28F18C751146587482042A880B54013B2227E57"
        "BC7F6B9D864CC8DB7CD5254E5A557450CDB37ABBC3CBB6E2E4ECFD980B96D39E"
        "5CA164F18161E1C42472498C904B843438AB78CA1F01D79311C158A931F9446D"
        "BF339C5F0994A38506C69A1E7B461530272B1B713C5BD66F62AC4FC2C00EB123"
        "A7DF47B0776905E9E6E776730FFE6E9B56EF12A537FCAED9038EDD10B9CEC98D"
        "DA2ABD68179FBED40ACCD2E8433D70B7027D99D80D608A042C3E92E5AF5307E0"
        "29A6C5E3F5F74A41266A165E522D21ADF091FFEA54FA661A4539CF75A488FB5D"
    ),
    dtype=np.uint8,
).astype(np.int64)
#: To the middles of a cube's edges, four of them twice.
GRADIENTS = np.array(
    [
        *((1, 1, 0), (-1, 1, 0), (1, -1, 0), (-1, -1, 0)),
        *((1, 0, 1), (-1, 0, 1), (1, 0, -1), (-1, 0, -1)),
        *((0, 1, 1), (0, -1, 1), (0, 1, -1), (0, -1, -1)),
        *((1, 1, 0), (0, -1, 1), (-1, 1, 0), (0, -1, -1)),
    ],
    dtype=np.float64,
)


@compiled(inline=True)
def noise(x: Any, y: Any, z: Any) -> Any:
    """The noise at a point, −1 … 1, and its three derivatives."""
    i, j, k = math.floor(x), math.floor(y), math.floor(z)
    u, v, w = x - i, y - j, z - k
    share_x, rate_x = _smooth(u)
    share_y, rate_y = _smooth(v)
    share_z, rate_z = _smooth(w)
    value = slope_x = slope_y = slope_z = 0.0
    for corner in range(8):
        p, q, r = corner & 1, corner >> 1 & 1, corner >> 2
        first = PERMUTATION[(int(i) + p) & 255]
        second = PERMUTATION[(first + int(j) + q) & 255]
        a, b, c = GRADIENTS[PERMUTATION[(second + int(k) + r) & 255] & 15]
        sx = share_x if p else 1.0 - share_x
        sy = share_y if q else 1.0 - share_y
        sz = share_z if r else 1.0 - share_z
        height = a * (u - p) + b * (v - q) + c * (w - r)
        value += sx * sy * sz * height
        slope_x += sy * sz * (sx * a + (rate_x if p else -rate_x) * height)
        slope_y += sx * sz * (sy * b + (rate_y if q else -rate_y) * height)
        slope_z += sx * sy * (sz * c + (rate_z if r else -rate_z) * height)
    return value, slope_x, slope_y, slope_z


@compiled(inline=True)
def _smooth(t: Any) -> Any:
    """From 0 to 1 with no slope and no curvature at either end, and the derivative."""
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0), 30.0 * t * t * (t - 1.0) * (t - 1.0)


@compiled(inline=True)
def octaves(x: Any, y: Any, z: Any) -> Any:
    """The sum of all octaves of the noise, at most 1, and its three derivatives."""
    value = slope_x = slope_y = slope_z = whole = 0.0
    scale = 1.0
    for _ in range(OCTAVES):
        octave, a, b, c = noise(scale * x, scale * y, scale * z)
        value += octave / scale
        slope_x, slope_y, slope_z = slope_x + a, slope_y + b, slope_z + c
        whole += 1.0 / scale
        scale *= 2.0
    return value / whole, slope_x / whole, slope_y / whole, slope_z / whole


@compiled(parallel=True)
def noise_vectors(points: Any, out: Any) -> None:
    """Write the (3, N) noise at (3, N) points: component by component the noise at (x, y, z),
    (y, z, x) and (z, x, y).
    """
    for n in shared_range(points.shape[1]):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            out[i, n], _, _, _ = octaves(points[i, n], points[j, n], points[k, n])


@compiled(parallel=True)
def noise_slopes(points: Any, out: Any) -> None:
    """(3, 3, N) derivatives of ``noise_vectors``: component, direction."""
    for n in shared_range(points.shape[1]):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            _, a, b, c = octaves(points[i, n], points[j, n], points[k, n])
            out[i, i, n], out[i, j, n], out[i, k, n] = a, b, c


@compiled()
def _around(x: Any, count: Any) -> Any:
    """The two cells whose centres are on either side, and the part of the way from one to the
    other; points beyond the last centre have that cell on both sides."""
    lower = math.floor(x - 0.5)
    first = min(max(int(lower), 0), count - 1)
    second = min(max(int(lower) + 1, 0), count - 1)
    return first, second, x - 0.5 - lower


@compiled()
def _between(grid: Any, x: Any, y: Any, z: Any, number: Any) -> Any:
    """Interpolate one of the numbers of a (Z, Y, X, K) grid at a point in cells, with its three
    derivatives.
    """
    depth, height, width = grid.shape[:3]
    i, p, u = _around(x, width)
    j, q, v = _around(y, height)
    k, r, w = _around(z, depth)
    value = slope_x = slope_y = slope_z = 0.0
    for corner in range(8):
        far_x, far_y, far_z = corner & 1, corner >> 1 & 1, corner >> 2
        corner_value = grid[r if far_z else k, q if far_y else j, p if far_x else i, number]
        share_x, side_x = (u, 1.0) if far_x else (1.0 - u, -1.0)
        share_y, side_y = (v, 1.0) if far_y else (1.0 - v, -1.0)
        share_z, side_z = (w, 1.0) if far_z else (1.0 - w, -1.0)
        value += share_x * share_y * share_z * corner_value
        slope_x += side_x * share_y * share_z * corner_value
        slope_y += share_x * side_y * share_z * corner_value
        slope_z += share_x * share_y * side_z * corner_value
    return value, slope_x, slope_y, slope_z


@compiled(parallel=True)
def grid_values(before: Any, after: Any, part: Any, points: Any, out: Any) -> None:
    """Write the (K, N) values at (3, N) points in cells, ``part`` of the way from one (Z, Y, X,
    K) grid to another.
    """
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


class TriangleTree(NamedTuple):
    """Triangles in the order of a tree's leaves.

    Args:
        ends: (N,) node after the last one below each.
        ranges: (N, 2) the triangles of each node.
        boxes: (N, 6) least and largest x, y, z of each node.
        corners: (F, 3, 3) of the triangles.
    """

    ends: Any
    ranges: Any
    boxes: Any
    corners: Any


@compiled(parallel=True)
def absorb(starts: Any, ends: Any, tree: TriangleTree, arriving: float, visibility: Any) -> None:
    """Multiplies (P,) ``visibility`` where a triangle stands between (P, 3) points."""
    for point in shared_range(len(visibility)):
        if is_blocked(starts[point], ends[point], tree):
            visibility[point] *= arriving


@compiled()
def is_blocked(start: Any, end: Any, tree: TriangleTree) -> bool:
    """Whether a triangle stands between two points."""
    node = 0
    while node < len(tree.ends):
        if not meets_box(start, end, tree.boxes[node]):
            node = tree.ends[node]
            continue
        if tree.ends[node] == node + 1:
            for triangle in range(tree.ranges[node, 0], tree.ranges[node, 1]):
                _, winding = crossing(start, end, tree.corners[triangle])
                if winding != 0.0:
                    return True
        node += 1
    return False


@compiled()
def meets_box(start: Any, end: Any, box: Any) -> bool:
    """Whether the straight line between two points goes through a box, (6,) least and largest.

    Kay and Kajiya, "Ray tracing complex scenes", 1986: the part of it between each pair of sides.
    """
    first, last = 0.0, 1.0
    for i in range(3):
        way = end[i] - start[i]
        if way == 0.0:
            if start[i] < box[i] or start[i] > box[3 + i]:
                return False
            continue
        low, high = (box[i] - start[i]) / way, (box[3 + i] - start[i]) / way
        first, last = max(first, min(low, high)), min(last, max(low, high))
    return first <= last
