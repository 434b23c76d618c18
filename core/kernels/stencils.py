# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the closest points, normal Jacobian and mollifier of collisions."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import CROSSING, INSIDE, between_edges, from_plane
from .collision_keys import POINT_EDGE, POINT_FACE, POINTS
from .surface_barrier import mollifier_of, squared_cross
from .vectors import NOTHING, advanced, cross, dot, four_points, minus, scaled


@compiled()
def difference_of(feature: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """The closest point of the first part less that of the other, and the coefficient of each
    vertex in it."""
    if feature == POINTS:
        return minus(x0, x1), 1.0, -1.0, 0.0, 0.0
    if feature == POINT_EDGE:
        t = dot(minus(x0, x1), minus(x2, x1)) / dot(minus(x2, x1), minus(x2, x1))
        difference = advanced(minus(x0, x1), -t, minus(x2, x1))
        return difference, 1.0, t - 1.0, -t, 0.0
    if feature == POINT_FACE:
        difference, s, t = from_plane(x0, x1, x2, x3)
        return difference, 1.0, s + t - 1.0, -s, -t
    difference, s, t = between_edges(x0, x1, x2, x3, feature)
    return difference, 1.0 - s, s, t - 1.0, -t


@compiled()
def edge_normal_jacobian(a: Any, b: Any) -> Any:
    """Of the vertex a of the edge ab, in 1/m; that of b is its negative."""
    along = minus(b, a)
    return scaled(1.0 / dot(along, along), along)


@compiled()
def plane_normal_jacobians(first: Any, second: Any) -> Any:
    """In the plane of two edges what is across the second and has a product of 1 with the first,
    and the other way round."""
    a, b, c = dot(first, first), dot(first, second), dot(second, second)
    normal = cross(first, second)
    inverse = 1.0 / dot(normal, normal)
    one = minus(scaled(c, first), scaled(b, second))
    other = minus(scaled(a, second), scaled(b, first))
    return scaled(inverse, one), scaled(inverse, other)


@compiled()
def normal_jacobian_of(feature: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """For each vertex w, in 1/m: as vertices go by δx, the unit normal n turns by Σ w n·δx."""
    if feature == POINT_FACE:
        u, v = plane_normal_jacobians(minus(x2, x1), minus(x3, x1))
        return NOTHING, advanced(u, 1.0, v), scaled(-1.0, u), scaled(-1.0, v)
    if feature == POINT_EDGE:
        u = edge_normal_jacobian(x1, x2)
        return NOTHING, u, scaled(-1.0, u), NOTHING
    u, v = NOTHING, NOTHING
    if feature == CROSSING:
        u, v = plane_normal_jacobians(minus(x1, x0), minus(x3, x2))
    elif feature < CROSSING and feature // 3 == INSIDE:
        u = edge_normal_jacobian(x0, x1)
    elif feature < CROSSING and feature % 3 == INSIDE:
        v = edge_normal_jacobian(x2, x3)
    return u, scaled(-1.0, u), v, scaled(-1.0, v)


@compiled()
def evaluate_stencils(
    points: Any,
    vertices: Any,
    features: Any,
    thresholds: Any,
    differences: Any,
    coefficients: Any,
    mollifiers: Any,
) -> None:
    """Fills in what ``Stencils`` has of each collision."""
    for k in range(len(features)):
        x0, x1, x2, x3 = four_points(
            points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        )
        difference, c0, c1, c2, c3 = difference_of(features[k], x0, x1, x2, x3)
        for i in range(3):
            differences[k, i] = difference[i]
        coefficients[k, 0], coefficients[k, 1] = c0, c1
        coefficients[k, 2], coefficients[k, 3] = c2, c3
        mollifiers[k] = 1.0
        if features[k] <= CROSSING:
            mollifiers[k] = mollifier_of(squared_cross(x0, x1, x2, x3)[0], thresholds[k])[0]


@compiled()
def fill_normal_jacobians(points: Any, vertices: Any, features: Any, jacobians: Any) -> None:
    """(K, 4, 3) as ``Stencils`` has them."""
    for k in range(len(features)):
        x0, x1, x2, x3 = four_points(
            points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        )
        rows = normal_jacobian_of(features[k], x0, x1, x2, x3)
        for i in range(3):
            jacobians[k, 0, i], jacobians[k, 1, i] = rows[0][i], rows[1][i]
            jacobians[k, 2, i], jacobians[k, 3, i] = rows[2][i], rows[3][i]
