# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of a tree of boxes over the triangles of a surface."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled, shared_range

# Triangles of a leaf, at most.
LEAF_SIZE = 8


@compiled()
def build_tree(centres: Any, order: Any) -> Any:
    """Splits triangles in halves along the longest side of the box of their centres.

    Nodes come before all below them: the first child of node i is i + 1, the second is where the
    first ends.

    Args:
        centres: (F, 3).
        order: (F,) triangles of one tree, which are put in the order of its leaves.

    Returns:
        (N,) node after the last one below each, and (N, 2) the range in ``order`` of each.
    """
    most = max(2 * len(order), 1)
    ends, ranges = np.empty(most, np.int32), np.empty((most, 2), np.int32)
    stack = np.empty(128, np.int32)
    ranges[0, 0], ranges[0, 1] = 0, len(order)
    count, depth = 1, 0
    node = 0
    # Depth first: a node is split as soon as it is reached; second halves wait on the stack.
    while True:
        first, last = ranges[node, 0], ranges[node, 1]
        if last - first > LEAF_SIZE:
            middle = _split(centres, order, first, last)
            stack[2 * depth], stack[2 * depth + 1] = middle, last
            depth += 1
            ranges[count, 0], ranges[count, 1] = first, middle
        elif depth > 0:
            depth -= 1
            ranges[count, 0], ranges[count, 1] = stack[2 * depth], stack[2 * depth + 1]
        else:
            break
        node = count
        count += 1
    # A node ends where a later one first begins at its end.
    for i in range(count - 1, -1, -1):
        ends[i] = i + 1
        if ranges[i, 1] - ranges[i, 0] > LEAF_SIZE:
            ends[i] = ends[ends[i + 1]]
    return ends[:count].copy(), ranges[:count].copy()


@compiled()
def _split(centres: Any, order: Any, first: int, last: int) -> int:
    """Sorts a part of an order along the longest side of the box around it; its middle."""
    own = order[first:last].copy()
    axis, longest = 0, -1.0
    for i in range(3):
        low = high = centres[own[0], i]
        for face in own:
            low, high = min(low, centres[face, i]), max(high, centres[face, i])
        if high - low > longest:
            axis, longest = i, high - low
    keys = np.empty(len(own))
    for k in range(len(own)):
        keys[k] = centres[own[k], axis]
    # In compiled loops each entry by itself: to copy a part of an array takes a second to compile.
    for k, nearest in enumerate(np.argsort(keys, kind="mergesort")):
        order[first + k] = own[nearest]
    return (first + last) // 2


@compiled(parallel=True)
def box_vertices(before: Any, after: Any, tree_of: Any, motions: Any, boxes: Any) -> None:
    """(V, 6) least and largest x, y, z on a linear trajectory without the motion of its tree."""
    for v in shared_range(len(boxes)):
        for i in range(3):
            start, end = before[v, i], after[v, i] - motions[tree_of[v], i]
            boxes[v, i], boxes[v, 3 + i] = min(start, end), max(start, end)


@compiled(parallel=True)
def box_parts(corners: Any, vertex_boxes: Any, radii: Any, boxes: Any) -> None:
    """(P, 6) of parts with (P, k) corners, widened by the largest of the (V,) radii of those."""
    for part in shared_range(len(corners)):
        radius = radii[corners[part, 0]]
        for k in range(1, corners.shape[1]):
            radius = max(radius, radii[corners[part, k]])
        for i in range(3):
            low, high = vertex_boxes[corners[part, 0], i], vertex_boxes[corners[part, 0], 3 + i]
            for k in range(1, corners.shape[1]):
                v = corners[part, k]
                low, high = min(low, vertex_boxes[v, i]), max(high, vertex_boxes[v, 3 + i])
            boxes[part, i], boxes[part, 3 + i] = low - radius, high + radius


@compiled()
def _copy(boxes: Any, node: int, box: Any) -> None:
    for i in range(6):
        boxes[node, i] = box[i]


@compiled()
def box_nodes(ends: Any, ranges: Any, face_boxes: Any, boxes: Any) -> None:
    """(N, 6) of the nodes of trees, from their last to their first, by (F, 6) boxes in the order of
    leaves."""
    for node in range(len(ends) - 1, -1, -1):
        if ends[node] == node + 1:
            _copy(boxes, node, face_boxes[ranges[node, 0]])
            for k in range(ranges[node, 0] + 1, ranges[node, 1]):
                _widen(boxes, node, face_boxes[k])
        else:
            _copy(boxes, node, boxes[node + 1])
            _widen(boxes, node, boxes[ends[node + 1]])


@compiled()
def _widen(boxes: Any, node: int, other: Any) -> None:
    for i in range(3):
        boxes[node, i] = min(boxes[node, i], other[i])
        boxes[node, 3 + i] = max(boxes[node, 3 + i], other[3 + i])
