# SPDX-License-Identifier: GPL-3.0-or-later
"""The closest points of a pair as weighted sums of its four vertices."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import (
    FACE_INSIDE,
    between_edges,
    code_of_edges,
    from_plane,
    place_on_edge,
    place_on_face,
)
from .vectors import advanced, minus


@compiled()
def closest_points(are_edges: bool, x: Any) -> Any:
    """The difference of a pair's closest points at four points x, what each counts in it, and where
    they are."""
    if are_edges:
        return _edge_edge(x[0], x[1], x[2], x[3])
    return _face_vertex(x[0], x[1], x[2], x[3])


@compiled()
def _edge_edge(x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """The closest point of the edge x0 x1 less that of x2 x3, what each vertex counts in it, and
    the code of where they are."""
    code = code_of_edges(x0, x1, x2, x3)
    difference, s, t = between_edges(x0, x1, x2, x3, code)
    return difference, 1.0 - s, s, t - 1.0, -t, code


@compiled()
def _face_vertex(p: Any, a: Any, b: Any, c: Any) -> Any:
    """p less the closest point of the triangle abc, what each vertex counts in it, and where it
    is."""
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
