# SPDX-License-Identifier: GPL-3.0-or-later
"""How stiff the barrier has to be."""

from __future__ import annotations

import math

import numpy as np

from ..scene import Scene
from .surface import Points
from .toolkit import toolkit

# The barrier's stiffness in units of the bodies'.
SHARE_OF_YOUNG = 0.1


def physical_stiffness(scene: Scene) -> float:
    """κ in Pa of the convergent formulation."""
    assert scene.contact is not None
    if scene.contact.stiffness is not None:
        return scene.contact.stiffness
    stiffness = [float(np.mean(body.material.young)) for body in scene.bodies]
    # Soft enough for the softest body to answer, stiff enough for the stiffest to be held.
    return SHARE_OF_YOUNG * math.sqrt(min(stiffness) * max(stiffness))


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
        self._most = 0.0
        self._gap = math.inf

    def begin_step(
        self, points: Points, step: float, forces: Points, barrier_forces: Points
    ) -> float:
        """κ to begin a step of ``step`` seconds with.

        Args:
            points: (V, 3) of the surface.
            forces: (V, 3) all others, in newtons.
            barrier_forces: (V, 3) of a barrier of κ = 1.
        """
        kit = toolkit()
        self._diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
        value, self._most = kit.initial_barrier_stiffness(
            self._diagonal,
            kit.ClampedLogBarrier(),
            self._distance,
            self._mean_mass,
            forces.ravel(),
            barrier_forces.ravel(),
            # The energy here is the paper's over the square of the step.
            1e11 / (step * step),
        )
        self._gap = math.inf
        return float(value)

    def update(self, stiffness: float, gap: float) -> float:
        """κ after a Newton step that left ``gap`` metres at the closest place."""
        before, self._gap = self._gap, gap
        updated = toolkit().update_barrier_stiffness(
            before * before, gap * gap, self._most, stiffness, self._diagonal
        )
        return float(updated)
