# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy that keeps surfaces apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InstabilityError
from .curvature import distance_squares
from .pairs import Pairs, Values
from .squares import Squares
from .surface import CollisionSurface, Points
from .toolkit import toolkit

# The curvature at a smaller share of the distance at which surfaces push is no number any more.
NOTHING = 1e-75


class ContactBarrier:
    """Σ w b(d) over all pairs of a point and a triangle and of two edges, d their distance.

    ``original``: b = −κ (d² − d̂²)² ln(d²/d̂²) and w counts equal pairs (Li et al., "Incremental
    Potential Contact", ACM Transactions on Graphics 39(4), 2020, equation 6 on squared distances).

    ``convergent``: b = −κ d̂ (d²/d̂² − 1)² ln(d²/d̂²), and w is an area, negative where a pair would
    be counted twice (Li et al., "Convergent Incremental Potential Contact", 2023,
    arXiv:2307.15908).

    Args:
        surface: what touches.
        distance: d̂ in metres.
        stiffness: κ in J/m⁴ for the original formulation, in Pa for the convergent one.
        by_area: whether it is the convergent one.
    """

    def __init__(
        self, surface: CollisionSurface, distance: float, stiffness: float, by_area: bool
    ) -> None:
        self._surface, self.distance, self._by_area = surface, distance, by_area
        self.stiffness = stiffness

    @property
    def stiffness(self) -> float:
        """κ."""
        return self._stiffness

    @stiffness.setter
    def stiffness(self, value: float) -> None:
        self._stiffness = value
        self.potential = toolkit().BarrierPotential(self.distance, value, self._by_area)

    def force(self, distances: Values) -> Values:
        """(K,) −b'(d) of pairs of weight one at (K,) distances in metres, in newtons, or for the
        convergent formulation in newtons a square metre."""
        logarithm, ratio, gap = self._terms(distances)
        slope = gap * (2.0 * logarithm + ratio)
        return self._scale() * slope * 2.0 * distances / self.distance**2

    def curvature(self, distances: Values) -> Values:
        """(K,) b''(d) of the same, in N/m, or in N/m a square metre; nowhere negative."""
        logarithm, ratio, gap = self._terms(distances)
        bent = 2.0 * logarithm + ratio * (4.0 - ratio)
        total = -2.0 * gap * (2.0 * logarithm + ratio) - 4.0 * (gap + 1.0) * bent
        return self._scale() * np.maximum(total, 0.0) / self.distance**2

    def _terms(self, distances: Values) -> tuple[Values, Values, Values]:
        """(K,) ln q, (q − 1) / q and q − 1 for q = d²/d̂², at most 1."""
        squares = np.minimum((distances / self.distance) ** 2, 1.0)
        gap = squares - 1.0
        return np.log(squares), gap / squares, gap

    def _scale(self) -> float:
        """Of the energy in its formula."""
        return self._stiffness * (self.distance if self._by_area else self.distance**4)

    def energy(self, collisions: Any, points: Points) -> float:
        """In joules, at (V, 3) points."""
        return float(self.potential(collisions, self._surface.mesh, points))

    def gradient(self, collisions: Any, points: Points) -> Points:
        """(V, 3) in newtons."""
        flat = self.potential.gradient(collisions, self._surface.mesh, points)
        return np.asarray(flat).reshape(-1, 3)

    def squares(self, pairs: Pairs, points: Points) -> Squares:
        """A second derivative at (V, 3) points that is positive semi-definite, and not less than
        that of each pair; how edges fade out as they become parallel is not in it."""
        distances = np.linalg.norm(pairs.differences(points), axis=1)
        if not (distances > NOTHING * self.distance).all():
            raise InstabilityError(
                f"{', '.join(self._surface.names)}: surfaces came closer than numbers can tell "
                "apart. Use more substeps, a larger contact distance, or slower motions."
            )
        # Where the weight is negative, that of the pair is not positive anywhere.
        acting = pairs.weights > 0.0
        pairs, distances = pairs.where(acting), distances[acting]
        forces = pairs.weights * self.force(distances)
        return distance_squares(pairs, points, forces, pairs.weights * self.curvature(distances))
