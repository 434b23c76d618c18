# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy that keeps surfaces apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled import compiled
from ...errors import InstabilityError
from ...kernels.closest_features import CROSSING
from ...kernels.vectors import dot, four_points, scaled, vector_at
from .curvature import distance_squares
from .squares import Squares
from .stencils import Stencils, mollifier_of, squared_cross
from .surface import CollisionSurface
from .topology import Points, Values

# The curvature at a smaller share of the distance at which surfaces push is no number any more.
NOTHING = 1e-75


class ContactBarrier:
    """Σ w m b(d) over collisions, d the distance of their closest points and m their mollifier.

    ``original``: b = −κ (d² − d̂²)² ln(d²/d̂²) and w counts equal pairs (Li et al., "Incremental
    Potential Contact", ACM Transactions on Graphics 39(4), 2020, equation 6 on squared distances).

    ``convergent``: b = −κ d̂ (d²/d̂² − 1)² ln(d²/d̂²), and w is an area, negative where a pair would
    be counted twice (Li et al., "Convergent Incremental Potential Contact", 2023,
    arXiv:2307.15908).

    Args:
        surface: what touches.
        stiffness: κ of every two objects, (O, O), or of all: in J/m⁴ for the original formulation,
            in Pa for the convergent one.
        by_area: whether it is the convergent one.
    """

    def __init__(self, surface: CollisionSurface, stiffness: float | Values, by_area: bool) -> None:
        self._names, self._by_area = surface.names, by_area
        #: κ.
        self.stiffness = stiffness

    def forces(self, stencils: Stencils) -> Values:
        """(K,) −w m b'(d) between the parts, in newtons; negative where the weight is."""
        logarithm, ratio, gap = _terms(stencils)
        slope = gap * (2.0 * logarithm + ratio) * 2.0 * stencils.distances
        return stencils.weights * self._scales(stencils) * slope / _squared_reach(stencils)

    def curvatures(self, stencils: Stencils) -> Values:
        """(K,) w m b''(d) in N/m; b'' is nowhere negative."""
        logarithm, ratio, gap = _terms(stencils)
        bent = 2.0 * logarithm + ratio * (4.0 - ratio)
        total = -2.0 * gap * (2.0 * logarithm + ratio) - 4.0 * (gap + 1.0) * bent
        scales = stencils.weights * self._scales(stencils)
        return scales * np.maximum(total, 0.0) / _squared_reach(stencils)

    def _scales(self, stencils: Stencils) -> Values:
        """(K,) in J/m² or J: what −(q − 1)² ln q is multiplied by, q = d²/d̂²."""
        reach, stiffness = stencils.collisions.distances, self.stiffness
        if isinstance(stiffness, np.ndarray):
            stiffness = stiffness[tuple(stencils.collisions.objects.T)]
        return stiffness * (reach if self._by_area else reach**4)

    def energy(self, stencils: Stencils) -> float:
        """In joules."""
        weights = stencils.weights * self._scales(stencils)
        squares = stencils.distances**2 / _squared_reach(stencils)
        return float(_sum(squares, weights))

    def gradient(self, stencils: Stencils) -> Points:
        """(V, 3) in newtons."""
        out, collisions = np.zeros_like(stencils.points), stencils.collisions
        _add_gradient(
            stencils.points,
            collisions.vertices,
            collisions.features,
            collisions.thresholds,
            collisions.weights * self._scales(stencils),
            _squared_reach(stencils),
            stencils.differences,
            stencils.coefficients,
            out,
        )
        return out

    def squares(self, stencils: Stencils) -> Squares:
        """A second derivative that is positive semi-definite, and not less than that of each
        collision; how edges fade out as they become parallel is not in it."""
        distances = stencils.distances
        if not (distances > NOTHING * stencils.collisions.distances).all():
            raise InstabilityError(
                f"{', '.join(self._names)}: surfaces came closer than numbers can tell "
                "apart. Use more substeps, a larger contact distance, or slower motions."
            )
        # Where the weight is negative, that of the collision is not positive anywhere.
        acting = stencils.where(stencils.collisions.weights > 0.0)
        return distance_squares(acting, self.forces(acting), self.curvatures(acting))


def _terms(stencils: Stencils) -> tuple[Values, Values, Values]:
    """(K,) ln q, (q − 1) / q and q − 1 for q = d²/d̂², at most 1."""
    squares = np.minimum(stencils.distances**2 / _squared_reach(stencils), 1.0)
    gap = squares - 1.0
    return np.log(squares), gap / squares, gap


def _squared_reach(stencils: Stencils) -> Values:
    return np.asarray(stencils.collisions.distances**2)


@compiled()
def barrier_of(square: Any) -> Any:
    """−(q − 1)² ln q of q = d²/d̂², and its slope in q; both 0 from 1 on."""
    if square >= 1.0:
        return 0.0, 0.0
    if not square > 0.0:
        return math.inf, -math.inf
    gap, logarithm = square - 1.0, math.log(square)
    return -gap * gap * logarithm, -gap * (2.0 * logarithm + gap / square)


@compiled()
def _sum(squares: Any, weights: Any) -> Any:
    total = 0.0
    for k in range(len(squares)):
        total += weights[k] * barrier_of(squares[k])[0]
    return total


@compiled()
def _add(out: Any, vertex: Any, factor: Any, push: Any) -> None:
    for i in range(3):
        out[vertex, i] += factor * push[i]


@compiled()
def _add_gradient(
    points: Any,
    vertices: Any,
    features: Any,
    thresholds: Any,
    weights: Any,
    squared_reach: Any,
    differences: Any,
    coefficients: Any,
    out: Any,
) -> None:
    for k in range(len(weights)):
        difference = vector_at(differences, k)
        value, slope = barrier_of(dot(difference, difference) / squared_reach[k])
        mollifier, fading, along, other = 1.0, 0.0, difference, difference
        if features[k] <= CROSSING:
            x0, x1, x2, x3 = four_points(
                points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
            )
            square, along, other = squared_cross(x0, x1, x2, x3)
            mollifier, fading = mollifier_of(square, thresholds[k])
        push = scaled(2.0 * weights[k] * mollifier * slope / squared_reach[k], difference)
        for i in range(4):
            _add(out, vertices[k, i], coefficients[k, i], push)
        if fading > 0.0:
            turn = 2.0 * weights[k] * value * fading
            _add(out, vertices[k, 0], -turn, along)
            _add(out, vertices[k, 1], turn, along)
            _add(out, vertices[k, 2], -turn, other)
            _add(out, vertices[k, 3], turn, other)
