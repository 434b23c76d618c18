# SPDX-License-Identifier: GPL-3.0-or-later
"""How far triangles are from each other, pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .triangle_distance import dot, point_triangle_distance

Corners = NDArray[np.float64]
Distances = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: The corners that the sides of a triangle join.
SIDES = ((0, 1), (1, 2), (2, 0))

_PAIRS_PER_CHUNK = 100_000
_TINY = float(np.finfo(np.float64).tiny)


def triangle_distance(
    first: Corners, second: Corners, cutoff: float, shared: Flags | None = None
) -> Distances:
    """Distance of each triangle (K, 3 corners, 3) to its own other one; infinite beyond ``cutoff``.

    0 where they cross. Triangles without area count as their edges.

    Args:
        shared: (K, 3, 3) whether a corner of the first is one of the second: what has such corners
            in common, an edge and another, or an edge and a triangle, is not compared.
    """
    if shared is None:
        shared = np.zeros((len(first), 3, 3), dtype=bool)
    distance = np.full(len(first), np.inf)
    for start in range(0, len(first), _PAIRS_PER_CHUNK):
        chunk = slice(start, start + _PAIRS_PER_CHUNK)
        a, b = first[chunk], second[chunk]
        near = np.flatnonzero(~(_beyond_plane(a, b, cutoff) | _beyond_plane(b, a, cutoff)))
        found = _distance(a[near], b[near], shared[chunk][near])
        distance[start + near] = np.where(found <= cutoff, found, np.inf)
    return distance


def _beyond_plane(a: Corners, b: Corners, cutoff: float) -> NDArray[np.bool_]:
    """Whether all of b lies to one side of the plane of a, farther than ``cutoff``."""
    normal = np.cross(a[:, 1] - a[:, 0], a[:, 2] - a[:, 0])
    height = np.einsum("kci,ki->kc", b - a[:, :1], normal)
    limit = cutoff * np.linalg.norm(normal, axis=1)
    # Rounding must not make a triangle of no area look far.
    limit += 1e-14 * np.abs(normal).max(axis=1) * np.abs(b - a[:, :1]).max(axis=(1, 2))
    beyond: NDArray[np.bool_] = (height.min(axis=1) > limit) | (height.max(axis=1) < -limit)
    return beyond


def _distance(a: Corners, b: Corners, shared: Flags) -> Distances:
    result = np.full(len(a), np.inf)
    crossing = np.zeros(len(a), dtype=bool)
    for one, other, common in ((a, b, shared.any(axis=2)), (b, a, shared.any(axis=1))):
        for i, k in SIDES:
            found = point_triangle_distance(one[:, i], *other.swapaxes(0, 1))
            np.minimum(result, found, out=result, where=~common[:, i])
            pierces = np.isfinite(pierced_at(one[:, i], one[:, k], other))
            crossing |= pierces & ~(common[:, i] | common[:, k])
    for i, k in SIDES:
        for j, m in SIDES:
            found = _segment_distance(a[:, i], a[:, k], b[:, j], b[:, m])
            is_apart = ~shared[:, [i, i, k, k], [j, m, j, m]].any(axis=1)
            np.minimum(result, found, out=result, where=is_apart)
    result[crossing] = 0.0
    return result


def pierced_at(p: Corners, q: Corners, triangle: Corners) -> Distances:
    """How far along the segments from p to q (K, 3) they go through triangles (K, 3 corners, 3).

    Returns:
        (K,) shares of the way from p, not a number where they miss.
    """
    a, b, c = triangle.swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    above, below = dot(p - a, normal), dot(q - a, normal)
    opposite = (above * below <= 0.0) & (above != below)
    share = np.divide(above, above - below, out=np.zeros_like(above), where=opposite)
    point = p + share[:, None] * (q - p)
    inside = opposite
    for start, end in ((a, b), (b, c), (c, a)):
        inside = inside & (dot(np.cross(end - start, point - start), normal) >= 0.0)
    return np.where(inside, share, np.nan)


def _segment_distance(p: Corners, q: Corners, r: Corners, s: Corners) -> Distances:
    """From the segments p q to the segments r s.

    Source: Ericson, "Real-Time Collision Detection", 2005, section 5.1.9.
    """
    u, v, w = q - p, s - r, p - r
    uu, vv, uv = np.maximum(dot(u, u), _TINY), np.maximum(dot(v, v), _TINY), dot(u, v)
    uw, vw = dot(u, w), dot(v, w)
    lines = np.maximum(uu * vv - uv * uv, _TINY)
    along = np.clip((uv * vw - uw * vv) / lines, 0.0, 1.0)
    other = np.clip((uv * along + vw) / vv, 0.0, 1.0)
    along = np.clip((uv * other - uw) / uu, 0.0, 1.0)
    difference = w + along[:, None] * u - other[:, None] * v
    return np.sqrt(dot(difference, difference))
