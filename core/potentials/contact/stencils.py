# SPDX-License-Identifier: GPL-3.0-or-later
"""Closest points, normal Jacobian and mollifier of collisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...compiled import compiled
from ...kernels.closest_features import CROSSING, INSIDE, between_edges, from_plane
from ...kernels.collision_keys import POINT_EDGE, POINT_FACE, POINTS
from ...kernels.surface_barrier import mollifier_of, squared_cross
from ...kernels.vectors import advanced, cross, dot, four_points, minus, scaled
from .normal_collisions import NormalCollisions
from .topology import Points, Values

ZERO = (0.0, 0.0, 0.0)


# One collision


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
        return ZERO, advanced(u, 1.0, v), scaled(-1.0, u), scaled(-1.0, v)
    if feature == POINT_EDGE:
        u = edge_normal_jacobian(x1, x2)
        return ZERO, u, scaled(-1.0, u), ZERO
    u, v = ZERO, ZERO
    if feature == CROSSING:
        u, v = plane_normal_jacobians(minus(x1, x0), minus(x3, x2))
    elif feature < CROSSING and feature // 3 == INSIDE:
        u = edge_normal_jacobian(x0, x1)
    elif feature < CROSSING and feature % 3 == INSIDE:
        v = edge_normal_jacobian(x2, x3)
    return u, scaled(-1.0, u), v, scaled(-1.0, v)


# Over arrays


@compiled()
def _evaluate(
    points: Any,
    vertices: Any,
    features: Any,
    thresholds: Any,
    differences: Any,
    coefficients: Any,
    mollifiers: Any,
) -> None:
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
def _fill_normal_jacobians(points: Any, vertices: Any, features: Any, jacobians: Any) -> None:
    for k in range(len(features)):
        x0, x1, x2, x3 = four_points(
            points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        )
        rows = normal_jacobian_of(features[k], x0, x1, x2, x3)
        for i in range(3):
            jacobians[k, 0, i], jacobians[k, 1, i] = rows[0][i], rows[1][i]
            jacobians[k, 2, i], jacobians[k, 3, i] = rows[2][i], rows[3][i]


@dataclass(frozen=True, eq=False)
class Stencils:
    """Collisions where their vertices are now: each of two closest points, whose difference is
    Σ c_i x_i.

    Args:
        collisions: K of them.
        points: (V, 3) in metres.
        differences: (K, 3) in metres.
        coefficients: (K, 4) c, zero for vertices that are repeated.
        mollifiers: (K,) 1, but less for edges that are almost parallel, whose closest points are
            ill-defined.
    """

    collisions: NormalCollisions
    points: Points
    differences: Points
    coefficients: Values
    mollifiers: Values

    @staticmethod
    def of(collisions: NormalCollisions, points: Points) -> Stencils:
        """At (V, 3) points, where features may be closest that were not when they were found."""
        points, count = np.ascontiguousarray(points), len(collisions)
        differences, coefficients = np.empty((count, 3)), np.empty((count, 4))
        mollifiers = np.empty(count)
        own = collisions.vertices, collisions.features, collisions.thresholds
        _evaluate(points, *own, differences, coefficients, mollifiers)
        return Stencils(collisions, points, differences, coefficients, mollifiers)

    def where(self, kept: NDArray[np.bool_]) -> Stencils:
        """Those of (K,) that are kept."""
        return Stencils(
            self.collisions.where(kept),
            self.points,
            self.differences[kept],
            self.coefficients[kept],
            self.mollifiers[kept],
        )

    def __len__(self) -> int:
        return len(self.collisions)

    @property
    def weights(self) -> Values:
        """(K,) weights of collisions times mollifiers."""
        return self.collisions.weights * self.mollifiers

    @cached_property
    def distances(self) -> Values:
        """(K,) in metres."""
        return np.asarray(np.sqrt(np.einsum("ki,ki->k", self.differences, self.differences)))

    @cached_property
    def normals(self) -> Points:
        """(K, 3) of length one, along the differences."""
        return self.differences / self.distances[:, None]

    @cached_property
    def normal_jacobians(self) -> Points:
        """(K, 4, 3) w, in 1/m: as vertices go by δx_i, the normal n turns by Σ w_i n·δx_i in the
        directions that the parts have. Between two points it is zero."""
        jacobians, own = np.empty((len(self), 4, 3)), self.collisions
        _fill_normal_jacobians(self.points, own.vertices, own.features, jacobians)
        return jacobians
