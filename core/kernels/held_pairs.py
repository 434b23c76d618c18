# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of parts of one body that its tetrahedra hold apart.

The difference of two points in tetrahedra is Σ cₙ xₙ over the vertices of these, with Σ cₙ = 0. If
all deformation gradients around them are within h of a deformation gradient whose least stretch is
s, the difference is at least s r − h κ r long, where r is the distance at rest, and κ r the cost of
carrying the positive cₙ to the negative ones: the sum of shares times distances at rest. Any way of
carrying them bounds it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, shared_range
from ..math3.closest_points import closest_points
from ..math3.matrices import cofactors, determinant
from ..math3.vectors import dot, four_points, minus, vector_at
from .rest_distance import REST_DISTANCE_RATIO

# Deformation gradients that differ by less are the same.
ROUNDING = 1e-12


class Hold(NamedTuple):
    """The points of a surface and how firmly the tetrahedra around them hold them apart.

    Args:
        nodes: (V, k) vertices of tetrahedra that carry each point, −1 where there are no more.
        weights: (V, k) weights of these.
        rest: (N, 3) vertices of tetrahedra at rest, in metres.
        max_spreads: (V,) κ that pairs may have which are held; zero where nothing is.
    """

    nodes: Any
    weights: Any
    rest: Any
    max_spreads: Any


@compiled(allocates=True)
def limit_spreads(
    paths: Any, bends: Any, tets: Any, gradients: Any, nodes: Any, max_spreads: Any
) -> None:
    """Lower the (V,) largest spreads κ of held pairs to those on paths of the tetrahedra.

    Args:
        paths: (N, 3 K) positions of vertices of tetrahedra at K times, in metres.
        bends: (N, 3 K) by which the paths may leave these to either side, in metres.
        tets: (M, 4) vertices.
        gradients: (M, 4, 3) of the shape functions at rest, in 1/m.
        nodes: as of ``Hold``.
    """
    times, size = paths.shape[1] // 3, 3 * paths.shape[1]
    low, high = np.full((len(paths), size), math.inf), np.full((len(paths), size), -math.inf)
    least, most, centre = np.empty(size), np.empty(size), np.empty(9)
    _bound_gradients(paths, bends, tets, gradients, low, high, least, most)
    for v in range(len(max_spreads)):
        for i in range(size):
            least[i], most[i] = math.inf, -math.inf
        for k in range(nodes.shape[1]):
            if nodes[v, k] >= 0:
                _widen(least, most, low[nodes[v, k]], high[nodes[v, k]])
        for index in range(times):
            max_spreads[v] = min(max_spreads[v], _max_spread(least, most, index, centre))


@compiled()
def _bound_gradients(
    paths: Any,
    bends: Any,
    tets: Any,
    gradients: Any,
    low: Any,
    high: Any,
    least: Any,
    most: Any,
) -> None:
    """Lower and raise the (N, 9 K) bounds of deformation gradients at vertices to those of their
    tets: column by column, in each time by time.

    Args:
        least, most: (9 K,) to be overwritten.
    """
    count = paths.shape[1]
    for e in range(len(tets)):
        a, b, c, d = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
        for j in range(3):
            x, y, z, w = (
                gradients[e, 0, j],
                gradients[e, 1, j],
                gradients[e, 2, j],
                gradients[e, 3, j],
            )
            for i in range(count):
                value = x * paths[a, i] + y * paths[b, i] + z * paths[c, i] + w * paths[d, i]
                bend = x * bends[a, i] + y * bends[b, i] + z * bends[c, i] + w * bends[d, i]
                least[j * count + i] = value - abs(bend)
                most[j * count + i] = value + abs(bend)
        for k in range(4):
            _widen(low[tets[e, k]], high[tets[e, k]], least, most)


@compiled()
def _widen(low: Any, high: Any, least: Any, most: Any) -> None:
    """Lower and raise bounds to others."""
    for i in range(len(low)):
        low[i] = min(low[i], least[i])
    for i in range(len(high)):
        high[i] = max(high[i], most[i])


@compiled()
def _max_spread(least: Any, most: Any, index: int, centre: Any) -> float:
    """κ that pairs may have at one point and one time, by the range of deformation gradients around
    it: (9 K,) as of ``_bound_gradients``."""
    square, count = 0.0, len(least) // 3
    for j in range(3):
        for i in range(3):
            place = j * count + 3 * index + i
            if most[place] < least[place]:
                return 0.0
            square += (0.5 * (most[place] - least[place])) ** 2
            centre[3 * i + j] = 0.5 * (most[place] + least[place])
    stretch = _least_stretch(centre)
    if stretch <= REST_DISTANCE_RATIO:
        return 0.0
    return (stretch - REST_DISTANCE_RATIO) / max(math.sqrt(square), ROUNDING)


@compiled()
def _least_stretch(f: Any) -> float:
    """A lower bound of the least stretch of a deformation gradient; zero of one that turns inside
    out."""
    if determinant(f, cofactors(f)) <= 0.0:
        return 0.0
    square = 0.0
    for i in range(3):
        for j in range(3):
            value = f[i] * f[j] + f[3 + i] * f[3 + j] + f[6 + i] * f[6 + j]
            square += (value - (1.0 if i == j else 0.0)) ** 2
    return math.sqrt(max(1.0 - math.sqrt(square), 0.0))


@compiled()
def is_held(hold: Any, points: Any, corners: Any, are_edges: bool, nodes: Any, sums: Any) -> bool:
    """Whether the tetrahedra of one body hold two parts of it apart, farther than these push.

    Args:
        hold: ``Hold``.
        points, corners, nodes, sums: as of ``pair_spread``.
    """
    limit = math.inf
    for corner in corners:
        limit = min(limit, hold.max_spreads[corner])
    return limit > 0.0 and pair_spread(hold, points, corners, are_edges, limit, nodes, sums) < limit


@compiled()
def pair_spread(
    hold: Any, points: Any, corners: Any, are_edges: bool, enough: float, nodes: Any, sums: Any
) -> float:
    """κ of two parts of one body; 1 in one tetrahedron, infinite if they have no vertex of any in
    common.

    Args:
        hold: ``Hold``, whose limits are not read.
        points: (V, 3) of the surface at rest, in metres.
        corners: the four points of the pair.
        enough: a κ up to which any bound will do.
        nodes, sums: (4 k,) to be overwritten.
    """
    if _are_in_one_tet(hold.nodes, corners):
        return 1.0
    x = four_points(points, corners[0], corners[1], corners[2], corners[3])
    difference, c0, c1, c2, c3, _ = closest_points(are_edges, x)
    distance = math.sqrt(dot(difference, difference))
    width, first, count = hold.nodes.shape[1], 2 if are_edges else 1, 0
    # Parts without a vertex in common are on both sides of a gap, or far from each other.
    first_count, is_shared = 0, False
    for i, share in enumerate((c0, c1, c2, c3)):
        for k in range(width):
            weight = share * hold.weights[corners[i], k]
            if hold.nodes[corners[i], k] < 0 or weight == 0.0:
                continue
            place = 0
            while place < count and nodes[place] != hold.nodes[corners[i], k]:
                place += 1
            if place == count:
                nodes[place], sums[place], count = hold.nodes[corners[i], k], 0.0, count + 1
            sums[place] += weight
            is_shared = is_shared or (i >= first and place < first_count)
        first_count = count if i < first else first_count
    if not is_shared or distance == 0.0:
        return math.inf
    total = spread = 0.0
    for i in range(count):
        total += 0.5 * abs(sums[i])
        for j in range(count):
            if sums[i] > 0.0 > sums[j]:
                apart = minus(vector_at(hold.rest, nodes[i]), vector_at(hold.rest, nodes[j]))
                spread -= sums[i] * sums[j] * math.sqrt(dot(apart, apart))
    bound = spread / (total * distance)
    if bound > enough:
        bound = min(bound, _least_spread(hold.rest, nodes, sums, count) / distance)
    return bound


@compiled(inline=True)
def _are_in_one_tet(nodes: Any, corners: Any) -> bool:
    """Whether four points have the same four vertices."""
    a, b, c, d = corners
    are_in_one = True
    for k in range(nodes.shape[1]):
        n = nodes[a, k]
        are_in_one &= (n >= 0) & (n == nodes[b, k]) & (n == nodes[c, k]) & (n == nodes[d, k])
    return are_in_one


# The largest spread of a pair of leaves that is remembered. Points of lively bodies have 2 to 6.
MAX_LEAF_SPREAD = 4.0


@compiled(parallel=True, allocates=True)
def leaf_spreads(
    pairs: Any, edges: Any, faces: Any, vertices: Any, hold: Any, points: Any, out: Any
) -> None:
    """Write the (K,) largest spread κ of any parts of two leaves that have no corner in common;
    infinite above ``MAX_LEAF_SPREAD``.

    Args:
        pairs: (K, 3) of leaves of one body, and more.
        edges, faces, vertices: ``Parts`` of the surface.
        hold: ``Hold``, whose limits are not read.
        points: (V, 3) of the surface at rest, in metres.
    """
    for k in shared_range(len(pairs)):
        most = 4 * hold.nodes.shape[1]
        nodes, sums = np.empty(most, np.int32), np.empty(most)
        a, b = pairs[k, 0], pairs[k, 1]
        spread = _edge_spread(a, b, edges, hold, points, nodes, sums)
        spread = _face_spread(a, b, faces, vertices, hold, points, spread, nodes, sums)
        if a != b:
            spread = _face_spread(b, a, faces, vertices, hold, points, spread, nodes, sums)
        out[k] = spread


@compiled()
def _edge_spread(
    a: int, b: int, edges: Any, hold: Any, points: Any, nodes: Any, sums: Any
) -> float:
    """The largest spread of edges of two leaves."""
    spread = 0.0
    for i in range(edges.ranges[a, 0], edges.ranges[a, 1]):
        c, d = edges.corners[i, 0], edges.corners[i, 1]
        for j in range(i + 1 if a == b else edges.ranges[b, 0], edges.ranges[b, 1]):
            e, f = edges.corners[j, 0], edges.corners[j, 1]
            if c not in (e, f) and d not in (e, f):
                pair = (c, d, e, f)
                spread = max(spread, pair_spread(hold, points, pair, True, spread, nodes, sums))
                if spread > MAX_LEAF_SPREAD:
                    return math.inf
    return spread


@compiled()
def _face_spread(
    a: int,
    b: int,
    faces: Any,
    vertices: Any,
    hold: Any,
    points: Any,
    spread: float,
    nodes: Any,
    sums: Any,
) -> float:
    """The largest spread of vertices of one leaf and faces of another, or another spread."""
    if spread > MAX_LEAF_SPREAD:
        return math.inf
    for i in range(vertices.ranges[a, 0], vertices.ranges[a, 1]):
        v = vertices.indices[i]
        for j in range(faces.ranges[b, 0], faces.ranges[b, 1]):
            c, d, e = faces.corners[j, 0], faces.corners[j, 1], faces.corners[j, 2]
            if v not in (c, d, e):
                pair = (v, c, d, e)
                spread = max(spread, pair_spread(hold, points, pair, False, spread, nodes, sums))
                if spread > MAX_LEAF_SPREAD:
                    return math.inf
    return spread


@compiled()
def _least_spread(rest: Any, nodes: Any, sums: Any, count: int) -> float:
    """κ r, where the nearest positive and negative ones go to each other first.

    Args:
        sums: (count,) Σ cₙ of ``nodes``, which become zero.
    """
    spread = 0.0
    # Each turn uses up one of them.
    for _ in range(count):
        nearest, one, other = math.inf, -1, -1
        for i in range(count):
            for j in range(count):
                if sums[i] > 0.0 > sums[j]:
                    apart = minus(vector_at(rest, nodes[i]), vector_at(rest, nodes[j]))
                    square = dot(apart, apart)
                    if square < nearest:
                        nearest, one, other = square, i, j
        if one < 0:
            break
        share = min(sums[one], -sums[other])
        spread += share * math.sqrt(nearest)
        sums[one], sums[other] = sums[one] - share, sums[other] + share
    return spread
