# SPDX-License-Identifier: GPL-3.0-or-later
"""Limit the displacement of vertices in one step, so that swept candidates stay few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .surface import CollisionSurface, Points, Values

# In mean edges: the number of swept candidates grows with the cube of the displacement.
MAX_DISPLACEMENT_RATIO = 4.0


class DisplacementLimit:
    """Every object has a limit on its own scale: motion of it as a whole counts only where it
    passes another one.

    Args:
        surface: the collision surface.
    """

    def __init__(self, surface: CollisionSurface) -> None:
        # A collider may have no triangle left that has an area.
        objects, self._offsets, self._object_of, counts = np.unique(
            surface.object_of, return_index=True, return_inverse=True, return_counts=True
        )
        self._counts = counts[:, None]
        self._can_collide = surface.can_collide[np.ix_(objects, objects)]
        owners = self._object_of[surface.edges[:, 0]]
        edges = np.sqrt(surface.topology.squared_lengths)
        limits = MAX_DISPLACEMENT_RATIO * np.bincount(owners, edges) / np.bincount(owners)
        # Edges of colliders may be of any length.
        limits[objects >= surface.topology.body_objects] = 0.0
        self._limits, self._pair_limits = limits, np.maximum.outer(limits, limits)

    def step_size(self, points: Points, displacements: Points, max_step_size: float) -> float:
        """The step size with which vertices may go (V, 3) displacements from (V, 3) points, at most
        ``max_step_size``."""
        means = np.add.reduceat(displacements, self._offsets) / self._counts
        relative = np.linalg.norm(displacements - means[self._object_of], axis=1)
        deforming = np.maximum.reduceat(relative, self._offsets)
        passing = np.linalg.norm(means[:, None] - means, axis=2)
        passing = np.maximum(passing, np.maximum.outer(deforming, deforming))
        boxes_overlap = self._boxes_overlap(points, points + max_step_size * displacements)
        is_body = self._limits > 0.0
        return min(
            max_step_size,
            _least_ratio(self._limits[is_body], deforming[is_body]),
            _least_ratio(self._pair_limits[boxes_overlap], passing[boxes_overlap]),
        )

    def _boxes_overlap(self, before: Points, after: Points) -> NDArray[np.bool_]:
        """(O, O) different objects that may collide, and whose swept boxes overlap."""
        low = np.minimum.reduceat(np.minimum(before, after), self._offsets)
        high = np.maximum.reduceat(np.maximum(before, after), self._offsets)
        is_below = (low[:, None] <= high).all(axis=2)
        overlap: NDArray[np.bool_] = is_below & is_below.T & self._can_collide
        np.fill_diagonal(overlap, False)
        return overlap


def _least_ratio(allowed: Values, lengths: Values) -> float:
    """Infinite where nothing moves."""
    moves = lengths > 0.0
    return float((allowed[moves] / lengths[moves]).min(initial=np.inf))
