# SPDX-License-Identifier: GPL-3.0-or-later
"""The stiffness κ of the barrier."""

from __future__ import annotations

import math

import numpy as np

from ...scene.scene import Scene
from .topology import Points, Values

# The barrier's stiffness in units of the bodies'.
YOUNG_RATIO = 0.1
# In units of the diagonal of all: the distance at which the weakest barrier is evaluated, and the
# one below which surfaces are too close.
MIN_DISTANCE_RATIO, CLOSE_DISTANCE_RATIO = 1e-8, 1e-9
# At that distance the weakest barrier's second derivative is so many masses over the step squared.
INERTIA_RATIO = 1e11
# The strongest barrier, in units of the weakest.
MAX_STIFFNESS_RATIO = 100.0


def physical_stiffness(scene: Scene) -> float | Values:
    """κ in Pa of the convergent formulation: of all that touches where it was chosen, else (O, O)
    of every two objects, bodies first, then mesh colliders."""
    assert scene.contact is not None
    if scene.contact.stiffness is not None:
        return scene.contact.stiffness
    young = np.array([float(np.mean(body.material.young)) for body in scene.bodies])
    # Soft enough for the softer body to answer, stiff enough for the stiffer to be held.
    table = np.zeros((len(young) + len(scene.meshes),) * 2)
    bodies = slice(len(young))
    table[bodies, bodies] = YOUNG_RATIO * np.sqrt(np.outer(young, young))
    table[len(young) :, bodies] = YOUNG_RATIO * young
    table[bodies, len(young) :] = YOUNG_RATIO * young[:, None]
    return table


class AdaptiveStiffness:
    """κ of the original formulation: from the gradient it has to balance at first, and doubled
    while surfaces come closer than rounding can tell apart.

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
        ratio = min((MIN_DISTANCE_RATIO * diagonal / self._distance) ** 2, 0.5)
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
