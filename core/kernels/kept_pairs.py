# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of pairs that are kept between searches: which of them are near now, and which leaves
have moved too far for them to be all."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .bounding_volumes import box_of, overlap
from .broad_phase import are_within_radii
from .vectors import minus, vector_at

# Kept pairs are all that two leaves may have; would be, if they were found anew; or are not,
# whatever is kept.
SERVED, WORN, FAST = 0, 1, 2
# So much of a margin is no more than rounding.
ROUNDING_RATIO = 1e-6


@compiled(parallel=True)
def box_moves(
    ends: Any, ranges: Any, corners: Any, origins: Any, before: Any, after: Any, boxes: Any
) -> None:
    """(N, 12) the least and the largest components of how far the corners in each leaf have come
    from (V, 3) origins to where they are before, and how far they go after that, in metres.

    Args:
        ends: (N,) node after the last one below each.
        ranges: (N, 2) triangles of each node.
        corners: (F, 3) of triangles in the order of leaves.
    """
    for node in shared_range(len(ends)):
        if ends[node] != node + 1:
            continue
        for i in range(3):
            low = low_way = math.inf
            high = high_way = -math.inf
            for face in range(ranges[node, 0], ranges[node, 1]):
                for k in range(3):
                    v = corners[face, k]
                    move, way = before[v, i] - origins[v, i], after[v, i] - before[v, i]
                    low, high = min(low, move), max(high, move)
                    low_way, high_way = min(low_way, way), max(high_way, way)
            boxes[node, i], boxes[node, 3 + i] = low, high
            boxes[node, 6 + i], boxes[node, 9 + i] = low_way, high_way


@compiled(parallel=True)
def judge_leaves(leaves: Any, moves: Any, margins: Any, rounding: float, out: Any) -> None:
    """(K,) ``SERVED``, ``WORN`` or ``FAST``.

    The distance of two parts changes by no more than how differently their corners move.

    Args:
        leaves: (K, 3) pairs of nodes, and more.
        moves: (N, 12) boxes.
        margins: (N,) by how much more than their radii parts were apart that are not kept, for each
            of two, in metres.
        rounding: of positions, in metres.
    """
    for k in shared_range(len(leaves)):
        a, b = leaves[k, 0], leaves[k, 1]
        margin = (1.0 - ROUNDING_RATIO) * (margins[a] + margins[b]) - rounding
        way = _apart(moves, a, b, 6)
        out[k] = FAST
        if way < margin:
            out[k] = SERVED if way + _apart(moves, a, b, 0) < margin else WORN


@compiled()
def _apart(moves: Any, a: int, b: int, start: int) -> float:
    """How differently any two corners may move, one of each leaf, in metres."""
    square = 0.0
    for i in range(start, start + 3):
        most = max(moves[a, i + 3] - moves[b, i], moves[b, i + 3] - moves[a, i])
        square += most * most
    return math.sqrt(square)


@compiled(parallel=True)
def find_near_edges(
    pairs: Any, edges: Any, trees: Any, motions: Any, trajectories: Any, out: Any
) -> None:
    """(K,) which pairs of edges come near on their trajectories, as ``edge_edge_candidates`` asks.

    Args:
        pairs: (K, 2) in the order of leaves.
        trees: that each vertex is in, and their groups.
        motions: (T, 3) of trees.
    """
    for k in shared_range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = edges.corners[i, 0], edges.corners[i, 1]
        c, d = edges.corners[j, 0], edges.corners[j, 1]
        shift = _shift(trees, motions, a, c)
        out[k] = False
        if overlap(box_of(edges.boxes, i, shift), edges.boxes, j):
            out[k] = are_within_radii(trajectories, a, b, c, d, True, shift[3])


@compiled(parallel=True)
def find_near_faces(
    pairs: Any,
    faces: Any,
    vertices: Any,
    trees: Any,
    motions: Any,
    trajectories: Any,
    out: Any,
) -> None:
    """The same of (K, 2) faces and vertices, as ``face_vertex_candidates`` asks."""
    for k in shared_range(len(pairs)):
        j, i = pairs[k, 0], pairs[k, 1]
        a = vertices.indices[i]
        b, c, d = faces.corners[j, 0], faces.corners[j, 1], faces.corners[j, 2]
        shift = _shift(trees, motions, a, b)
        out[k] = False
        if overlap(box_of(vertices.boxes, i, shift), faces.boxes, j):
            out[k] = are_within_radii(trajectories, a, b, c, d, False, shift[3])


@compiled()
def _shift(trees: Any, motions: Any, v: int, w: int) -> Any:
    """By how much more the tree of one vertex moves than that of another, and how much farther than
    their radii they may be apart."""
    one, two = trees.of[v], trees.of[w]
    shift = minus(vector_at(motions, one), vector_at(motions, two))
    return (*shift, trees.extras[trees.groups[one], trees.groups[two]])
