# SPDX-License-Identifier: GPL-3.0-or-later
"""A lower bound of the distance of a point and a triangle, or of two edges, for the kernels over
pairs.

A pair is four points: of two edges the first two are one, else the first is the point. For a unit
normal n, the least n·x of the one part minus the largest of the other is no more than the distance,
whatever n is; with the direction between the closest points it is the distance. So it is a lower
bound that rounding of n cannot make too large (a separating axis).
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from .vectors import NOTHING, advanced, cross, dot, minus, scaled

# A normal along which less than this share of the distance lies between the parts is not good
# enough: where surfaces all but touch, rounding turns the difference of closest points.
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
    """The best of a normal and those of all parts of parts."""
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
    """Between 0 and 1."""
    return min(max(parameter, 0.0), 1.0)
