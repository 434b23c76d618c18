# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy that keeps surfaces apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InstabilityError
from .surface import CollisionSurface, Points
from .toolkit import toolkit


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

    def force(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,) −b'(d) of pairs of weight one at (K,) distances in metres, in newtons, or for the
        convergent formulation in newtons a square metre."""
        squares, reach = distances * distances, self.distance * self.distance
        gap = np.minimum(squares / reach - 1.0, 0.0)
        logarithm = np.log(np.minimum(squares / reach, 1.0))
        slope = gap * (2.0 * logarithm + gap / (gap + 1.0)) * 2.0 * distances / reach
        return self._stiffness * (self.distance if self._by_area else reach * reach) * slope

    def energy(self, collisions: Any, points: Points) -> float:
        """In joules, at (V, 3) points."""
        return float(self.potential(collisions, self._surface.mesh, points))

    def gradient(self, collisions: Any, points: Points) -> Points:
        """(V, 3) in newtons."""
        flat = self.potential.gradient(collisions, self._surface.mesh, points)
        return np.asarray(flat).reshape(-1, 3)

    def hessian(self, collisions: Any, points: Points) -> Any:
        """(3V, 3V) sparse, in N/m; projected pair by pair to be positive semi-definite."""
        try:
            return self.potential.hessian(collisions, self._surface.mesh, points, toolkit().CLAMP)
        except RuntimeError as error:
            raise InstabilityError(
                f"{', '.join(self._surface.names)}: surfaces came closer than numbers can tell "
                "apart. Use more substeps, a larger contact distance, or slower motions."
            ) from error
