# SPDX-License-Identifier: GPL-3.0-or-later
"""The energy that keeps surfaces apart."""

from __future__ import annotations

import numpy as np

from ...errors import InstabilityError
from ...kernels.surface_barrier import add_barrier_gradient, barrier_sum
from .distance_hessian import distance_hessian_factors
from .hessian_factors import HessianFactors
from .stencils import Stencils
from .surface import CollisionSurface
from .topology import Points, Values

# Below this ratio of the activation distance the second derivative overflows.
MIN_DISTANCE_RATIO = 1e-75


class ContactBarrier:
    """Σ w m b(d) over collisions, d the distance of their closest points and m their mollifier.

    ``original``: b = −κ (d² − d̂²)² ln(d²/d̂²) and w counts equal pairs (Li et al., "Incremental
    Potential Contact", ACM Transactions on Graphics 39(4), 2020, equation 6 on squared distances).

    ``convergent``: b = −κ d̂ (d²/d̂² − 1)² ln(d²/d̂²), and w is an area, negative where a pair would
    be counted twice (Li et al., "Convergent Incremental Potential Contact", 2023,
    arXiv:2307.15908).

    Args:
        surface: of all bodies and colliders.
        stiffness: κ of every two objects, (O, O), or of all: in J/m⁴ for the original formulation,
            in Pa for the convergent one.
        area_weighted: whether it is the convergent one.
    """

    def __init__(
        self, surface: CollisionSurface, stiffness: float | Values, area_weighted: bool
    ) -> None:
        self._names, self._area_weighted = surface.names, area_weighted
        #: κ.
        self.stiffness = stiffness

    def forces(self, stencils: Stencils) -> Values:
        """(K,) −w m b'(d) between the parts, in newtons; negative where the weight is."""
        logarithm, ratio, shifted = _terms(stencils)
        derivative = shifted * (2.0 * logarithm + ratio) * 2.0 * stencils.distances
        return (
            stencils.weights * self._scales(stencils) * derivative / _squared_activation(stencils)
        )

    def second_derivatives(self, stencils: Stencils) -> Values:
        """(K,) w m b''(d) in N/m; b'' is nowhere negative."""
        logarithm, ratio, shifted = _terms(stencils)
        inner = 2.0 * logarithm + ratio * (4.0 - ratio)
        total = -2.0 * shifted * (2.0 * logarithm + ratio) - 4.0 * (shifted + 1.0) * inner
        scales = stencils.weights * self._scales(stencils)
        return scales * np.maximum(total, 0.0) / _squared_activation(stencils)

    def _scales(self, stencils: Stencils) -> Values:
        """(K,) in J/m² or J: what −(q − 1)² ln q is multiplied by, q = d²/d̂²."""
        activation, stiffness = stencils.collisions.distances, self.stiffness
        if isinstance(stiffness, np.ndarray):
            stiffness = stiffness[tuple(stencils.collisions.objects.T)]
        return stiffness * (activation if self._area_weighted else activation**4)

    def energy(self, stencils: Stencils) -> float:
        """In joules."""
        weights = stencils.weights * self._scales(stencils)
        ratios = stencils.distances**2 / _squared_activation(stencils)
        return float(barrier_sum(ratios, weights))

    def gradient(self, stencils: Stencils) -> Points:
        """(V, 3) in newtons."""
        out, collisions = np.zeros_like(stencils.points), stencils.collisions
        add_barrier_gradient(
            stencils.points,
            collisions.vertices,
            collisions.features,
            collisions.thresholds,
            collisions.weights * self._scales(stencils),
            _squared_activation(stencils),
            stencils.differences,
            stencils.coefficients,
            out,
        )
        return out

    def hessian_factors(self, stencils: Stencils) -> HessianFactors:
        """A second derivative that is positive semi-definite, and not less than that of each
        collision; derivatives of the mollifier are left out."""
        distances = stencils.distances
        if not (distances > MIN_DISTANCE_RATIO * stencils.collisions.distances).all():
            raise InstabilityError(
                f"{', '.join(self._names)}: surfaces came closer than numbers can tell "
                "apart. Use more substeps, a larger contact distance, or slower motions."
            )
        # Where the weight is negative, that of the collision is not positive anywhere.
        active = stencils.where(stencils.collisions.weights > 0.0)
        return distance_hessian_factors(
            active, self.forces(active), self.second_derivatives(active)
        )


def _terms(stencils: Stencils) -> tuple[Values, Values, Values]:
    """(K,) ln q, (q − 1) / q and q − 1 for q = d²/d̂², at most 1."""
    ratios = np.minimum(stencils.distances**2 / _squared_activation(stencils), 1.0)
    shifted = ratios - 1.0
    return np.log(ratios), shifted / ratios, shifted


def _squared_activation(stencils: Stencils) -> Values:
    return np.asarray(stencils.collisions.distances**2)
