# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the distance of two triangles, and of segments that go through triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .closest_features import between_edges, code_of_edges
from .triangle_projection import closest
from .vectors import advanced, cross, dot, minus, vector_at


@compiled()
def measure(first: Any, second: Any, cutoff: float, shared: Any, distances: Any) -> None:
    """See ``triangle_distance``."""
    for k in range(len(first)):
        distances[k] = distance(triangle_at(first, k), triangle_at(second, k), cutoff, shared[k])


@compiled()
def triangle_at(corners: Any, k: int) -> Any:
    """Three corners, by their index and axis."""
    return vector_at(corners[k], 0), vector_at(corners[k], 1), vector_at(corners[k], 2)


@compiled()
def distance(first: Any, second: Any, cutoff: float, shared: Any) -> float:
    """The distance of two triangles; 0 where they cross, infinite beyond a cutoff.

    Args:
        shared: (3, 3) whether a corner of the first is one of the second, as of
            ``triangle_distance``.
    """
    if _is_beyond_plane(first, second, cutoff) or _is_beyond_plane(second, first, cutoff):
        return np.inf
    square = np.inf
    for i in range(3):
        k = (i + 1) % 3
        is_common = shared[i, 0] or shared[i, 1] or shared[i, 2]
        is_next_common = shared[k, 0] or shared[k, 1] or shared[k, 2]
        if not (is_common or is_next_common) and is_hit(share_to(first[i], first[k], second)):
            return 0.0
        if not is_common:
            square = min(square, closest(first[i], second[0], second[1], second[2])[3])
        is_common = shared[0, i] or shared[1, i] or shared[2, i]
        is_next_common = shared[0, k] or shared[1, k] or shared[2, k]
        if not (is_common or is_next_common) and is_hit(share_to(second[i], second[k], first)):
            return 0.0
        if not is_common:
            square = min(square, closest(second[i], first[0], first[1], first[2])[3])
    for i in range(3):
        k = (i + 1) % 3
        for j in range(3):
            m = (j + 1) % 3
            if shared[i, j] or shared[i, m] or shared[k, j] or shared[k, m]:
                continue
            a, b, c, d = first[i], first[k], second[j], second[m]
            offset = between_edges(a, b, c, d, code_of_edges(a, b, c, d))[0]
            square = min(square, dot(offset, offset))
    result = math.sqrt(square)
    return result if result <= cutoff else np.inf


@compiled()
def write_near(
    leaves: Any,
    ranges: Any,
    corners: Any,
    triangles: Any,
    objects: Any,
    through_own: Any,
    cutoff: float,
    unshared: Any,
    out: Any,
    distances: Any,
) -> int:
    """Writes the pairs of triangles that are no farther apart than a cutoff, as far as there is
    room; how many there are. Triangles that share a vertex are not compared.

    Args:
        leaves: (K, 2) pairs of leaves.
        ranges: (N, 2) the triangles of each node, in the order of leaves.
        corners, triangles, objects: (F, 3, 3), (F, 3) and (F,) in that order.
        through_own: (F,) whether a triangle may go through its own object.
        unshared: (3, 3) false.
        out, distances: (P, 2) and (P,), to be filled.
    """
    count = 0
    for row in range(len(leaves)):
        a, b = leaves[row, 0], leaves[row, 1]
        for i in range(ranges[a, 0], ranges[a, 1]):
            first = triangle_at(corners, i)
            for k in range(i + 1 if a == b else ranges[b, 0], ranges[b, 1]):
                if objects[i] == objects[k] and (through_own[i] or through_own[k]):
                    continue
                second = triangle_at(corners, k)
                if not boxes_overlap(first, second, cutoff) or _share_any(triangles, i, k):
                    continue
                apart = distance(first, second, cutoff, unshared)
                if apart <= cutoff:
                    if count < len(out):
                        out[count, 0], out[count, 1], distances[count] = i, k, apart
                    count += 1
    return count


@compiled()
def _share_any(triangles: Any, i: int, k: int) -> bool:
    """Whether two triangles have a vertex in common."""
    result = False
    for m in range(3):
        for n in range(3):
            result |= triangles[i, m] == triangles[k, n]
    return result


@compiled()
def boxes_overlap(first: Any, second: Any, limit: float) -> bool:
    """Whether the boxes around two triangles come within a distance."""
    result = True
    for i in range(3):
        result &= (
            min(first[0][i], first[1][i], first[2][i])
            <= max(second[0][i], second[1][i], second[2][i]) + limit
        )
        result &= (
            min(second[0][i], second[1][i], second[2][i])
            <= max(first[0][i], first[1][i], first[2][i]) + limit
        )
    return result


@compiled()
def _is_beyond_plane(first: Any, second: Any, cutoff: float) -> bool:
    """Whether all of the second triangle lies to one side of the plane of the first, beyond a
    cutoff."""
    normal = cross(minus(first[1], first[0]), minus(first[2], first[0]))
    low, high, farthest = np.inf, -np.inf, 0.0
    for i in range(3):
        offset = minus(second[i], first[0])
        height = dot(offset, normal)
        low, high = min(low, height), max(high, height)
        farthest = max(farthest, abs(offset[0]), abs(offset[1]), abs(offset[2]))
    limit = cutoff * math.sqrt(dot(normal, normal))
    # Rounding must not make a triangle of no area look far.
    limit += 1e-14 * max(abs(normal[0]), abs(normal[1]), abs(normal[2])) * farthest
    return bool(low > limit or high < -limit)


@compiled()
def share_to(p: Any, q: Any, triangle: Any) -> float:
    """How far along the segment from p to q it goes through a triangle, 0 … 1; not a number where
    it misses."""
    a, b, c = triangle[0], triangle[1], triangle[2]
    normal = cross(minus(b, a), minus(c, a))
    above, below = dot(minus(p, a), normal), dot(minus(q, a), normal)
    if above * below > 0.0 or above == below:
        return np.nan
    share = above / (above - below)
    point = advanced(p, share, minus(q, p))
    if (
        dot(cross(minus(b, a), minus(point, a)), normal) >= 0.0
        and dot(cross(minus(c, b), minus(point, b)), normal) >= 0.0
        and dot(cross(minus(a, c), minus(point, c)), normal) >= 0.0
    ):
        return float(share)
    return np.nan


@compiled()
def is_hit(share: float) -> bool:
    """Whether a share of a segment is a number."""
    return bool(share >= 0.0)


@compiled()
def write_hits(
    begin: Any, end: Any, corners: Any, nodes: Any, skipped: Any, out: Any, shares: Any
) -> int:
    """Writes the crossings of segments and triangles, segment by segment, as far as there is room;
    how many there are.

    Args:
        begin, end: (S, 3) of the segments.
        corners: (F, 3, 3) of triangles in the order of leaves.
        nodes: of trees, one after the other: (N,) the node after the last one below each, (N, 2)
            its triangles and (N, 6) its box.
        skipped: (S, 2) the first and the node after the last one of a tree that each segment
            passes through.
        out: (K, 2) segments and triangles, to be filled.
        shares: (K,) of the way, to be filled.
    """
    ends, ranges, boxes = nodes
    count = 0
    for s in range(len(begin)):
        p, q = vector_at(begin, s), vector_at(end, s)
        low = (min(p[0], q[0]), min(p[1], q[1]), min(p[2], q[2]))
        high = (max(p[0], q[0]), max(p[1], q[1]), max(p[2], q[2]))
        node = 0
        while node < len(ends):
            if skipped[s, 0] <= node < skipped[s, 1]:
                node = skipped[s, 1]
                continue
            is_apart = False
            for i in range(3):
                is_apart |= low[i] > boxes[node, 3 + i] or high[i] < boxes[node, i]
            if is_apart:
                node = ends[node]
                continue
            if ends[node] == node + 1:
                for k in range(ranges[node, 0], ranges[node, 1]):
                    share = share_to(p, q, triangle_at(corners, k))
                    if is_hit(share):
                        if count < len(out):
                            out[count, 0], out[count, 1], shares[count] = s, k, share
                        count += 1
            node += 1
    return count
