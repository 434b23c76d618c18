# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled loops over triangles and tets: coordinates, crossings, distances and overlaps.

A cell is a tet, given by the four affine maps (4, 4) of its barycentric coordinates: of a point x
they are M[:, :3] x + M[:, 3]. Its triangles are rows of arrays sorted by cell.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from ..math3.closest_points import between_edges, closest, code_of_edges
from ..math3.vectors import (
    NOTHING,
    advanced,
    cross,
    dot,
    four_points,
    minus,
    plus,
    scaled,
    vector_at,
)


@compiled()
def coordinate(row: Any, x: float, y: float, z: float) -> float:
    """A barycentric coordinate of a point."""
    return float(row[0] * x + row[1] * y + row[2] * z + row[3])


@compiled()
def shape_gradients(vertices: Any, corners: Any) -> Any:
    """Six times the volume of a tet, and the gradients of its barycentric coordinates, of length
    1 / altitude."""
    a, b, c, d = four_points(vertices, corners[0], corners[1], corners[2], corners[3])
    u, v, w = minus(b, a), minus(c, a), minus(d, a)
    normal = cross(v, w)
    volume = dot(u, normal)
    inverse = 1.0 / volume
    second, third = scaled(inverse, normal), scaled(inverse, cross(w, u))
    fourth = scaled(inverse, cross(u, v))
    return volume, (scaled(-1.0, plus(plus(second, third), fourth)), second, third, fourth)


@compiled()
def write_maps(vertices: Any, tets: Any, maps: Any) -> None:
    """See ``barycentric_maps``."""
    for e in range(len(tets)):
        _, gradients = shape_gradients(vertices, tets[e])
        first = vector_at(vertices, tets[e, 0])
        for k in range(4):
            maps[e, k, 0], maps[e, k, 1], maps[e, k, 2] = gradients[k]
            maps[e, k, 3] = -dot(gradients[k], first)
        maps[e, 0, 3] += 1.0


@compiled()
def _least_coordinate(maps: Any, point: Any) -> float:
    least = np.inf
    for a in range(4):
        least = min(least, coordinate(maps[a], point[0], point[1], point[2]))
    return float(least)


@compiled()
def _shared_corners(tets: Any, one: int, two: int) -> int:
    shared = 0
    for a in range(4):
        for b in range(4):
            if tets[one, a] == tets[two, b]:
                shared += 1
    return shared


@compiled()
def locate(
    points: Any,
    near: Any,
    tets: Any,
    maps: Any,
    offsets: Any,
    around: Any,
    owner: Any,
    least: Any,
    rival: Any,
) -> None:
    """See ``TetsAround.locate``."""
    for p in range(len(points)):
        winner, most = near[p], 0
        best = _least_coordinate(maps[winner], points[p])
        if best < 0.0:
            for corner in range(4):
                vertex = tets[near[p], corner]
                for slot in range(offsets[vertex], offsets[vertex + 1]):
                    tet = around[slot]
                    coordinate = _least_coordinate(maps[tet], points[p])
                    if tet == winner or (coordinate < 0.0 and most > 0):
                        continue
                    shared = 0
                    if coordinate >= 0.0:
                        shared = _shared_corners(tets, near[p], tet)
                    if shared > most:
                        best, winner, most, rival[p] = coordinate, tet, shared, -1
                    elif shared == most and coordinate > best:
                        rival[p] = winner if best >= 0.0 else -1
                        best, winner = coordinate, tet
                    elif shared == most and coordinate >= 0.0:
                        rival[p] = tet
        owner[p], least[p] = winner, best


_MIN_AREA = 1e-12
# A triangle cut by the four faces of a tet has no more corners.
_MAX_CORNERS = 8
_GOLDEN_RATIO = 0.6180339887


@compiled()
def clip(triangle: Any, maps: Any, polygon: Any, spare: Any) -> int:
    """Clip a triangle (3, 3) by a tet into ``polygon`` (8, 3), and count its corners.

    Sutherland and Hodgman, "Reentrant polygon clipping", 1974.
    """
    count = 3
    for i in range(3):
        for axis in range(3):
            polygon[i, axis] = triangle[i, axis]
    for a in range(4):
        corners = 0
        for i in range(count):
            j = i + 1 if i + 1 < count else 0
            here = coordinate(maps[a], polygon[i, 0], polygon[i, 1], polygon[i, 2])
            there = coordinate(maps[a], polygon[j, 0], polygon[j, 1], polygon[j, 2])
            if here >= 0.0:
                for axis in range(3):
                    spare[corners, axis] = polygon[i, axis]
                corners += 1
            if (here >= 0.0) != (there >= 0.0):
                along = here / (here - there)
                for axis in range(3):
                    step = polygon[j, axis] - polygon[i, axis]
                    spare[corners, axis] = polygon[i, axis] + along * step
                corners += 1
        count = corners
        for i in range(count):
            for axis in range(3):
                polygon[i, axis] = spare[i, axis]
    return count


@compiled()
def polygon_area(polygon: Any, count: int) -> float:
    """Return the area of a convex polygon."""
    total = NOTHING
    for i in range(1, count - 1):
        first, second = minus(polygon[i], polygon[0]), minus(polygon[i + 1], polygon[0])
        total = plus(total, cross(first, second))
    return float(0.5 * np.sqrt(dot(total, total)))


@compiled(allocates=True)
def clip_all(triangles: Any, maps: Any, areas: Any, centres: Any) -> None:
    """Clip each triangle (K, 3, 3) to its tet, maps (K, 4, 4): write the area (K,) inside, zero
    where none is, and a point (K, 3) in its middle.
    """
    polygon, spare = np.empty((_MAX_CORNERS, 3)), np.empty((_MAX_CORNERS, 3))
    for k in range(len(triangles)):
        count = clip(triangles[k], maps[k], polygon, spare)
        areas[k] = 0.0
        if count < 3:
            continue
        area = polygon_area(polygon, count)
        if area <= _MIN_AREA:
            continue
        areas[k] = area
        # Unequal weights: points in a symmetric place see each other along edges of triangles.
        for axis in range(3):
            total = weights = 0.0
            for i in range(count):
                weight = 1.0 + (_GOLDEN_RATIO * i) % 1.0
                total += weight * polygon[i, axis]
                weights += weight
            centres[k, axis] = total / weights


@compiled()
def crossing(start: Any, end: Any, triangle: Any) -> Any:
    """Return the parameter at which a segment crosses a triangle, 0 … 1, and its winding number: 1
    on the way in, -1 on the way out, 0 without a crossing.

    Möller and Trumbore, "Fast, minimum storage ray/triangle intersection", 1997.
    """
    way, a, b = minus(end, start), minus(triangle[1], triangle[0]), minus(triangle[2], triangle[0])
    p = cross(way, b)
    determinant = dot(a, p)
    if determinant == 0.0:
        return 0.0, 0.0
    s = minus(start, triangle[0])
    u = dot(s, p) / determinant
    if u < 0.0 or u > 1.0:
        return 0.0, 0.0
    q = cross(s, a)
    v = dot(way, q) / determinant
    if v < 0.0 or u + v > 1.0:
        return 0.0, 0.0
    along = dot(b, q) / determinant
    if along <= 0.0 or along >= 1.0:
        return 0.0, 0.0
    return along, 1.0 if determinant > 0.0 else -1.0


@compiled()
def measure_exits(
    starts: Any, ends: Any, triangles: Any, sign: float, along: Any, hit: Any
) -> None:
    """Write where segments first leave the solid that triangles (T, 3, 3) bound.

    Args:
        starts, ends: (R, 3) of the segments.
        sign: 1 where normals point outwards, -1 where they point inwards.
        along: (R,) parameters from 0 to 1, to be filled; infinite without an exit.
        hit: (R,) triangles there, to be filled; -1 without one.
    """
    for r in range(len(starts)):
        start, end = vector_at(starts, r), vector_at(ends, r)
        along[r], hit[r] = np.inf, -1
        for k in range(len(triangles)):
            place, winding = crossing(start, end, triangle_at(triangles, k))
            if sign * winding < 0.0 and place < along[r]:
                along[r], hit[r] = place, k


@compiled()
def winding_at(point: Any, base: Any, base_winding: float, triangles: Any, skip: int) -> float:
    """Winding number at a point, from that at another one in the same tet: it changes by one with
    each triangle on the way. One of the triangles can be left out."""
    total = base_winding
    for k in range(len(triangles)):
        if k != skip:
            _, step = crossing(base, point, triangles[k])
            total += step
    return float(total)


@compiled()
def measure_windings(
    first: Any,
    triangles: Any,
    centres: Any,
    bases: Any,
    base_windings: Any,
    samples: Any,
    windings: Any,
    in_front: Any,
) -> None:
    """Winding numbers of the samples (C, S, 3) of each cell, and just in front of each triangle.

    Args:
        first: (C + 1,) where the triangles of each cell begin among all.
        triangles, centres: (K, 3, 3), and a point (K, 3) of each in its cell.
        bases, base_windings: (C, 3), (C,) a point in each cell and the number there.
        samples: (C, S, 3).
        windings: (C, S), to be filled.
        in_front: (K,), to be filled; behind a triangle it is one more.
    """
    for c in range(len(samples)):
        members = triangles[first[c] : first[c + 1]]
        for s in range(samples.shape[1]):
            windings[c, s] = winding_at(samples[c, s], bases[c], base_windings[c], members, -1)
        for k in range(len(members)):
            centre = centres[first[c] + k]
            number = winding_at(centre, bases[c], base_windings[c], members, k)
            side = _side(bases[c], centre, members[k])
            in_front[first[c] + k] = number if side > 0.0 else number - 1.0


@compiled()
def _side(point: Any, centre: Any, triangle: Any) -> float:
    """Positive in front of the plane of a triangle."""
    return float(dot(normal_of(triangle), minus(point, centre)))


@compiled()
def normal_of(triangle: Any) -> Any:
    """Return the unit normal of a triangle."""
    x, y, z = cross(minus(triangle[1], triangle[0]), minus(triangle[2], triangle[0]))
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@compiled()
def measure(first: Any, second: Any, cutoff: float, shared: Any, distances: Any) -> None:
    """See ``triangle_distance``."""
    for k in range(len(first)):
        distances[k] = distance(triangle_at(first, k), triangle_at(second, k), cutoff, shared[k])


@compiled()
def triangle_at(corners: Any, k: int) -> Any:
    """Three corners, by their index and axis."""
    return vector_at(corners[k], 0), vector_at(corners[k], 1), vector_at(corners[k], 2)


@compiled()
def distance(first: Any, second: Any, cutoff: float, shared: Any) -> float:
    """The distance of two triangles; 0 where they cross, infinite beyond a cutoff.

    Args:
        shared: (3, 3) whether a corner of the first is one of the second, as of
            ``triangle_distance``.
    """
    if _is_beyond_plane(first, second, cutoff) or _is_beyond_plane(second, first, cutoff):
        return np.inf
    square = np.inf
    for i in range(3):
        k = (i + 1) % 3
        is_common = shared[i, 0] or shared[i, 1] or shared[i, 2]
        is_next_common = shared[k, 0] or shared[k, 1] or shared[k, 2]
        if not (is_common or is_next_common) and is_hit(share_to(first[i], first[k], second)):
            return 0.0
        if not is_common:
            square = min(square, closest(first[i], second[0], second[1], second[2])[3])
        is_common = shared[0, i] or shared[1, i] or shared[2, i]
        is_next_common = shared[0, k] or shared[1, k] or shared[2, k]
        if not (is_common or is_next_common) and is_hit(share_to(second[i], second[k], first)):
            return 0.0
        if not is_common:
            square = min(square, closest(second[i], first[0], first[1], first[2])[3])
    for i in range(3):
        k = (i + 1) % 3
        for j in range(3):
            m = (j + 1) % 3
            if shared[i, j] or shared[i, m] or shared[k, j] or shared[k, m]:
                continue
            a, b, c, d = first[i], first[k], second[j], second[m]
            offset = between_edges(a, b, c, d, code_of_edges(a, b, c, d))[0]
            square = min(square, dot(offset, offset))
    result = math.sqrt(square)
    return result if result <= cutoff else np.inf


@compiled()
def write_near(
    leaves: Any,
    ranges: Any,
    corners: Any,
    triangles: Any,
    objects: Any,
    through_own: Any,
    cutoff: float,
    unshared: Any,
    out: Any,
    distances: Any,
) -> int:
    """Writes the pairs of triangles that are no farther apart than a cutoff, as far as there is
    room; how many there are. Triangles that share a vertex are not compared.

    Args:
        leaves: (K, 2) pairs of leaves.
        ranges: (N, 2) the triangles of each node, in the order of leaves.
        corners, triangles, objects: (F, 3, 3), (F, 3) and (F,) in that order.
        through_own: (F,) whether a triangle may go through its own object.
        unshared: (3, 3) false.
        out, distances: (P, 2) and (P,), to be filled.
    """
    count = 0
    for row in range(len(leaves)):
        a, b = leaves[row, 0], leaves[row, 1]
        for i in range(ranges[a, 0], ranges[a, 1]):
            first = triangle_at(corners, i)
            for k in range(i + 1 if a == b else ranges[b, 0], ranges[b, 1]):
                if objects[i] == objects[k] and (through_own[i] or through_own[k]):
                    continue
                second = triangle_at(corners, k)
                if not boxes_overlap(first, second, cutoff) or _share_any(triangles, i, k):
                    continue
                apart = distance(first, second, cutoff, unshared)
                if apart <= cutoff:
                    if count < len(out):
                        out[count, 0], out[count, 1], distances[count] = i, k, apart
                    count += 1
    return count


@compiled()
def _share_any(triangles: Any, i: int, k: int) -> bool:
    """Whether two triangles have a vertex in common."""
    result = False
    for m in range(3):
        for n in range(3):
            result |= triangles[i, m] == triangles[k, n]
    return result


@compiled()
def boxes_overlap(first: Any, second: Any, limit: float) -> bool:
    """Whether the boxes around two triangles come within a distance."""
    result = True
    for i in range(3):
        result &= (
            min(first[0][i], first[1][i], first[2][i])
            <= max(second[0][i], second[1][i], second[2][i]) + limit
        )
        result &= (
            min(second[0][i], second[1][i], second[2][i])
            <= max(first[0][i], first[1][i], first[2][i]) + limit
        )
    return result


@compiled()
def _is_beyond_plane(first: Any, second: Any, cutoff: float) -> bool:
    """Whether all of the second triangle lies to one side of the plane of the first, beyond a
    cutoff."""
    normal = cross(minus(first[1], first[0]), minus(first[2], first[0]))
    low, high, farthest = np.inf, -np.inf, 0.0
    for i in range(3):
        offset = minus(second[i], first[0])
        height = dot(offset, normal)
        low, high = min(low, height), max(high, height)
        farthest = max(farthest, abs(offset[0]), abs(offset[1]), abs(offset[2]))
    limit = cutoff * math.sqrt(dot(normal, normal))
    # Rounding must not make a triangle of no area look far.
    limit += 1e-14 * max(abs(normal[0]), abs(normal[1]), abs(normal[2])) * farthest
    return bool(low > limit or high < -limit)


@compiled()
def share_to(p: Any, q: Any, triangle: Any) -> float:
    """Return the parameter at which the segment from p to q crosses a triangle, 0 … 1; not a number
    where it misses.
    """
    a, b, c = triangle[0], triangle[1], triangle[2]
    normal = cross(minus(b, a), minus(c, a))
    above, below = dot(minus(p, a), normal), dot(minus(q, a), normal)
    if above * below > 0.0 or above == below:
        return np.nan
    share = above / (above - below)
    point = advanced(p, share, minus(q, p))
    if (
        dot(cross(minus(b, a), minus(point, a)), normal) >= 0.0
        and dot(cross(minus(c, b), minus(point, b)), normal) >= 0.0
        and dot(cross(minus(a, c), minus(point, c)), normal) >= 0.0
    ):
        return float(share)
    return np.nan


@compiled()
def is_hit(share: float) -> bool:
    """Whether a share of a segment is a number."""
    return bool(share >= 0.0)


@compiled()
def write_hits(
    begin: Any, end: Any, corners: Any, nodes: Any, skipped: Any, out: Any, shares: Any
) -> int:
    """Writes the crossings of segments and triangles, segment by segment, as far as there is room;
    how many there are.

    Args:
        begin, end: (S, 3) of the segments.
        corners: (F, 3, 3) of triangles in the order of leaves.
        nodes: of trees, one after the other: (N,) the node after the last one below each, (N, 2)
            its triangles and (N, 6) its box.
        skipped: (S, 2) the first and the node after the last one of a tree that each segment
            passes through.
        out: (K, 2) segments and triangles, to be filled.
        shares: (K,) of the way, to be filled.
    """
    ends, ranges, boxes = nodes
    count = 0
    for s in range(len(begin)):
        p, q = vector_at(begin, s), vector_at(end, s)
        low = (min(p[0], q[0]), min(p[1], q[1]), min(p[2], q[2]))
        high = (max(p[0], q[0]), max(p[1], q[1]), max(p[2], q[2]))
        node = 0
        while node < len(ends):
            if skipped[s, 0] <= node < skipped[s, 1]:
                node = skipped[s, 1]
                continue
            is_apart = False
            for i in range(3):
                is_apart |= low[i] > boxes[node, 3 + i] or high[i] < boxes[node, i]
            if is_apart:
                node = ends[node]
                continue
            if ends[node] == node + 1:
                for k in range(ranges[node, 0], ranges[node, 1]):
                    share = share_to(p, q, triangle_at(corners, k))
                    if is_hit(share):
                        if count < len(out):
                            out[count, 0], out[count, 1], shares[count] = s, k, share
                        count += 1
            node += 1
    return count


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
