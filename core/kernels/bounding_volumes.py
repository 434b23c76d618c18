# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of trees of boxes over the triangles of surfaces.

Boxes are swept along linear trajectories without the mean motion of their tree. Between two trees
the boxes of the first are swept by the difference of their mean motions, so that common motion
needs only small boxes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import as_index, compiled, shared_range
from .rest_distance import shortening

# Triangles of a leaf, at most. With 8, the search of 9 212 triangles takes a third longer.
LEAF_SIZE = 16


class Trees(NamedTuple):
    """The trees of a collision surface, with the search distances of their groups.

    Args:
        of: (V,) the tree that each vertex is in.
        groups: (T,) that each tree belongs to.
        extras: (G, G) how much farther than their radii two groups may be apart, in metres.
        most_extra: the largest of them.
    """

    of: Any
    groups: Any
    extras: Any
    most_extra: float


@compiled(allocates=True)
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


@compiled(allocates=True)
def _split(centres: Any, order: Any, first: int, last: int) -> int:
    """Sorts a part of an order along the longest side of the box around it; its middle."""
    faces = order[first:last].copy()
    axis, longest = 0, -1.0
    for i in range(3):
        low = high = centres[faces[0], i]
        for face in faces:
            low, high = min(low, centres[face, i]), max(high, centres[face, i])
        if high - low > longest:
            axis, longest = i, high - low
    keys = np.empty(len(faces))
    for k in range(len(faces)):
        keys[k] = centres[faces[k], axis]
    # In compiled loops each entry by itself: to copy a part of an array takes a second to compile.
    for k, nearest in enumerate(np.argsort(keys, kind="mergesort")):
        order[first + k] = faces[nearest]
    return (first + last) // 2


@compiled(parallel=True)
def box_vertices(before: Any, after: Any, tree_of: Any, motions: Any, boxes: Any) -> None:
    """(V, 6) least and largest x, y, z on a linear trajectory without the motion of its tree."""
    for v in shared_range(len(boxes)):
        for i in range(3):
            start, end = before[v, i], after[v, i] - motions[tree_of[v], i]
            boxes[v, i], boxes[v, 3 + i] = min(start, end), max(start, end)


@compiled(parallel=True)
def box_parts(corners: Any, moved: Any, vertex_boxes: Any, radii: Any, boxes: Any) -> None:
    """Write the (P, 6) boxes of parts with (P, k) corners, widened by the largest of the (V,)
    radii of those; left as they are where none of the corners is one of the (V,) ``moved``.
    """
    for part in shared_range(len(corners)):
        if not _is_any(moved, corners, as_index(part)):
            continue
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
def _is_any(moved: Any, corners: Any, part: int) -> bool:
    is_any = False
    for k in range(corners.shape[1]):
        is_any |= moved[corners[part, k]]
    return is_any


@compiled()
def mark_nodes(ends: Any, ranges: Any, corners: Any, moved: Any, out: Any) -> None:
    """(N,) whether any of the (V,) ``moved`` is a corner below each node of trees.

    Args:
        corners: (F, 3) of triangles in the order of leaves.
    """
    for node in range(len(ends) - 1, -1, -1):
        out[node] = False
        if ends[node] == node + 1:
            for k in range(ranges[node, 0], ranges[node, 1]):
                out[node] |= _is_any(moved, corners, k)
        else:
            out[node] = out[node + 1] | out[ends[node + 1]]


@compiled()
def _copy(boxes: Any, node: int, box: Any) -> None:
    for i in range(6):
        boxes[node, i] = box[i]


@compiled()
def box_nodes(ends: Any, ranges: Any, face_boxes: Any, boxes: Any) -> None:
    """Write the (N, 6) boxes of the nodes of trees, from their last to their first, by (F, 6)
    boxes in the order of leaves.
    """
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


@compiled(allocates=True)
def tree_pairs(
    boxes: Any, motions: Any, roots: Any, trees: Any, can_collide: Any, ratio: float, order: Any
) -> Any:
    """(K, 2) trees whose swept boxes may overlap, the lower one first, each with itself where it
    can collide so.

    Args:
        boxes: (N, 6) of nodes.
        motions: (T, 3) mean motion of each tree.
        roots: (T,) nodes.
        trees: the groups of the trees.
        can_collide: (G, G) whether two groups may.
        ratio: of how much farther than their radii they may be apart.
        order: (T,) trees by the least x of their swept boxes.
    """
    pairs, count = np.empty((64, 2), np.int32), 0
    groups, most = trees.groups, ratio * trees.most_extra
    for i in range(len(order)):
        high = boxes[roots[order[i]], 3] + max(motions[order[i], 0], 0.0) + most
        for k in range(i, len(order)):
            if boxes[roots[order[k]], 0] + min(motions[order[k], 0], 0.0) > high:
                break
            first, second = min(order[i], order[k]), max(order[i], order[k])
            shift = (
                motions[first, 0] - motions[second, 0],
                motions[first, 1] - motions[second, 1],
                motions[first, 2] - motions[second, 2],
                ratio * trees.extras[groups[first], groups[second]],
            )
            if can_collide[groups[first], groups[second]] and (
                i == k or overlap(box_of(boxes, roots[first], shift), boxes, roots[second])
            ):
                pairs = _with_capacity(pairs, count)
                pairs[count, 0], pairs[count, 1] = first, second
                count += 1
    return pairs[:count].copy()


@compiled(allocates=True)
def leaf_pairs(
    boxes: Any, rest_boxes: Any, ends: Any, is_queried: Any, roots: Any, trees: Any, shifts: Any
) -> Any:
    """(K, 3) pairs of leaves whose boxes overlap, and the row of ``trees`` they come from.

    Args:
        rest_boxes: (N, 6) of nodes at rest.
        ends: (N,) node after the last one below each.
        is_queried: (N,) nodes: one of a pair has to be among them.
        trees: (P, 2) pairs of trees.
        shifts: (P, 5) by how much more the first moves, how much farther than their radii they may
            be apart, and the distance from which they push, if parts near at rest do from nearer.
    """
    pairs, count = np.empty((1024, 3), np.int32), 0
    stack = np.empty((1024, 2), np.int32)
    for row in range(len(trees)):
        stack[0, 0], stack[0, 1] = roots[trees[row, 0]], roots[trees[row, 1]]
        depth = 1
        while depth > 0:
            depth -= 1
            a, b = stack[depth, 0], stack[depth, 1]
            if not (is_queried[a] or is_queried[b]):
                continue
            wider = widening(rest_boxes, a, b, shifts[row, 3], shifts[row, 4])
            shift = (shifts[row, 0], shifts[row, 1], shifts[row, 2], wider)
            if a != b and not overlap(box_of(boxes, a, shift), boxes, b):
                continue
            is_leaf, is_other_leaf = ends[a] == a + 1, ends[b] == b + 1
            if is_leaf and is_other_leaf:
                pairs = _with_capacity(pairs, count)
                pairs[count, 0], pairs[count, 1], pairs[count, 2] = a, b, row
                count += 1
                continue
            if depth + 3 > len(stack):
                stack = _with_capacity(stack, len(stack))
            if a == b:
                left, right = a + 1, ends[a + 1]
                depth = _push(stack, depth, right, right)
                depth = _push(stack, depth, left, right)
                depth = _push(stack, depth, left, left)
            elif is_other_leaf or (not is_leaf and _box_size(boxes, a) >= _box_size(boxes, b)):
                depth = _push(stack, depth, ends[a + 1], b)
                depth = _push(stack, depth, a + 1, b)
            else:
                depth = _push(stack, depth, a, ends[b + 1])
                depth = _push(stack, depth, a, b + 1)
    return pairs[:count].copy()


@compiled()
def _push(stack: Any, depth: int, first: int, second: int) -> int:
    stack[depth, 0], stack[depth, 1] = first, second
    return depth + 1


@compiled(allocates=True)
def _with_capacity(rows: Any, count: int) -> Any:
    """The rows, twice as many when all are taken."""
    if count < len(rows):
        return rows
    larger = np.empty((2 * len(rows), rows.shape[1]), np.int32)
    for row in range(count):
        for i in range(rows.shape[1]):
            larger[row, i] = rows[row, i]
    return larger


@compiled()
def _box_size(boxes: Any, node: int) -> float:
    return (
        (boxes[node, 3] - boxes[node, 0])
        + (boxes[node, 4] - boxes[node, 1])
        + (boxes[node, 5] - boxes[node, 2])
    )


@compiled(inline=True)
def widening(rest_boxes: Any, a: int, b: int, extra: float, dhat: float) -> float:
    """Return the extra search distance between parts of two nodes beyond their radii, in metres:
    ``extra``, but less where all of them are near at rest.

    Args:
        rest_boxes: (N, 6) of nodes at rest.
        dhat: the activation distance of the two, in metres; zero for no push.
    """
    if dhat == 0.0:
        return extra
    farthest = 0.0
    for i in range(3):
        low = min(rest_boxes[a, i], rest_boxes[b, i])
        high = max(rest_boxes[a, 3 + i], rest_boxes[b, 3 + i])
        farthest += (high - low) * (high - low)
    return extra - shortening(dhat, farthest)


@compiled()
def box_of(boxes: Any, i: int, shift: Any) -> Any:
    """Six numbers: a box, swept by the first three of a shift and widened by the fourth."""
    extra = shift[3]
    return (
        *(boxes[i, 0] + min(shift[0], 0.0) - extra, boxes[i, 1] + min(shift[1], 0.0) - extra),
        *(boxes[i, 2] + min(shift[2], 0.0) - extra, boxes[i, 3] + max(shift[0], 0.0) + extra),
        *(boxes[i, 4] + max(shift[1], 0.0) + extra, boxes[i, 5] + max(shift[2], 0.0) + extra),
    )


@compiled()
def overlap(box: Any, boxes: Any, i: int) -> bool:
    """Whether two boxes share a point; all is compared, as half of them do and no guess helps."""
    return (
        (box[0] <= boxes[i, 3])
        & (boxes[i, 0] <= box[3])
        & (box[1] <= boxes[i, 4])
        & (boxes[i, 1] <= box[4])
        & (box[2] <= boxes[i, 5])
        & (boxes[i, 2] <= box[5])
    )
