# SPDX-License-Identifier: GPL-3.0-or-later
"""Where short segments go through triangles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.triangle_pairs import write_hits
from .surface_trees import SurfaceTrees

Points = NDArray[np.float64]
Indices = NDArray[np.intp]


def segment_hits(
    begin: Points,
    end: Points,
    vertices: Points,
    triangles: NDArray[np.int32],
    owners: NDArray[np.int32] | None = None,
    vertex_owners: NDArray[np.int32] | None = None,
) -> tuple[Indices, Indices, NDArray[np.float64]]:
    """Each crossing of a segment and a triangle.

    Args:
        begin, end: (S, 3) of the segments.
        vertices, triangles: (V, 3) and (F, 3).
        owners, vertex_owners: (S,) and (V,), where segments pass through triangles of their owner.

    Returns:
        The segments, the triangles, and the shares of the way from begin to end.
    """
    if len(triangles) == 0 or len(begin) == 0:
        none = np.empty(0, dtype=np.intp)
        return none, none, np.empty(0)
    objects = np.zeros(len(triangles), dtype=np.int32)
    skipped = np.full((len(begin), 2), -1, dtype=np.int32)
    if owners is not None and vertex_owners is not None:
        objects = vertex_owners[triangles[:, 0]]
    trees = SurfaceTrees.of(vertices[triangles], objects)
    if owners is not None:
        bounds = np.append(trees.roots, len(trees.ends)).astype(np.int32)
        tree = np.searchsorted(trees.groups, owners)
        has_tree = trees.groups[np.minimum(tree, len(trees.groups) - 1)] == owners
        tree = tree[has_tree]
        skipped[has_tree] = np.stack([bounds[tree], bounds[tree + 1]], axis=1)
    segments = np.ascontiguousarray(begin), np.ascontiguousarray(end)
    nodes = trees.ends, trees.ranges, trees.boxes
    count, room = 0, 4 * len(begin)
    while True:
        found, shares = np.empty((room, 2), dtype=np.int64), np.empty(room)
        count = write_hits(*segments, trees.corners, nodes, skipped, found, shares)
        if count <= room:
            break
        room = count
    segment, triangle = found[:count, 0], trees.order[found[:count, 1]]
    order = np.lexsort((triangle, segment))
    return segment[order], triangle[order], shares[:count][order]
