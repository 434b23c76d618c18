# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that tell whether an object, translated, is clear of others that do not move."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import compiled
from .triangle_pairs import boxes_overlap, distance, triangle_at
from .vectors import cross, dot, minus, plus, vector_at

# Rows of a stack that descends two trees of up to 2^31 nodes.
STACK_SIZE = 256


class Objects(NamedTuple):
    """The surfaces of several objects, a tree of boxes each.

    Args:
        corners: (F, 3, 3) of triangles in the order of the leaves, in metres.
        roots: (O,) first node of the tree of each object, −1 where it has no triangles.
        ends, ranges, boxes: of the nodes, as ``SurfaceTrees`` has them.
        are_solid: (O,) whether nothing may end inside.
        none_shared: (3, 3) false.
    """

    corners: Any
    roots: Any
    ends: Any
    ranges: Any
    boxes: Any
    are_solid: Any
    none_shared: Any


@compiled()
def first_in_the_way(
    objects: Objects, moved: int, others: Any, offsets: Any, offset: Any, limit: float, stack: Any
) -> int:
    """The place among some objects of the first that another one, translated, is not clear of: it
    is nearer than a distance, or one of two solids is inside the other. −1 where there is none.

    Args:
        moved: the object that is translated by the three numbers ``offset``, in metres.
        others: (K,) the other objects.
        offsets: (O, 3) translations of all, in metres.
        limit: the distance, in metres.
        stack: (``STACK_SIZE``, 2) for its use.
    """
    for k in range(len(others)):
        other = others[k]
        if objects.roots[moved] < 0 or objects.roots[other] < 0:
            continue
        way = minus(offset, vector_at(offsets, other))
        if not _overlap(objects.boxes, objects.roots[moved], objects.roots[other], way, limit):
            continue
        if _are_near(objects, moved, other, way, limit, stack):
            return k
        if objects.are_solid[moved] and objects.are_solid[other]:
            back = (-way[0], -way[1], -way[2])
            if _is_inside(objects, moved, other, way) or _is_inside(objects, other, moved, back):
                return k
    return -1


@compiled()
def _overlap(boxes: Any, a: int, b: int, way: Any, limit: float) -> bool:
    """Whether the box of a node, translated, comes within a distance of another one."""
    result = True
    for i in range(3):
        result &= boxes[a, i] + way[i] <= boxes[b, 3 + i] + limit
        result &= boxes[b, i] <= boxes[a, 3 + i] + way[i] + limit
    return result


@compiled()
def _are_near(
    objects: Objects, first: int, second: int, way: Any, limit: float, stack: Any
) -> bool:
    """Whether any triangles of two objects, the first translated, come within a distance."""
    boxes, ends = objects.boxes, objects.ends
    stack[0, 0], stack[0, 1] = objects.roots[first], objects.roots[second]
    depth = 1
    while depth > 0:
        depth -= 1
        a, b = stack[depth, 0], stack[depth, 1]
        if not _overlap(boxes, a, b, way, limit):
            continue
        is_leaf, is_other_leaf = ends[a] == a + 1, ends[b] == b + 1
        if is_leaf and is_other_leaf:
            if _leaves_are_near(objects, a, b, way, limit):
                return True
        elif is_other_leaf or (not is_leaf and _size(boxes, a) >= _size(boxes, b)):
            stack[depth, 0], stack[depth, 1] = ends[a + 1], b
            stack[depth + 1, 0], stack[depth + 1, 1] = a + 1, b
            depth += 2
        else:
            stack[depth, 0], stack[depth, 1] = a, ends[b + 1]
            stack[depth + 1, 0], stack[depth + 1, 1] = a, b + 1
            depth += 2
    return False


@compiled()
def _size(boxes: Any, node: int) -> float:
    return (
        (boxes[node, 3] - boxes[node, 0])
        + (boxes[node, 4] - boxes[node, 1])
        + (boxes[node, 5] - boxes[node, 2])
    )


@compiled()
def _leaves_are_near(objects: Objects, a: int, b: int, way: Any, limit: float) -> bool:
    corners, ranges = objects.corners, objects.ranges
    for i in range(ranges[a, 0], ranges[a, 1]):
        here = triangle_at(corners, i)
        first = plus(here[0], way), plus(here[1], way), plus(here[2], way)
        for k in range(ranges[b, 0], ranges[b, 1]):
            second = triangle_at(corners, k)
            if (
                boxes_overlap(first, second, limit)
                and distance(first, second, limit, objects.none_shared) <= limit
            ):
                return True
    return False


@compiled()
def _is_inside(objects: Objects, first: int, second: int, way: Any) -> bool:
    """Whether a point of the first object, translated, is inside the second: whether the surface
    winds about it (van Oosterom and Strackee, "The solid angle of a plane triangle", 1983)."""
    root, other = objects.roots[first], objects.roots[second]
    point = plus(vector_at(objects.corners[objects.ranges[root, 0]], 0), way)
    for i in range(3):
        if point[i] < objects.boxes[other, i] or point[i] > objects.boxes[other, 3 + i]:
            return False
    angle = 0.0
    for k in range(objects.ranges[other, 0], objects.ranges[other, 1]):
        a = minus(vector_at(objects.corners[k], 0), point)
        b = minus(vector_at(objects.corners[k], 1), point)
        c = minus(vector_at(objects.corners[k], 2), point)
        la, lb, lc = math.sqrt(dot(a, a)), math.sqrt(dot(b, b)), math.sqrt(dot(c, c))
        under = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
        angle += 2.0 * math.atan2(dot(a, cross(b, c)), under)
    # More than half of the sphere around it.
    return abs(angle) > 2.0 * math.pi
