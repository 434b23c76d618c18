# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb friction between surfaces as a smooth energy of one time step."""

from __future__ import annotations

from typing import Any

import numpy as np

from .barrier import ContactBarrier
from .friction_pairs import FrictionPairs
from .surface import CollisionSurface, Points
from .toolkit import toolkit


class ContactFriction:
    """Σ μ N f₀(|u|), u the way that two surfaces slid along each other since the step began.

    The normal forces N and the planes to slide in are those where ``lag`` was called last. Below
    the slip ε pairs stick; f₀ is that of ``GroundFriction``. Where the kinetic coefficient is lower
    than the static one, μ falls smoothly from one to the other between ε and 2ε.

    Source: Li et al., "Incremental Potential Contact", ACM Transactions on Graphics 39(4), 2020,
    section 5.

    Args:
        surface: what touches.
        barrier: whose force is the normal force.
        pairs: coefficients of every two objects.
    """

    def __init__(
        self, surface: CollisionSurface, barrier: ContactBarrier, pairs: FrictionPairs
    ) -> None:
        self._surface, self._barrier, self._pairs = surface, barrier, pairs
        self._objects = surface.object_of.astype(np.float64)
        self._sliding = toolkit().TangentialCollisions()
        self._normal_forces = np.zeros(len(self._objects))
        self._start: Points = np.zeros((len(self._objects), 3), order="F")
        self._slip = 1.0

    def begin_step(self, start: Points, slip: float) -> None:
        """Measures ways from (V, 3) ``start``; below ``slip`` metres pairs stick."""
        self._start, self._slip = start, slip
        self._potential = toolkit().FrictionPotential(slip)

    def lag(self, collisions: Any, points: Points) -> tuple[float, float]:
        """Takes normal forces and planes at (V, 3) points.

        Returns:
            By how much the forces on vertices changed, added up, and their sum, in newtons.
        """
        self._build(collisions, points)
        before = self._normal_forces
        gradient = self._barrier.gradient(collisions, points)
        self._normal_forces = np.linalg.norm(gradient, axis=1)
        changed = np.abs(self._normal_forces - before).sum()
        return float(changed), float(self._normal_forces.sum())

    def creep(self, before: Points, after: Points) -> float:
        """How much the friction of pairs changed between two places, as a share of the whole: what
        has come to rest holds with the force it held with."""
        first, second = (
            np.linalg.norm(self.gradient(points), axis=1) for points in (before, after)
        )
        change = np.linalg.norm(self.gradient(after) - self.gradient(before), axis=1)
        whole = float(np.maximum(first, second).sum())
        return float(change.sum()) / whole if whole > 0.0 else 0.0

    def energy(self, points: Points) -> float:
        """In joules, at (V, 3) points."""
        return float(self._potential(self._sliding, self._surface.mesh, self._way(points)))

    def gradient(self, points: Points) -> Points:
        """(V, 3) in newtons."""
        flat = self._potential.gradient(self._sliding, self._surface.mesh, self._way(points))
        return np.asarray(flat).reshape(-1, 3)

    def hessian(self, points: Points, projected: bool) -> Any:
        """(3V, 3V) sparse, in N/m."""
        kinds = toolkit().PSDProjectionMethod
        projection = kinds.CLAMP if projected else kinds.NONE
        return self._potential.hessian(
            self._sliding, self._surface.mesh, self._way(points), projection
        )

    def _way(self, points: Points) -> Points:
        return np.asfortranarray(points - self._start)

    def _build(self, collisions: Any, points: Points) -> None:
        mesh, potential = self._surface.mesh, self._barrier.potential
        pairs = self._pairs
        if pairs.is_uniform:
            static, kinetic = pairs.static[0, 0], pairs.kinetic[0, 0]
            self._sliding.build(mesh, points, collisions, potential, static, kinetic)
            return
        # The toolkit blends numbers of two vertices: their objects, which a table knows.
        count = len(pairs.static)
        objects, shifted = self._objects, self._objects + count
        table = np.concatenate([pairs.static, pairs.kinetic]).tolist()

        def blend(first: float, second: float) -> float:
            # Interpolated over a triangle, whose corners belong to one object.
            return float(table[round(first)][round(second) % count])

        self._sliding.build(mesh, points, collisions, potential, objects, shifted, blend)
