# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous collision detection: the step sizes at which pairs come too near.

A pair is four points: of two edges the first two are one, else the first is the point. For a unit
normal n, the least n·x of the one part minus the largest of the other is no more than the
distance, for any n; with the direction between the closest points it is the distance. It is thus a
lower bound that rounding of n cannot make too large (a separating axis).

Additive (Li, Kaufman and Jiang, "Codimensional incremental potential contact", ACM Transactions on
Graphics 40(4), 2021): from a lower bound of the distance follows a time in which nothing can
collide; the rest of the trajectory is examined from there. That time is the distance over the
largest relative speed, or that along a normal, if longer: the parts are convex and their corners
move linearly, so that their distance along a fixed normal is the least of linear functions of
time. Sliding or separating pairs are free at once, however near they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, shared_range
from ..math3.vectors import NOTHING, advanced, cross, dot, four_points, minus, plus, scaled

# The least separation along a normal, relative to the distance. Between surfaces that nearly
# touch, rounding rotates the difference of closest points.
TIGHT_RATIO = 0.9
# Vectors whose square is less have no direction.
TINY_SQUARE = 1e-290


@compiled()
def separation(a: Any, b: Any, c: Any, d: Any, are_edges: bool) -> Any:
    """The unit normal from the second part to the first, zero where none is known, and the
    distance along it: a lower bound of that between the parts."""
    offset = between_edges(a, b, c, d) if are_edges else from_triangle(a, b, c, d)
    normal = unit(offset)
    distance = distance_along(normal, a, b, c, d, are_edges)
    if (
        distance * distance >= TIGHT_RATIO * TIGHT_RATIO * dot(offset, offset) > 0.0
        and distance > 0.0
    ):
        return normal, distance
    return _widest(normal, distance, a, b, c, d, are_edges)


@compiled()
def distance_along(normal: Any, a: Any, b: Any, c: Any, d: Any, are_edges: bool) -> float:
    """From the second part to the first along a unit normal."""
    first, second = dot(normal, a), dot(normal, b)
    third, fourth = dot(normal, c), dot(normal, d)
    if are_edges:
        return min(first, second) - max(third, fourth)
    return first - max(second, third, fourth)


@compiled()
def _widest(normal: Any, distance: float, a: Any, b: Any, c: Any, d: Any, are_edges: bool) -> Any:
    """The best normal among one and the normals between all parts of the two parts."""
    best = normal, distance
    if are_edges:
        across = unit(cross(minus(b, a), minus(d, c)))
        best = _better(best, across, a, b, c, d, True)
        for first in (a, b):
            best = _better(best, unit(from_line(first, c, d)), a, b, c, d, True)
            best = _better(best, unit(minus(first, c)), a, b, c, d, True)
            best = _better(best, unit(minus(first, d)), a, b, c, d, True)
        for second in (c, d):
            best = _better(best, unit(from_line(second, a, b)), a, b, c, d, True)
        return best
    across = unit(cross(minus(c, b), minus(d, b)))
    best = _better(best, across, a, b, c, d, False)
    for corners in ((b, c), (c, d), (d, b)):
        best = _better(best, unit(from_line(a, corners[0], corners[1])), a, b, c, d, False)
        best = _better(best, unit(minus(a, corners[0])), a, b, c, d, False)
    return best


@compiled()
def _better(best: Any, normal: Any, a: Any, b: Any, c: Any, d: Any, are_edges: bool) -> Any:
    """The better of a normal with its distance, and another one either way."""
    if normal[0] == 0.0 and normal[1] == 0.0 and normal[2] == 0.0:
        return best
    distance = distance_along(normal, a, b, c, d, are_edges)
    back = scaled(-1.0, normal)
    opposite = distance_along(back, a, b, c, d, are_edges)
    if opposite > distance:
        normal, distance = back, opposite
    known = best[0][0] != 0.0 or best[0][1] != 0.0 or best[0][2] != 0.0
    if known and best[1] >= distance:
        return best
    return normal, distance


@compiled()
def from_triangle(p: Any, a: Any, b: Any, c: Any) -> Any:
    """A point less the closest one of a triangle.

    Source: Ericson, "Real-Time Collision Detection", 2005, section 5.1.5.
    """
    ab, ac, ap, bp, cp = minus(b, a), minus(c, a), minus(p, a), minus(p, b), minus(p, c)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return ap
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return bp
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return cp
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 > d3:
        return from_line(p, a, b)
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 > d6:
        return from_line(p, a, c)
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6 and d4 - d3 + d5 - d6 > 0.0:
        return from_line(p, b, c)
    normal = unit(cross(ab, ac))
    return scaled(dot(normal, ap), normal)


@compiled()
def between_edges(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The closest point of edge ab less that of edge cd.

    Source: Ericson, "Real-Time Collision Detection", 2005, section 5.1.9.
    """
    first, second, offset = minus(b, a), minus(d, c), minus(a, c)
    e, f, g = dot(first, first), dot(second, second), dot(first, second)
    h, i = dot(first, offset), dot(second, offset)
    square = e * f - g * g
    s = clamped((g * i - h * f) / square) if square > 0.0 else 0.0
    t = clamped((g * s + i) / f) if f > 0.0 else 0.0
    s = clamped((g * t - h) / e) if e > 0.0 else 0.0
    return advanced(advanced(offset, s, first), -t, second)


@compiled()
def from_line(p: Any, a: Any, b: Any) -> Any:
    """A point less the closest one of a line, perpendicular to it even where they are close."""
    edge, offset = minus(b, a), minus(p, a)
    square = dot(edge, edge)
    if square < TINY_SQUARE:
        return offset
    for _ in range(2):
        offset = advanced(offset, -dot(offset, edge) / square, edge)
    return offset


@compiled()
def unit(a: Any) -> Any:
    """A vector made one long; zero where it has no direction."""
    square = dot(a, a)
    if not square > TINY_SQUARE:
        return NOTHING
    return scaled(1.0 / math.sqrt(square), a)


@compiled()
def clamped(parameter: float) -> float:
    """Clamp a parameter to 0 … 1."""
    return min(max(parameter, 0.0), 1.0)


# The ratio of the distance at the start that remains in every collision.
REMAINING_DISTANCE_RATIO = 0.1
# Pairs closer than the minimum distance approach by at most this ratio.
BELOW_MIN_DISTANCE_RATIO = 0.01
# The time of impact has converged when no more than this ratio of the displacement there is left.
TOLERANCE_RATIO = 0.02
# After these, the bound found so far is the answer.
MAX_ITERATIONS = 64
# The rounding of distances along a normal, over the largest coordinate from the pair's own origin.
ROUNDING_RATIO = 16.0 * np.finfo(np.float64).eps

ORIGIN = (0.0, 0.0, 0.0)


@compiled()
def pair_step_size(
    before: Any,
    after: Any,
    are_edges: bool,
    min_distance: float,
    sufficient: float,
    remaining_ratio: float = REMAINING_DISTANCE_RATIO,
) -> float:
    """The step size that a pair can take on a linear trajectory, at most 1.

    Its distance stays above ``remaining_ratio`` of that at the start and above ``min_distance``
    (m), or if it begins below, all but ``BELOW_MIN_DISTANCE_RATIO`` of that at the start. A pair
    that touches at the start, within rounding, takes no step unless its parts stay as they are to
    each other or part.

    Args:
        before, after: four points each, x, y and z, in metres.
        sufficient: the step size from which the exact value does not matter, so that iterations
            end.
    """
    b, c, d, vb, vc, vd, speed, rounding = _relative(before, after, are_edges)
    if speed == 0.0:
        return 1.0
    time = least = tolerance = 0.0
    for iteration in range(MAX_ITERATIONS):
        at_b, at_c, at_d = advanced(b, time, vb), advanced(c, time, vc), advanced(d, time, vd)
        normal, distance = separation(ORIGIN, at_b, at_c, at_d, are_edges)
        distance -= rounding
        if distance <= 0.0 and iteration == 0:
            if speed <= rounding:
                return 1.0
            return _parting_step_size(normal, (b, c, d), (vb, vc, vd), are_edges, rounding)
        if iteration == 0:
            least = allowed_distance(distance, min_distance, remaining_ratio)
            tolerance = TOLERANCE_RATIO * (distance - least)
        elif distance - least <= tolerance:
            break
        time_along_normal = 0.0
        if normal[0] != 0.0 or normal[1] != 0.0 or normal[2] != 0.0:
            heights, rates = _along(normal, at_b, at_c, at_d), _along(normal, vb, vc, vd)
            time_along_normal = _time_along(heights, rates, are_edges, least + rounding)
        time += max((distance - least) / speed, time_along_normal, 0.0)
        if time >= sufficient:
            break
    return min(time, 1.0)


@compiled()
def distance_lower_bound(before: Any, after: Any, are_edges: bool) -> float:
    """A lower bound, in metres, of the distance of a pair anywhere on a linear trajectory."""
    b, c, d, vb, vc, vd, speed, rounding = _relative(before, after, are_edges)
    normal, distance = separation(ORIGIN, b, c, d, are_edges)
    heights, rates = _along(normal, b, c, d), _along(normal, vb, vc, vd)
    along, firsts = math.inf, 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            along = min(along, heights[i] - heights[j] + min(rates[i] - rates[j], 0.0))
    return max(along, distance - speed) - rounding


@compiled()
def _relative(before: Any, after: Any, are_edges: bool) -> Any:
    """The other three points relative to the first, their relative motion, the largest speed
    between parts, and the largest rounding error of a distance."""
    origin = before[0]
    b, c, d = minus(before[1], origin), minus(before[2], origin), minus(before[3], origin)
    va, vb = minus(after[0], before[0]), minus(after[1], before[1])
    vc, vd = minus(after[2], before[2]), minus(after[3], before[3])
    size = max(_largest(va), _largest(vb), _largest(vc), _largest(vd))
    size = max(size, _largest(b), _largest(c), _largest(d))
    # A common translation brings nothing closer.
    vb, vc, vd = minus(vb, va), minus(vc, va), minus(vd, va)
    if are_edges:
        square = max(_square(minus(vb, vc)), _square(minus(vb, vd)), _square(vc), _square(vd))
    else:
        square = max(_square(vb), _square(vc), _square(vd))
    return b, c, d, vb, vc, vd, math.sqrt(square), ROUNDING_RATIO * size


@compiled()
def relative_move(moves: Any, are_edges: bool) -> float:
    """Return a bound on the approach of two parts with given moves of their four corners, in
    metres: the largest move of a corner relative to one of the other part.
    """
    return math.sqrt(relative_square(moves, are_edges))


@compiled()
def relative_square(moves: Any, are_edges: bool) -> float:
    """Return the square of ``relative_move``."""
    most = max(_square(minus(moves[0], moves[2])), _square(minus(moves[0], moves[3])))
    if are_edges:
        return max(most, _square(minus(moves[1], moves[2])), _square(minus(moves[1], moves[3])))
    return max(most, _square(minus(moves[0], moves[1])))


@compiled()
def allowed_distance(distance: float, min_distance: float, remaining_ratio: float) -> float:
    """The distance that has to remain of one at the start, in metres."""
    if distance > min_distance:
        return max(remaining_ratio * distance, min_distance)
    return distance - BELOW_MIN_DISTANCE_RATIO * max(distance, 0.0)


@compiled()
def _time_along(heights: Any, rates: Any, are_edges: bool, least: float) -> float:
    """Return the time for which the first part stays above the second by ``least`` along a
    normal, from the heights of the four points and their rates.
    """
    time = math.inf
    firsts = 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            rate = rates[i] - rates[j]
            if rate < 0.0:
                time = min(time, (heights[i] - heights[j] - least) / -rate)
    return time


@compiled()
def _along(normal: Any, b: Any, c: Any, d: Any) -> Any:
    """The heights along a normal of the first point, which is the origin, and of three others."""
    return (0.0, dot(normal, b), dot(normal, c), dot(normal, d))


@compiled()
def _parting_step_size(
    normal: Any, corners: Any, moves: Any, are_edges: bool, rounding: float
) -> float:
    """1 for a pair in touch whose parts leave each other, along a normal or along their relative
    motion; else 0."""
    b, c, d = moves
    # The motion of the first part relative to the second one, times a positive number.
    against = plus(c, d) if are_edges else plus(b, plus(c, d))
    motion = minus(b, against) if are_edges else minus(ORIGIN, against)
    # For touching parts, rounding alone decides the sign of a normal.
    for direction in (normal, scaled(-1.0, normal), unit(motion)):
        heights = _along(direction, corners[0], corners[1], corners[2])
        rates = _along(direction, b, c, d)
        if _leave(heights, rates, are_edges, rounding):
            return 1.0
    return 0.0


@compiled()
def _leave(heights: Any, rates: Any, are_edges: bool, rounding: float) -> bool:
    """Whether the first part is above the second at the start, within rounding, and at the end."""
    firsts = 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            height = heights[i] - heights[j]
            if height < -rounding or height + rates[i] - rates[j] <= rounding:
                return False
    return True


@compiled()
def _square(a: Any) -> float:
    return dot(a, a)


@compiled()
def _largest(a: Any) -> float:
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


class CandidateStencils(NamedTuple):
    """The vertices of candidate pairs.

    Args:
        edge_edges: (E, 2) edges.
        face_vertices: (F, 2) a face and a vertex.
        edges: (e, 2) vertices.
        triangles: (f, 3) vertices.
    """

    edge_edges: Any
    face_vertices: Any
    edges: Any
    triangles: Any


@compiled(inline=True)
def stencil(stencils: Any, k: int) -> Any:
    """The four vertices of a pair: of the first edge and the second, or the vertex and the face's;
    and whether it is of edges. Faces come after edges."""
    if k < len(stencils.edge_edges):
        first, second = stencils.edge_edges[k, 0], stencils.edge_edges[k, 1]
        edges = stencils.edges
        return edges[first, 0], edges[first, 1], edges[second, 0], edges[second, 1], True
    row = k - len(stencils.edge_edges)
    face, triangles = stencils.face_vertices[row, 0], stencils.triangles
    vertex = stencils.face_vertices[row, 1]
    return vertex, triangles[face, 0], triangles[face, 1], triangles[face, 2], False


@compiled()
def closing_bound(m0: Any, m1: Any, m2: Any, m3: Any) -> float:
    """Return a bound on the approach of a pair under moves of its four points, in metres."""
    most = 0.0
    for move in (m1, m2, m3):
        apart = minus(move, m0)
        most = max(most, dot(apart, apart))
    # Either part may turn the other way.
    return 2.0 * math.sqrt(most)


@compiled(parallel=True)
def step_sizes(
    stencils: Any, before: Any, after: Any, object_of: Any, min_distances: Any, out: Any
) -> None:
    """(C,) the least step size of each of C chunks of the pairs.

    The result of a pair does not depend on others, except that results above a smaller one may
    have any size above it. The least of all is the same for any division of the work.

    Args:
        object_of: (V,) objects of vertices.
        min_distances: (O, O) below which no step brings two objects, in metres.
    """
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for chunk in shared_range(len(out)):
        least = 1.0
        for k in range(chunk, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            start, end = four_points(before, a, b, c, d), four_points(after, a, b, c, d)
            min_distance = min_distances[object_of[a], object_of[d]]
            least = min(least, pair_step_size(start, end, are_edges, min_distance, least))
        out[chunk] = least


@compiled(parallel=True)
def distances(stencils: Any, points: Any, out: Any) -> None:
    """Write the (E + F,) distances of pairs in metres, or less by a rounding error."""
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        corners = four_points(points, a, b, c, d)
        out[k] = separation(corners[0], corners[1], corners[2], corners[3], are_edges)[1]


@compiled()
def vertex_min_distances(stencils: Any, pair_distances: Any, out: Any) -> None:
    """Write the (V,) least distances of the pairs of each vertex; unchanged without any."""
    for k in range(len(pair_distances)):
        a, b, c, d, _ = stencil(stencils, k)
        for vertex in (a, b, c, d):
            out[vertex] = min(out[vertex], pair_distances[k])
