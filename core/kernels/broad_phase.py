# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of vertices, edges and triangles that may collide, from trees of boxes over triangles.

Boxes are swept along linear trajectories without the mean motion of their leaf. The boxes of nodes
above leaves are swept without that of their tree. Between two leaves or trees, the boxes of the
first are swept by the difference of their mean motions, so that common motion needs only small
boxes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import as_index, compiled, shared_range
from ..math3.vectors import advanced, dot, four_points, minus, scaled, vector_at
from .continuous_collision import distance_lower_bound, relative_move
from .rest_distance import nearest_square, shortening

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


@compiled()
def mean_leaf_motions(
    ends: Any, ranges: Any, corners: Any, before: Any, after: Any, motions: Any
) -> None:
    """Write the (N, 3) mean motions of the corners in each leaf, in metres.

    Args:
        corners: (F, 3) of triangles in the order of leaves.
        before, after: (V, 3) places of vertices.
    """
    for node in range(len(ends)):
        if ends[node] != node + 1:
            continue
        total = (0.0, 0.0, 0.0)
        for face in range(ranges[node, 0], ranges[node, 1]):
            for k in range(3):
                v = corners[face, k]
                total = advanced(total, 1.0, minus(vector_at(after, v), vector_at(before, v)))
        count = 3 * (ranges[node, 1] - ranges[node, 0])
        motions[node, 0], motions[node, 1], motions[node, 2] = scaled(1.0 / count, total)


@compiled(parallel=True)
def box_parts(parts: Any, moved: Any, before: Any, after: Any, motions: Any, radii: Any) -> None:
    """Write the boxes of parts on linear trajectories without the motion of their leaves.

    They are widened by the largest of the (V,) radii of their corners, and left as they are where
    none of the corners is one of the (V,) ``moved``.

    Args:
        parts: ``Parts``.
        motions: (N, 3) of leaves, in metres.
    """
    corners, leaves, boxes = parts.corners, parts.leaves, parts.boxes
    for p in shared_range(len(corners)):
        if not _is_any(moved, corners, as_index(p)):
            continue
        radius = radii[corners[p, 0]]
        for k in range(1, corners.shape[1]):
            radius = max(radius, radii[corners[p, k]])
        for i in range(3):
            low, high, motion = math.inf, -math.inf, motions[leaves[p], i]
            for k in range(corners.shape[1]):
                start, end = before[corners[p, k], i], after[corners[p, k], i] - motion
                low, high = min(low, start, end), max(high, start, end)
            boxes[p, i], boxes[p, 3 + i] = low - radius, high + radius


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
    """Write the (N, 6) boxes of the nodes of trees, by (F, 6) boxes in the order of leaves."""
    for node in range(len(ends)):
        if ends[node] == node + 1:
            _copy(boxes, node, face_boxes[ranges[node, 0]])
            for k in range(ranges[node, 0] + 1, ranges[node, 1]):
                _widen(boxes, node, face_boxes[k])
    _enclose(ends, boxes)


@compiled()
def sweep_nodes(ends: Any, leaf_boxes: Any, drifts: Any, boxes: Any) -> None:
    """Write the (N, 6) boxes of the nodes of trees, by the (N, 6) boxes of leaves, each swept by
    its (N, 3) motion in its tree.
    """
    for node in range(len(ends)):
        if ends[node] == node + 1:
            drift = (drifts[node, 0], drifts[node, 1], drifts[node, 2], 0.0)
            _copy(boxes, node, box_of(leaf_boxes, node, drift))
    _enclose(ends, boxes)


@compiled()
def _enclose(ends: Any, boxes: Any) -> None:
    """Let each node's box enclose those of its children, from the last to the first."""
    for node in range(len(ends) - 1, -1, -1):
        if ends[node] != node + 1:
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
    boxes: Any,
    leaf_boxes: Any,
    motions: Any,
    rest_boxes: Any,
    ends: Any,
    is_queried: Any,
    roots: Any,
    trees: Any,
    shifts: Any,
) -> Any:
    """(K, 3) pairs of leaves whose boxes overlap, and the row of ``trees`` they come from.

    Args:
        boxes: (N, 6) of nodes, swept without the motion of their tree.
        leaf_boxes: (N, 6) of leaves, swept without their own.
        motions: (N, 3) of leaves, in metres.
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
            is_leaf, is_other_leaf = ends[a] == a + 1, ends[b] == b + 1
            if is_leaf and is_other_leaf:
                apart = (*minus(vector_at(motions, a), vector_at(motions, b)), wider)
                if a != b and not overlap(box_of(leaf_boxes, a, apart), leaf_boxes, b):
                    continue
                pairs = _with_capacity(pairs, count)
                pairs[count, 0], pairs[count, 1], pairs[count, 2] = a, b, row
                count += 1
                continue
            shift = (shifts[row, 0], shifts[row, 1], shifts[row, 2], wider)
            if a != b and not overlap(box_of(boxes, a, shift), boxes, b):
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


# A squared distance above this factor times another is larger despite rounding.
SEPARATION_MARGIN = 1.0 + 1e-6


class Parts(NamedTuple):
    """All edges, triangles or vertices in the order of the leaves that they belong to.

    Args:
        indices: (P,) in the surface.
        corners: (P, k) vertices.
        leaves: (P,) node of each.
        ranges: (N, 2) those of each leaf.
        boxes: (P, 6) least and largest x, y, z.
    """

    indices: Any
    corners: Any
    leaves: Any
    ranges: Any
    boxes: Any


class Leaves(NamedTuple):
    """Pairs of leaves whose boxes overlap.

    Args:
        pairs: (K, 3) two leaves, and the row of ``shifts`` of each.
        shifts: (P, 5) by how much more the first moves, how much farther than their radii they may
            be apart, and ``rest_dhats`` of the two.
        boxes: (N, 6) of leaves, swept without their own motion.
        motions: (N, 3) of leaves, in metres.
        rest_boxes: (N, 6) of nodes at rest.
    """

    pairs: Any
    shifts: Any
    boxes: Any
    motions: Any
    rest_boxes: Any


class Trajectories(NamedTuple):
    """Trajectories of vertices: linear, or parabolas.

    Args:
        before, after: (V, 3) between which they go.
        radii: (V,) to search in around them.
        sagittas: (V, 3) of parabolas, in metres; (0, 3) where all are linear.
        is_queried: (V,) mask of vertices; each candidate contains at least one.
        queried_nodes: (N,) nodes of trees that hold one.
        rest: (V, 3) points of bodies at rest.
        groups: (V,) of vertices.
        rest_dhats: (G, G) at which two groups push, in metres, where parts that are near at rest do
            from nearer (``rest_distance``) and are searched there; else zero.
        exempt: (V,) bits; an edge, a face or a vertex with the bit of a pair of groups at all
            corners passes through the other group.
        bits: (G, G) of two groups, zero where no part is exempt.
    """

    before: Any
    after: Any
    radii: Any
    sagittas: Any
    is_queried: Any
    queried_nodes: Any
    rest: Any
    groups: Any
    rest_dhats: Any
    exempt: Any
    bits: Any


@compiled(parallel=True, allocates=True)
def edge_edge_candidates(
    leaves: Any, edges: Any, trajectories: Any, hits: Any, counts: Any
) -> None:
    """Pairs of edges without a common vertex that come near on their trajectories.

    Args:
        leaves: in which to look.
        hits: (C, S, 2) pairs in C chunks; pairs beyond the capacity are not kept.
        counts: (C,) how many there are in each.
    """
    for chunk in shared_range(len(hits)):
        scratch, number = np.empty(3 * LEAF_SIZE + 1, np.int32), as_index(chunk)
        counts[chunk] = _find_edge_edges(number, leaves, edges, trajectories, scratch, hits)


@compiled()
def _find_edge_edges(
    chunk: int, leaves: Any, edges: Any, trajectories: Any, scratch: Any, hits: Any
) -> int:
    """Find the edge pairs of one chunk; return their number."""
    is_queried, queried_nodes = trajectories.is_queried, trajectories.queried_nodes
    pairs, shifts, boxes, motions, rest_boxes = leaves
    count = 0
    for k in range(chunk, len(pairs), len(hits)):
        first, second, row = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        if not queried_nodes[first]:
            first, second = second, first
        shift = minus(vector_at(motions, first), vector_at(motions, second))
        extra = shifts[row, 3]
        wider = widening(rest_boxes, first, second, extra, shifts[row, 4])
        for i in range(edges.ranges[first, 0], edges.ranges[first, 1]):
            a, b = edges.corners[i, 0], edges.corners[i, 1]
            is_wanted = is_queried[a] or is_queried[b]
            box = box_of(edges.boxes, i, (*shift, wider))
            if not (is_wanted or queried_nodes[second]) or not overlap(box, boxes, second):
                continue
            start = i + 1 if first == second else edges.ranges[second, 0]
            number = _overlapping(box, edges.boxes, start, edges.ranges[second, 1], scratch)
            for n in range(_without_edge(a, b, edges.corners, scratch, number)):
                j = scratch[n]
                c, d = edges.corners[j, 0], edges.corners[j, 1]
                if not (is_wanted or is_queried[c] or is_queried[d]):
                    continue
                if are_within_radii(trajectories, a, b, c, d, True, extra):
                    if count < hits.shape[1]:
                        e, f = edges.indices[i], edges.indices[j]
                        hits[chunk, count, 0] = min(e, f)
                        hits[chunk, count, 1] = max(e, f)
                    count += 1
    return count


@compiled()
def _overlapping(box: Any, boxes: Any, start: int, end: int, out: Any) -> int:
    """Find the boxes in a range that share a point with one box; return their number."""
    count = 0
    for j in range(start, end):
        # Always written, so that nothing has to be guessed.
        out[count] = j
        count += overlap(box, boxes, j)
    return count


@compiled()
def _without_edge(a: int, b: int, corners: Any, parts: Any, number: int) -> int:
    """Closes up the first of some edges over those that have a vertex of one, as half of them do;
    how many are left."""
    count = 0
    for n in range(number):
        part = parts[n]
        c, d = corners[part, 0], corners[part, 1]
        # Always written, so that nothing has to be guessed.
        parts[count] = part
        count += (a != c) & (a != d) & (b != c) & (b != d)
    return count


@compiled(parallel=True, allocates=True)
def face_vertex_candidates(
    leaves: Any, faces: Any, vertices: Any, trajectories: Any, hits: Any, counts: Any
) -> None:
    """Find pairs of a face and a vertex that is none of its corners and comes near it."""
    for chunk in shared_range(len(hits)):
        scratch, number = np.empty(LEAF_SIZE + 1, np.int32), as_index(chunk)
        parts = (faces, vertices)
        counts[chunk] = _find_face_vertices(number, leaves, *parts, trajectories, scratch, hits)


@compiled()
def _find_face_vertices(
    chunk: int,
    leaves: Any,
    faces: Any,
    vertices: Any,
    trajectories: Any,
    scratch: Any,
    hits: Any,
) -> int:
    """Find the pairs of faces and vertices of one chunk; return their number."""
    is_queried, queried_nodes = trajectories.is_queried, trajectories.queried_nodes
    pairs, shifts, boxes, motions, rest_boxes = leaves
    count = 0
    for k in range(chunk, len(pairs), len(hits)):
        # The vertices of the first leaf, then those of the second.
        for turn in range(2):
            first, second, row = pairs[k, turn], pairs[k, 1 - turn], pairs[k, 2]
            if turn == 1 and first == second:
                continue
            extra = shifts[row, 3]
            wider = widening(rest_boxes, first, second, extra, shifts[row, 4])
            shift = (*minus(vector_at(motions, first), vector_at(motions, second)), wider)
            for i in range(vertices.ranges[first, 0], vertices.ranges[first, 1]):
                a, box = vertices.indices[i], box_of(vertices.boxes, i, shift)
                if not (is_queried[a] or queried_nodes[second]) or not overlap(box, boxes, second):
                    continue
                start, end = faces.ranges[second, 0], faces.ranges[second, 1]
                for n in range(_overlapping(box, faces.boxes, start, end, scratch)):
                    j = scratch[n]
                    b, c, d = faces.corners[j, 0], faces.corners[j, 1], faces.corners[j, 2]
                    if a in (b, c, d):
                        continue
                    if not (is_queried[a] or is_queried[b] or is_queried[c] or is_queried[d]):
                        continue
                    if are_within_radii(trajectories, a, b, c, d, False, extra):
                        if count < hits.shape[1]:
                            hits[chunk, count, 0], hits[chunk, count, 1] = (
                                faces.indices[j],
                                a,
                            )
                        count += 1
    return count


@compiled()
def collect(hits: Any, counts: Any, out: Any) -> None:
    """Copy the first ``counts`` (C,) pairs of (C, S, 2) chunks to ``out``, one chunk after the
    other."""
    place = 0
    for chunk in range(len(counts)):
        for k in range(counts[chunk]):
            out[place, 0], out[place, 1] = hits[chunk, k, 0], hits[chunk, k, 1]
            place += 1


@compiled(inline=True)
def are_within_radii(
    trajectories: Any, a: int, b: int, c: int, d: int, are_edges: bool, extra: float
) -> bool:
    """Whether two edges, or a vertex and a face, come within the sum of their radii and ``extra``,
    in metres."""
    radii = trajectories.radii
    bit = trajectories.bits[trajectories.groups[a], trajectories.groups[d]]
    if bit != 0 and _is_exempt(trajectories.exempt, bit, a, b, c, d, are_edges):
        return False
    if are_edges:
        radius_sum = max(radii[a], radii[b]) + max(radii[c], radii[d]) + extra
    else:
        radius_sum = radii[a] + max(radii[b], radii[c], radii[d]) + extra
    radius_sum -= _shortened(trajectories, a, b, c, d, are_edges)
    if len(trajectories.sagittas) > 0:
        # Parts that bend alike come no nearer.
        radius_sum += relative_move(four_points(trajectories.sagittas, a, b, c, d), are_edges)
    start, end = (
        four_points(trajectories.before, a, b, c, d),
        four_points(trajectories.after, a, b, c, d),
    )
    if _are_separated(start, end, are_edges, radius_sum):
        return False
    return distance_lower_bound(start, end, are_edges) <= radius_sum


@compiled(inline=True)
def _shortened(trajectories: Any, a: int, b: int, c: int, d: int, are_edges: bool) -> float:
    """Return the reduction of a pair's search distance because it is near at rest, in metres."""
    dhat = trajectories.rest_dhats[trajectories.groups[a], trajectories.groups[d]]
    if dhat == 0.0:
        return 0.0
    corners = four_points(trajectories.rest, a, b, c, d)
    return shortening(dhat, nearest_square(corners, are_edges))


@compiled(inline=True)
def _is_exempt(exempt: Any, bit: int, a: int, b: int, c: int, d: int, are_edges: bool) -> bool:
    """Whether one of two parts goes through the other's group."""
    if are_edges:
        return (exempt[a] & exempt[b] & bit) != 0 or (exempt[c] & exempt[d] & bit) != 0
    return (exempt[a] & bit) != 0 or (exempt[b] & exempt[c] & exempt[d] & bit) != 0


@compiled()
def _are_separated(start: Any, end: Any, are_edges: bool, radius_sum: float) -> bool:
    """Whether two parts stay farther apart than ``radius_sum`` along the line between their
    centres or, for edges, along its component normal to an edge. Most pairs do, and
    ``distance_lower_bound`` takes several times as long."""
    line = minus(_second_middle(start, are_edges), _first_middle(start, are_edges))
    if _are_apart_along(line, start, end, are_edges, radius_sum):
        return True
    if not are_edges:
        return False
    first = _normal_part(line, minus(start[1], start[0]))
    if _are_apart_along(first, start, end, True, radius_sum):
        return True
    second = _normal_part(line, minus(start[3], start[2]))
    return _are_apart_along(second, start, end, True, radius_sum)


@compiled()
def _normal_part(line: Any, edge: Any) -> Any:
    """Return the part of a line that is normal to an edge, times the edge's squared length."""
    return minus(scaled(dot(edge, edge), line), scaled(dot(line, edge), edge))


@compiled()
def _are_apart_along(line: Any, start: Any, end: Any, are_edges: bool, radius_sum: float) -> bool:
    distance = min(_distance_along(line, start, are_edges), _distance_along(line, end, are_edges))
    return (
        distance > 0.0
        and distance * distance > SEPARATION_MARGIN * radius_sum * radius_sum * dot(line, line)
    )


@compiled()
def _first_middle(x: Any, are_edges: bool) -> Any:
    return scaled(0.5, advanced(x[0], 1.0, x[1])) if are_edges else x[0]


@compiled()
def _second_middle(x: Any, are_edges: bool) -> Any:
    if are_edges:
        return scaled(0.5, advanced(x[2], 1.0, x[3]))
    return scaled(1.0 / 3.0, advanced(advanced(x[1], 1.0, x[2]), 1.0, x[3]))


@compiled()
def _distance_along(line: Any, x: Any, are_edges: bool) -> float:
    """From the first part to the second, times the length of the line."""
    lowest = min(dot(line, minus(x[2], x[0])), dot(line, minus(x[3], x[0])))
    if are_edges:
        return lowest - max(0.0, dot(line, minus(x[1], x[0])))
    return min(lowest, dot(line, minus(x[1], x[0])))


# The cached pairs of two leaves are complete; would be complete after an update of the cache; or
# cannot be, because the leaves move too differently.
UNCHANGED, STALE, FAST = 0, 1, 2
# The part of a margin that is left to rounding.
ROUNDING_RATIO = 1e-6


@compiled(parallel=True)
def box_moves(
    ends: Any, ranges: Any, corners: Any, origins: Any, before: Any, after: Any, boxes: Any
) -> None:
    """Write the bounds of the displacements of the corners in each leaf, (N, 12) in metres: least
    and largest components from (V, 3) origins to ``before``, then from there to ``after``.

    Args:
        ends: (N,) node after the last one below each.
        ranges: (N, 2) triangles of each node.
        corners: (F, 3) of triangles in the order of leaves.
    """
    for node in shared_range(len(ends)):
        if ends[node] != node + 1:
            continue
        for i in range(3):
            low = low_displacement = math.inf
            high = high_displacement = -math.inf
            for face in range(ranges[node, 0], ranges[node, 1]):
                for k in range(3):
                    v = corners[face, k]
                    move, displacement = before[v, i] - origins[v, i], after[v, i] - before[v, i]
                    low, high = min(low, move), max(high, move)
                    low_displacement = min(low_displacement, displacement)
                    high_displacement = max(high_displacement, displacement)
            boxes[node, i], boxes[node, 3 + i] = low, high
            boxes[node, 6 + i], boxes[node, 9 + i] = low_displacement, high_displacement


@compiled(parallel=True)
def classify_leaves(leaves: Any, moves: Any, margins: Any, rounding: float, out: Any) -> None:
    """Write for (K,) pairs of leaves ``UNCHANGED``, ``STALE`` or ``FAST``.

    The distance of two parts changes by no more than how differently their corners move.

    Args:
        leaves: (K, 3) pairs of nodes, and more.
        moves: (N, 12) boxes.
        margins: (N,) the distance beyond their radii of parts that are not cached, for each of
            two, in metres.
        rounding: of positions, in metres.
    """
    for k in shared_range(len(leaves)):
        a, b = leaves[k, 0], leaves[k, 1]
        margin = (1.0 - ROUNDING_RATIO) * (margins[a] + margins[b]) - rounding
        displacement = _apart(moves, a, b, 6)
        out[k] = FAST
        if displacement < margin:
            out[k] = UNCHANGED if displacement + _apart(moves, a, b, 0) < margin else STALE


@compiled()
def _apart(moves: Any, a: int, b: int, start: int) -> float:
    """Return a bound on the relative motion of any two corners, one of each leaf, in metres."""
    square = 0.0
    for i in range(start, start + 3):
        most = max(moves[a, i + 3] - moves[b, i], moves[b, i + 3] - moves[a, i])
        square += most * most
    return math.sqrt(square)


@compiled(parallel=True)
def find_near_edges(
    pairs: Any, edges: Any, trees: Any, motions: Any, trajectories: Any, out: Any
) -> None:
    """Mark the (K,) pairs of edges that come near on their trajectories, as
    ``edge_edge_candidates`` requires.

    Args:
        pairs: (K, 2) in the order of leaves.
        trees: that each vertex is in, and their groups.
        motions: (N, 3) of leaves, in metres.
    """
    for k in shared_range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = edges.corners[i, 0], edges.corners[i, 1]
        c, d = edges.corners[j, 0], edges.corners[j, 1]
        apart = minus(vector_at(motions, edges.leaves[i]), vector_at(motions, edges.leaves[j]))
        shift = (*apart, _extra(trees, a, c))
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
    """Mark the (K, 2) faces and vertices that come near, as ``face_vertex_candidates`` requires."""
    for k in shared_range(len(pairs)):
        j, i = pairs[k, 0], pairs[k, 1]
        a = vertices.indices[i]
        b, c, d = faces.corners[j, 0], faces.corners[j, 1], faces.corners[j, 2]
        apart = minus(vector_at(motions, vertices.leaves[i]), vector_at(motions, faces.leaves[j]))
        shift = (*apart, _extra(trees, a, b))
        out[k] = False
        if overlap(box_of(vertices.boxes, i, shift), faces.boxes, j):
            out[k] = are_within_radii(trajectories, a, b, c, d, False, shift[3])


@compiled()
def _extra(trees: Any, v: int, w: int) -> float:
    """Return how much farther than their radii two vertices may be apart, in metres."""
    return trees.extras[trees.groups[trees.of[v]], trees.groups[trees.of[w]]]


@compiled()
def _order(first: Any, i: int, second: Any, j: int) -> int:
    """Negative where pair i of the first list comes before pair j of the second, 0 for the same."""
    difference = first[i, 0] - second[j, 0]
    return difference if difference != 0 else first[i, 1] - second[j, 1]


@compiled()
def find_among(pairs: Any, known: Any, offset: int, out: Any) -> None:
    """Write the (P,) place of each pair among (K, 2) known ones, counted from ``offset``; −1
    where it is none of them.
    """
    j = 0
    for i in range(len(pairs)):
        while j < len(known) and _order(known, j, pairs, i) < 0:
            j += 1
        is_known = j < len(known) and _order(known, j, pairs, i) == 0
        out[i] = offset + j if is_known else -1


@compiled(allocates=True)
def merged(first: Any, second: Any) -> Any:
    """(M, 2) the pairs of either list."""
    out, count = np.empty((len(first) + len(second), 2), np.int32), 0
    i = j = 0
    while i < len(first) or j < len(second):
        order = -1 if j == len(second) else 1
        if i < len(first) and j < len(second):
            order = _order(first, i, second, j)
        if order <= 0:
            out[count, 0], out[count, 1] = first[i, 0], first[i, 1]
        else:
            out[count, 0], out[count, 1] = second[j, 0], second[j, 1]
        count += 1
        i += order <= 0
        j += order >= 0
    return out[:count].copy()
