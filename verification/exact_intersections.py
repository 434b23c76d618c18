# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether triangles intersect, decided exactly for the floating-point numbers as they stand.

An opinion independent of the solver's: no code and no tolerance in common with it. Nearly all pairs
are decided by arithmetic with a bound on its rounding, as in Shewchuk, "Adaptive precision
floating-point arithmetic and fast robust geometric predicates", 1997; what the bound leaves open is
decided in whole numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

Corners = NDArray[np.float64]
Pairs = NDArray[np.int64]
Truths = NDArray[np.bool_]
Point = tuple[int, ...]

_PAIRS_AT_ONCE = 1_000_000
_MOST_SLABS = 256
# Share of the sum of absolute products that the rounding of a determinant of differences, or of a
# product with an axis, stays below; theory asks for some ten times the unit roundoff of 1.1e-16.
_ROUNDING = 1e-14
# Numbers below are rounded more than in proportion; products of them are left open.
_UNDERFLOW = 1e-300


def count_intersections(
    vertices: ArrayLike,
    triangles: ArrayLike,
    objects: ArrayLike | None = None,
    excluded: Collection[tuple[int, int]] = (),
) -> int:
    """Count the pairs of triangles that share a point without sharing a vertex.

    Args:
        vertices: (V, 3), any finite numbers.
        triangles: (F, 3) indices of vertices; they may have no area.
        objects: (V,) a number for the object that a vertex belongs to.
        excluded: pairs of objects not to be compared; (k, k) is an object with itself.
    """
    return len(intersecting_pairs(vertices, triangles, objects, excluded))


def intersecting_pairs(
    vertices: ArrayLike,
    triangles: ArrayLike,
    objects: ArrayLike | None = None,
    excluded: Collection[tuple[int, int]] = (),
) -> Pairs:
    """(K, 2) the pairs that ``count_intersections`` counts, sorted."""
    points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    faces = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    owners = np.zeros(len(points), np.int64) if objects is None else np.asarray(objects, np.int64)
    corners, owner = points[faces], owners[faces[:, 0]]
    chunks = [np.empty((0, 2), dtype=np.int64)]
    for pairs in _whose_boxes_meet(corners):
        pairs = pairs[~_share_a_vertex(faces, pairs) & _compared(owner[pairs], excluded)]
        chunks.append(pairs[_intersect(corners[pairs[:, 0]], corners[pairs[:, 1]])])
    result = np.sort(np.concatenate(chunks), axis=1)
    return result[np.lexsort((result[:, 1], result[:, 0]))]


def _whose_boxes_meet(corners: Corners) -> Iterator[Pairs]:
    """Pairs of triangles whose bounding boxes share a point, each once: swept along the longest
    axis, in slabs across the next."""
    if len(corners) == 0:
        return
    low, high = corners.min(axis=1), corners.max(axis=1)
    across, along = np.argsort(high.max(axis=0) - low.min(axis=0))[1:]
    first_slab, last_slab = _slabs(low[:, across], high[:, across])
    # A triangle is in every slab that it reaches into, and a pair is found in its first common one.
    number, reach = np.arange(len(corners)), last_slab - first_slab + 1
    triangle = np.repeat(number, reach)
    slab = np.arange(reach.sum()) - np.repeat(np.cumsum(reach) - reach - first_slab, reach)
    lows = np.sort(low[:, along])
    begin = np.searchsorted(lows, low[:, along], "left")
    end = np.searchsorted(lows, high[:, along], "right")
    key = slab * (len(corners) + 1) + begin[triangle]
    order = np.argsort(key, kind="stable")
    key, triangle, slab = key[order], triangle[order], slab[order]
    last = np.searchsorted(key, slab * (len(corners) + 1) + end[triangle], "left")
    counts = last - np.arange(len(order)) - 1
    totals = np.cumsum(counts)
    start = 0
    while start < len(order):
        done = totals[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, done + _PAIRS_AT_ONCE, "right")))
        sizes = counts[start:stop]
        former = np.repeat(np.arange(start, stop), sizes)
        later = former + 1 + np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        first, second = triangle[former], triangle[later]
        meet = slab[former] == np.maximum(first_slab[first], first_slab[second])
        for other in {0, 1, 2} - {int(along)}:
            meet &= low[first, other] <= high[second, other]
            meet &= low[second, other] <= high[first, other]
        yield np.stack([first[meet], second[meet]], axis=1)
        start = stop


def _slabs(low: Corners, high: Corners) -> tuple[Pairs, Pairs]:
    """(F,) the first and the last of the slabs that each interval reaches into: about twice as
    thick as most intervals are long."""
    size = max(np.abs(low).max(), np.abs(high).max())
    if size == 0.0:
        return np.zeros(len(low), np.int64), np.zeros(len(low), np.int64)
    low, high = low / size, high / size
    least, span = low.min(), high.max() - low.min()
    thickness = max(2.0 * float(np.median(high - low)), span / _MOST_SLABS, _UNDERFLOW)
    first, last = (np.floor((ends - least) / thickness) for ends in (low, high))
    return first.astype(np.int64), last.astype(np.int64)


def _share_a_vertex(faces: Pairs, pairs: Pairs) -> Truths:
    first, second = faces[pairs[:, 0]], faces[pairs[:, 1]]
    shared: Truths = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    return shared


def _compared(owners: Pairs, excluded: Collection[tuple[int, int]]) -> Truths:
    keep = np.ones(len(owners), dtype=bool)
    for pair in excluded:
        keep &= (owners != pair).any(axis=1) & (owners != pair[::-1]).any(axis=1)
    return keep


def _intersect(first: Corners, second: Corners) -> Truths:
    """Whether each triangle (K, 3 corners, 3) shares a point with its own other one."""
    result = np.zeros(len(first), dtype=bool)
    left = np.flatnonzero(~_surely_apart(first, second))
    sure = _surely_cross(first[left], second[left])
    result[left[sure]] = True
    for pair in left[~sure]:
        result[pair] = intersect_exactly(first[pair], second[pair])
    return result


# With rounding bounded


def _surely_apart(first: Corners, second: Corners) -> Truths:
    """Whether a plane between the two proves them apart. Any plane will do, however inexact."""
    apart = np.zeros(len(first), dtype=bool)
    edges = [np.roll(corners, -1, axis=1) - corners for corners in (first, second)]
    normals = [np.cross(sides[:, 0], sides[:, 1]) for sides in edges]
    axes = normals + [
        np.cross(normal, sides[:, k])
        for normal, sides in zip(normals, edges, strict=True)
        for k in range(3)
    ]
    axes += [np.cross(edges[0][:, i], edges[1][:, j]) for i in range(3) for j in range(3)]
    for axis in axes:
        left = np.flatnonzero(~apart)
        apart[left] = _splits(axis[left], first[left], second[left])
    return apart


def _splits(axis: Corners, first: Corners, second: Corners) -> Truths:
    origin = first[:, :1]
    heights, errors = [], np.zeros(len(axis))
    for corners in (first, second):
        offset = corners - origin
        heights.append(np.einsum("kci,ki->kc", offset, axis))
        size = np.einsum("kci,ki->kc", np.abs(offset), np.abs(axis))
        errors = np.maximum(errors, _ROUNDING * size.max(axis=1))
    a, b = heights
    gap = np.maximum(b.min(axis=1) - a.max(axis=1), a.min(axis=1) - b.max(axis=1))
    return gap > 4.0 * errors + _UNDERFLOW


def _surely_cross(first: Corners, second: Corners) -> Truths:
    """Whether an edge of one goes through the inside of the other, by more than rounding."""
    cross = np.zeros(len(first), dtype=bool)
    for a, b in ((first, second), (second, first)):
        for k in range(3):
            cross |= _surely_pierces(a[:, k], a[:, (k + 1) % 3], b)
    return cross


def _surely_pierces(p: Corners, q: Corners, triangle: Corners) -> Truths:
    a, b, c = triangle.swapaxes(0, 1)
    above, below = _orientation(a, b, c, p), _orientation(a, b, c, q)
    sides = [_orientation(p, q, *edge) for edge in ((a, b), (b, c), (c, a))]
    around = np.abs(np.sum(sides, axis=0)) == 3
    pierces: Truths = (above * below < 0) & around
    return pierces


def _orientation(a: Corners, b: Corners, c: Corners, d: Corners) -> NDArray[np.int64]:
    """(K,) 1 or -1 for the side of the plane of a, b and c that d is on, 0 where rounding hides it.

    Differences that are rounded themselves are within the bound: a factor of three in it.
    """
    u, v, w = a - d, b - d, c - d
    value, size = np.zeros(len(a)), np.zeros(len(a))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        value += u[:, i] * (v[:, j] * w[:, k] - v[:, k] * w[:, j])
        size += np.abs(u[:, i]) * (np.abs(v[:, j] * w[:, k]) + np.abs(v[:, k] * w[:, j]))
    return np.where(np.abs(value) > _ROUNDING * size + _UNDERFLOW, np.sign(value), 0.0).astype(
        np.int64
    )


# In whole numbers


def intersect_exactly(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether two triangles (3 corners, 3) share a point, without rounding, however flat."""
    whole = _whole_numbers(np.concatenate([np.asarray(first), np.asarray(second)]))
    a, b = whole[:3], whole[3:]
    return any(
        _meets(one[k], one[(k + 1) % 3], other) for one, other in ((a, b), (b, a)) for k in range(3)
    )


def _whole_numbers(corners: Corners) -> list[Point]:
    """The same points, scaled by a power of two that leaves no fraction."""
    exact = [[Fraction(float(value)) for value in corner] for corner in corners]
    scale = max(value.denominator for corner in exact for value in corner)
    return [tuple(int(value * scale) for value in corner) for corner in exact]


def _meets(p: Point, q: Point, triangle: Sequence[Point]) -> bool:
    """Whether the segment from p to q, its ends included, meets the closed triangle."""
    a, b, c = triangle
    above, below = _volume(a, b, c, p), _volume(a, b, c, q)
    if above and below and (above > 0) == (below > 0):
        return False
    if above or below:
        sides = [_volume(p, q, *edge) for edge in ((a, b), (b, c), (c, a))]
        return min(sides) >= 0 or max(sides) <= 0
    if any(_segments_meet(p, q, *edge) for edge in ((a, b), (b, c), (c, a))):
        return True
    return _is_inside(p, triangle)


def _is_inside(p: Point, triangle: Sequence[Point]) -> bool:
    """Whether a point of the plane of a triangle, and not on its edges, lies inside."""
    a, b, c = triangle
    normal = _normal(a, b, c)
    axis = max(range(3), key=lambda k: abs(normal[k]))
    if normal[axis] == 0:
        return False
    sides = [_normal(*edge, p)[axis] for edge in ((a, b), (b, c), (c, a))]
    return min(sides) > 0 or max(sides) < 0


def _segments_meet(p: Point, q: Point, r: Point, s: Point) -> bool:
    """Whether the closed segments p q and r s share a point; either may be a point."""
    if _volume(p, q, r, s) != 0:
        return False
    for normal in (_normal(p, q, r), _normal(p, q, s), _normal(r, s, p), _normal(r, s, q)):
        axis = max(range(3), key=lambda k: abs(normal[k]))
        if normal[axis] == 0:
            continue
        # Seen along an axis on which their plane does not look like a line.
        sides = [
            _normal(*corners)[axis] for corners in ((p, q, r), (p, q, s), (r, s, p), (r, s, q))
        ]
        return _on_both_sides(sides[0], sides[1]) and _on_both_sides(sides[2], sides[3])
    # All on one line, where they meet if they do along each axis.
    return all(
        max(min(p[k], q[k]), min(r[k], s[k])) <= min(max(p[k], q[k]), max(r[k], s[k]))
        for k in range(3)
    )


def _on_both_sides(first: int, second: int) -> bool:
    return not ((first > 0 and second > 0) or (first < 0 and second < 0))


def _volume(a: Point, b: Point, c: Point, d: Point) -> int:
    """Six times that of the tetrahedron."""
    normal = _normal(a, b, c)
    return sum(normal[k] * (d[k] - a[k]) for k in range(3))


def _normal(a: Point, b: Point, c: Point) -> Point:
    u0, u1, u2 = (b[k] - a[k] for k in range(3))
    v0, v1, v2 = (c[k] - a[k] for k in range(3))
    return (u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0)
