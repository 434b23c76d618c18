# SPDX-License-Identifier: GPL-3.0-or-later
"""The closest points of vertices, edges and triangles, and their derivatives.

The closest point of an edge is at its ``START``, at its ``END``, or ``INSIDE``. For two edges these
places are the digits of a code to the base of three, the first edge's first. The closest point of a
triangle is a corner (0 to 2), inside an edge (3 to 5, the first from corner 0 to corner 1), or
inside the face (6).

Their difference D = Σ c x is orthogonal to the directions u = ∂D/∂s and v = ∂D/∂t in which they
can move, so that the changes of parameters follow from D·u = D·v = 0.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .vectors import advanced, cross, dot, minus, scaled, vector_at

START, END, INSIDE = 0, 1, 2
#: The code of two edges that cross.
CROSSING = 3 * INSIDE + INSIDE
FACE_INSIDE = 6
# The least squared sine of crossing edges; below it, rounding decides.
PARALLEL = 1e-16


@compiled()
def place_on_edge(p: Any, a: Any, b: Any) -> Any:
    """Return the code of the place on ab closest to p, and its parameter, 0 at a and 1 at b."""
    along = minus(b, a)
    square, projection = dot(along, along), dot(minus(p, a), along)
    if not projection > 0.0:
        return START, 0.0
    if projection >= square:
        return END, 1.0
    return INSIDE, projection / square


@compiled()
def from_edge(p: Any, a: Any, b: Any) -> Any:
    """The point p less the closest point of the edge ab, and the place of that."""
    place, parameter = place_on_edge(p, a, b)
    if place == END:
        return minus(p, b), place
    return advanced(minus(p, a), -parameter, minus(b, a)), place


@compiled()
def code_of_edges(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the code of the closest points of the edges ab and cd (Ericson, "Real-Time Collision
    Detection", 2005, section 5.1.9).
    """
    first, second = minus(b, a), minus(d, c)
    normal = cross(first, second)
    size, square, other = dot(normal, normal), dot(first, first), dot(second, second)
    place, parameter = START, 0.0
    if size > PARALLEL * square * other:
        projection = dot(cross(minus(c, a), second), normal)
        if projection >= size:
            place, parameter = END, 1.0
        elif projection > 0.0:
            place, parameter = INSIDE, projection / size
    projection = parameter * dot(first, second) - dot(minus(c, a), second)
    if projection <= 0.0:
        return 3 * place_on_edge(c, a, b)[0] + START
    if projection >= other:
        return 3 * place_on_edge(d, a, b)[0] + END
    return 3 * place + INSIDE


@compiled()
def crossing(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The difference of the closest points of the lines ab and cd, and their parameters."""
    first, second, offset = minus(b, a), minus(d, c), minus(a, c)
    normal = cross(first, second)
    size = dot(normal, normal)
    s = dot(cross(second, offset), normal) / size
    t = dot(cross(first, offset), normal) / size
    return scaled(dot(offset, normal) / size, normal), s, t


@compiled()
def between_edges(a: Any, b: Any, c: Any, d: Any, code: Any) -> Any:
    """The closest point of the edge ab less that of cd, and their parameters."""
    on_first, on_second = code // 3, code % 3
    if on_first == INSIDE and on_second == INSIDE:
        return crossing(a, b, c, d)
    if on_first == INSIDE:
        end = c if on_second == START else d
        s = place_on_edge(end, a, b)[1]
        return advanced(minus(a, end), s, minus(b, a)), s, float(on_second)
    end = a if on_first == START else b
    if on_second == INSIDE:
        t = place_on_edge(end, c, d)[1]
        return advanced(minus(end, c), -t, minus(d, c)), float(on_first), t
    other = c if on_second == START else d
    return minus(end, other), float(on_first), float(on_second)


@compiled()
def place_on_face(p: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the code of the point of the triangle abc closest to p (Ericson, section 5.1.5)."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 0
    bp = minus(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 1
    if d1 * d4 - d3 * d2 <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return 3
    cp = minus(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return 2
    if d5 * d2 - d1 * d6 <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return 5
    if d3 * d6 - d5 * d4 <= 0.0 and d4 >= d3 and d5 >= d6:
        return 4
    return FACE_INSIDE


@compiled()
def from_plane(p: Any, a: Any, b: Any, c: Any) -> Any:
    """The point p less the closest point of the plane abc, and its barycentric coordinates of b and
    c."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    normal = cross(ab, ac)
    size = dot(normal, normal)
    s = dot(cross(ap, ac), normal) / size
    t = dot(cross(ab, ap), normal) / size
    return scaled(dot(ap, normal) / size, normal), s, t


@compiled()
def from_face(p: Any, a: Any, b: Any, c: Any) -> Any:
    """The point p less the closest point of the triangle abc, and the place of that."""
    place = place_on_face(p, a, b, c)
    if place == FACE_INSIDE:
        return from_plane(p, a, b, c)[0], place
    if place >= 3:
        start = a if place == 3 else (b if place == 4 else c)
        end = b if place == 3 else (c if place == 4 else a)
        return from_edge(p, start, end)[0], place
    return minus(p, a if place == 0 else (b if place == 1 else c)), place


@compiled()
def closest_points(are_edges: bool, x: Any) -> Any:
    """The difference of a pair's closest points at four points x, the coefficient of each point in
    it, and the code of their place."""
    if are_edges:
        return _edge_edge(x[0], x[1], x[2], x[3])
    return _face_vertex(x[0], x[1], x[2], x[3])


@compiled()
def _edge_edge(x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """The closest point of the edge x0 x1 less that of x2 x3, the coefficient of each vertex in it,
    and the code of their place."""
    code = code_of_edges(x0, x1, x2, x3)
    difference, s, t = between_edges(x0, x1, x2, x3, code)
    return difference, 1.0 - s, s, t - 1.0, -t, code


@compiled()
def _face_vertex(p: Any, a: Any, b: Any, c: Any) -> Any:
    """The point p less the closest point of the triangle abc, the coefficient of each vertex in it,
    and the code of its place."""
    place = place_on_face(p, a, b, c)
    if place == FACE_INSIDE:
        difference, s, t = from_plane(p, a, b, c)
        return difference, 1.0, s + t - 1.0, -s, -t, place
    if place == 3:
        t = place_on_edge(p, a, b)[1]
        return advanced(minus(p, a), -t, minus(b, a)), 1.0, t - 1.0, -t, 0.0, place
    if place == 4:
        t = place_on_edge(p, b, c)[1]
        return advanced(minus(p, b), -t, minus(c, b)), 1.0, 0.0, t - 1.0, -t, place
    if place == 5:
        t = place_on_edge(p, c, a)[1]
        return advanced(minus(p, c), -t, minus(a, c)), 1.0, -t, 0.0, t - 1.0, place
    if place == 0:
        return minus(p, a), 1.0, -1.0, 0.0, 0.0, place
    if place == 1:
        return minus(p, b), 1.0, 0.0, -1.0, 0.0, place
    return minus(p, c), 1.0, 0.0, 0.0, -1.0, place


@compiled()
def project(points: Any, corners: Any, weights: Any, squared: Any) -> None:
    """See ``closest_in_triangle``."""
    for k in range(len(points)):
        p, a = vector_at(points, k), vector_at(corners[k], 0)
        b, c = vector_at(corners[k], 1), vector_at(corners[k], 2)
        weights[k, 0], weights[k, 1], weights[k, 2], squared[k] = closest(p, a, b, c)


@compiled()
def closest(p: Any, a: Any, b: Any, c: Any) -> Any:
    """Return the barycentric weights of the triangle abc's point closest to p, and its squared
    distance.
    """
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    normal = cross(ab, ac)
    size = dot(normal, normal)
    if size > 0.0:
        second, third = dot(cross(ap, ac), normal) / size, dot(cross(ab, ap), normal) / size
        if second >= 0.0 and third >= 0.0 and second + third <= 1.0:
            beyond = dot(ap, normal)
            return 1.0 - second - third, second, third, beyond * beyond / size
    t, on_ab = _on_edge(p, a, b)
    nearest, least = (1.0 - t, t, 0.0), on_ab
    t, on_bc = _on_edge(p, b, c)
    if on_bc < least:
        nearest, least = (0.0, 1.0 - t, t), on_bc
    t, on_ca = _on_edge(p, c, a)
    if on_ca < least:
        nearest, least = (t, 0.0, 1.0 - t), on_ca
    return nearest[0], nearest[1], nearest[2], least


@compiled()
def _on_edge(p: Any, a: Any, b: Any) -> Any:
    """The parameter of the point of the edge ab closest to p, and its squared distance."""
    t = place_on_edge(p, a, b)[1]
    offset = advanced(minus(p, a), -t, minus(b, a))
    return t, dot(offset, offset)
