# SPDX-License-Identifier: GPL-3.0-or-later
"""How stiff the barrier has to be."""

from __future__ import annotations

import math

import numpy as np

from ...scene.scene import Scene
from .topology import Points, Values

# The barrier's stiffness in units of the bodies'.
SHARE_OF_YOUNG = 0.1
# In units of the diagonal of all: what the weakest barrier is taken at, and the distance below
# which surfaces are too close.
LEAST, CLOSEST = 1e-8, 1e-9
# At the least distance the weakest barrier bends by so many masses over the square of a step.
INERTIA = 1e11
# In units of the weakest, the strongest.
MOST = 100.0


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
    table[bodies, bodies] = SHARE_OF_YOUNG * np.sqrt(np.outer(young, young))
    table[len(young) :, bodies] = SHARE_OF_YOUNG * young
    table[bodies, len(young) :] = SHARE_OF_YOUNG * young[:, None]
    return table


class AdaptiveStiffness:
    """κ of the original formulation: from the forces it has to balance at first, and doubled while
    surfaces come closer than rounding can tell apart.

    Source: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020,
    supplement.

    Args:
        distance: d̂ in metres.
        mean_mass: of the vertices, in kg.
    """

    def __init__(self, distance: float, mean_mass: float) -> None:
        self._distance, self._mean_mass = distance, mean_mass

    def begin_step(
        self, points: Points, step: float, forces: Points, barrier_forces: Points
    ) -> float:
        """κ to begin a step of ``step`` seconds with.

        Args:
            points: (V, 3) of the surface.
            forces: (B, 3) all others on bodies, in newtons.
            barrier_forces: (B, 3) those of a barrier of κ = 1.
        """
        diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
        self._closest, self._gap = CLOSEST * diagonal, math.inf
        near = min((LEAST * diagonal / self._distance) ** 2, 0.5)
        # The energy here is the paper's over the square of the step.
        weakest = INERTIA * self._mean_mass / (step * step)
        weakest /= 4.0 * near * self._distance**2 * _bent(near)
        self._most = MOST * weakest
        squared = float((barrier_forces * barrier_forces).sum())
        balanced = -float((barrier_forces * forces).sum()) / squared if squared > 0.0 else 0.0
        return min(max(balanced, weakest), self._most)

    def update(self, stiffness: float, gap: float) -> float:
        """κ after a Newton step that left ``gap`` metres at the closest place."""
        before, self._gap = self._gap, gap
        if gap < before < self._closest:
            return min(2.0 * stiffness, self._most)
        return stiffness


def _bent(square: float) -> float:
    """The second derivative of −(q − 1)² ln q at q = d²/d̂²."""
    ratio = 1.0 - 1.0 / square
    return ratio * (ratio - 4.0) - 2.0 * math.log(square)
