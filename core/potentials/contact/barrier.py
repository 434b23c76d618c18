# SPDX-License-Identifier: GPL-3.0-or-later
"""The barrier between surfaces, and how stiff it is."""

from __future__ import annotations

import math

import numpy as np

from ...errors import InstabilityError
from ...kernels.barrier import add_barrier_gradient, barrier_sum
from ...scene.scene import Scene
from .normal_collisions import HessianFactors, Stencils, distance_hessian_factors
from .surface import CollisionSurface, Points, Values

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
        """Return the (K,) factors of −(q − 1)² ln q with q = d²/d̂², in J/m² or J."""
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
        """Return the (V, 3) gradient in newtons."""
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
        # A negative weight makes the energy of the collision nowhere positive.
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


# The barrier's stiffness in units of the bodies'.
YOUNG_RATIO = 0.1
# In units of the diagonal of all: the distance at which the weakest barrier is evaluated, and the
# one below which surfaces are too close.
WEAKEST_DISTANCE_RATIO, CLOSE_DISTANCE_RATIO = 1e-8, 1e-9
# The second derivative of the weakest barrier at that distance, in masses over the step squared.
INERTIA_RATIO = 1e11
# The strongest barrier, in units of the weakest.
MAX_STIFFNESS_RATIO = 100.0


def physical_stiffness(scene: Scene) -> float | Values:
    """Return κ of the convergent formulation in Pa: the chosen value, or (O, O) for every two
    objects, bodies first, then mesh colliders."""
    assert scene.contact is not None
    if scene.contact.stiffness is not None:
        return scene.contact.stiffness
    young = np.array([float(np.mean(body.material.young)) for body in scene.bodies])
    # Soft enough for the softer body to respond, stiff enough to hold the stiffer one.
    table = np.zeros((len(young) + len(scene.meshes),) * 2)
    bodies = slice(len(young))
    table[bodies, bodies] = YOUNG_RATIO * np.sqrt(np.outer(young, young))
    table[len(young) :, bodies] = YOUNG_RATIO * young
    table[bodies, len(young) :] = YOUNG_RATIO * young[:, None]
    return table


class AdaptiveStiffness:
    """κ of the original formulation: chosen from the gradient at first, and doubled while surfaces
    come closer than rounding can resolve.

    Source: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020,
    supplement.

    Args:
        distance: d̂ in metres.
        mean_mass: of the vertices, in kg.
    """

    def __init__(self, distance: float, mean_mass: float) -> None:
        self._distance, self._mean_mass = distance, mean_mass

    def begin_step(
        self, points: Points, step: float, gradient: Points, barrier_gradient: Points
    ) -> float:
        """κ to begin a step of ``step`` seconds with.

        Args:
            points: (V, 3) of the surface.
            gradient: (B, 3) of all other energies, by points of bodies, in newtons.
            barrier_gradient: (B, 3) that of a barrier of κ = 1.
        """
        diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
        self._closest, self._min_distance = CLOSE_DISTANCE_RATIO * diagonal, math.inf
        ratio = min((WEAKEST_DISTANCE_RATIO * diagonal / self._distance) ** 2, 0.5)
        # The energy here is the paper's over the square of the step.
        weakest = INERTIA_RATIO * self._mean_mass / (step * step)
        weakest /= 4.0 * ratio * self._distance**2 * _barrier_second_derivative(ratio)
        self._max_stiffness = MAX_STIFFNESS_RATIO * weakest
        squared = float((barrier_gradient * barrier_gradient).sum())
        balanced = -float((barrier_gradient * gradient).sum()) / squared if squared > 0.0 else 0.0
        return min(max(balanced, weakest), self._max_stiffness)

    def update(self, stiffness: float, min_distance: float) -> float:
        """κ after a Newton step that left ``min_distance`` metres at the closest pair."""
        before, self._min_distance = self._min_distance, min_distance
        if min_distance < before < self._closest:
            return min(2.0 * stiffness, self._max_stiffness)
        return stiffness


def _barrier_second_derivative(squared_ratio: float) -> float:
    """The second derivative of −(q − 1)² ln q at q = d²/d̂²."""
    ratio = 1.0 - 1.0 / squared_ratio
    return ratio * (ratio - 4.0) - 2.0 * math.log(squared_ratio)
