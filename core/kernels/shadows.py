# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of what stands between two points."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..compiled import compiled, shared_range
from .triangles import crossing


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
