# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the closest points of triangles, some of which may have no area."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import place_on_edge
from .vectors import advanced, cross, dot, minus, vector_at


@compiled()
def project(points: Any, corners: Any, weights: Any, squared: Any) -> None:
    """See ``closest_in_triangle``."""
    for k in range(len(points)):
        p, a = vector_at(points, k), vector_at(corners[k], 0)
        b, c = vector_at(corners[k], 1), vector_at(corners[k], 2)
        weights[k, 0], weights[k, 1], weights[k, 2], squared[k] = closest(p, a, b, c)


@compiled()
def closest(p: Any, a: Any, b: Any, c: Any) -> Any:
    """What the corners of the triangle abc count in its point closest to p, and how far that is,
    squared."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    normal = cross(ab, ac)
    size = dot(normal, normal)
    if size > 0.0:
        second, third = dot(cross(ap, ac), normal) / size, dot(cross(ab, ap), normal) / size
        if second >= 0.0 and third >= 0.0 and second + third <= 1.0:
            beyond = dot(ap, normal)
            return 1.0 - second - third, second, third, beyond * beyond / size
    t, on_ab = _on_edge(p, a, b)
    nearest, found = (1.0 - t, t, 0.0), on_ab
    t, on_bc = _on_edge(p, b, c)
    if on_bc < found:
        nearest, found = (0.0, 1.0 - t, t), on_bc
    t, on_ca = _on_edge(p, c, a)
    if on_ca < found:
        nearest, found = (t, 0.0, 1.0 - t), on_ca
    return nearest[0], nearest[1], nearest[2], found


@compiled()
def _on_edge(p: Any, a: Any, b: Any) -> Any:
    """The parameter of the point of the edge ab closest to p, and how far that is, squared."""
    t = place_on_edge(p, a, b)[1]
    offset = advanced(minus(p, a), -t, minus(b, a))
    return t, dot(offset, offset)
