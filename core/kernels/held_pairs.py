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

from ..compiled import compiled
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
        paths: (N, K, 3) positions of vertices of tetrahedra, in metres.
        bends: (N, K, 3) by which the paths may leave these to either side, in metres.
        tets: (M, 4) vertices.
        gradients: (M, 4, 3) of the shape functions at rest, in 1/m.
        nodes: as of ``Hold``.
    """
    low, high, centre = np.empty((len(paths), 9)), np.empty((len(paths), 9)), np.empty(9)
    for index in range(paths.shape[1]):
        _bound_gradients(paths, bends, index, tets, gradients, low, high)
        for v in range(len(max_spreads)):
            max_spreads[v] = min(max_spreads[v], _max_spread(nodes, low, high, v, centre))


@compiled()
def _bound_gradients(
    paths: Any, bends: Any, index: int, tets: Any, gradients: Any, low: Any, high: Any
) -> None:
    """Write the (N, 9) least and largest deformation gradients of the tets at each vertex."""
    for n in range(len(low)):
        for i in range(9):
            low[n, i], high[n, i] = math.inf, -math.inf
    for e in range(len(tets)):
        for i in range(3):
            for j in range(3):
                value = bend = 0.0
                for k in range(4):
                    value += paths[tets[e, k], index, i] * gradients[e, k, j]
                    bend += bends[tets[e, k], index, i] * gradients[e, k, j]
                for k in range(4):
                    n = tets[e, k]
                    low[n, 3 * i + j] = min(low[n, 3 * i + j], value - abs(bend))
                    high[n, 3 * i + j] = max(high[n, 3 * i + j], value + abs(bend))


@compiled()
def _max_spread(nodes: Any, low: Any, high: Any, v: int, centre: Any) -> float:
    """κ that pairs may have at one point, by the range of deformation gradients around it."""
    square = 0.0
    for i in range(9):
        least, most = math.inf, -math.inf
        for k in range(nodes.shape[1]):
            n = nodes[v, k]
            if n >= 0:
                least, most = min(least, low[n, i]), max(most, high[n, i])
        if most < least:
            return 0.0
        square += (0.5 * (most - least)) ** 2
        centre[i] = 0.5 * (most + least)
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
def is_in_held_tet(hold: Any, a: int, b: int, c: int, d: int) -> bool:
    """Whether four points are in one tetrahedron that holds them apart: their κ is 1."""
    limits, nodes = hold.max_spreads, hold.nodes
    if min(min(limits[a], limits[b]), min(limits[c], limits[d])) <= 1.0:
        return False
    is_one = True
    for k in range(nodes.shape[1]):
        n = nodes[a, k]
        is_one &= (n >= 0) & (n == nodes[b, k]) & (n == nodes[c, k]) & (n == nodes[d, k])
    return is_one


@compiled()
def is_held(hold: Any, points: Any, corners: Any, are_edges: bool, nodes: Any, sums: Any) -> bool:
    """Whether the tetrahedra of one body hold two parts of it apart, farther than these push.

    Args:
        hold: ``Hold``.
        points: (V, 3) of the surface at rest, in metres.
        corners: the four points of the pair.
        nodes, sums: (4 k,) to be overwritten.
    """
    limit = math.inf
    for corner in corners:
        limit = min(limit, hold.max_spreads[corner])
    if limit <= 0.0:
        return False
    x = four_points(points, corners[0], corners[1], corners[2], corners[3])
    difference, c0, c1, c2, c3, _ = closest_points(are_edges, x)
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
    if not is_shared:
        return False
    total = spread = 0.0
    for i in range(count):
        total += 0.5 * abs(sums[i])
        for j in range(count):
            if sums[i] > 0.0 > sums[j]:
                apart = minus(vector_at(hold.rest, nodes[i]), vector_at(hold.rest, nodes[j]))
                spread -= sums[i] * sums[j] * math.sqrt(dot(apart, apart))
    bound = limit * math.sqrt(dot(difference, difference))
    return spread < bound * total or _least_spread(hold.rest, nodes, sums, count) < bound


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
