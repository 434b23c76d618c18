# SPDX-License-Identifier: GPL-3.0-or-later
"""How far things may go at once, so that not too much has to be looked at on their ways."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .surface import CollisionSurface
from .topology import Points, Values

# In mean edges: what is looked at grows with the cube of the way.
MAX_DISPLACEMENT = 4.0


class DisplacementLimit:
    """Of every object on its own scale: what goes on as a whole is looked at no more closely for
    that, unless it passes something.

    Args:
        surface: what touches.
    """

    def __init__(self, surface: CollisionSurface) -> None:
        # Of a collider may be nothing left that has an area.
        objects, self._starts, self._object_of, counts = np.unique(
            surface.object_of, return_index=True, return_inverse=True, return_counts=True
        )
        self._counts, self._may_meet = counts[:, None], surface.may_meet[np.ix_(objects, objects)]
        owners = self._object_of[surface.edges[:, 0]]
        edges = np.sqrt(surface.topology.squared_lengths)
        own = MAX_DISPLACEMENT * np.bincount(owners, edges) / np.bincount(owners)
        # Edges of colliders may be of any length.
        own[objects >= surface.topology.body_objects] = 0.0
        self._own, self._of_pairs = own, np.maximum.outer(own, own)

    def step_size(self, points: Points, ways: Points, most: float) -> float:
        """How many times their (V, 3) ways vertices may go from (V, 3) points, at most ``most``."""
        means = np.add.reduceat(ways, self._starts) / self._counts
        apart = np.linalg.norm(ways - means[self._object_of], axis=1)
        deforming = np.maximum.reduceat(apart, self._starts)
        passing = np.linalg.norm(means[:, None] - means, axis=2)
        passing = np.maximum(passing, np.maximum.outer(deforming, deforming))
        pass_by = self._pass_by(points, points + most * ways)
        is_body = self._own > 0.0
        return min(
            most,
            _least_ratio(self._own[is_body], deforming[is_body]),
            _least_ratio(self._of_pairs[pass_by], passing[pass_by]),
        )

    def _pass_by(self, before: Points, after: Points) -> NDArray[np.bool_]:
        """(O, O) different objects that may meet, and the boxes around whose ways overlap."""
        low = np.minimum.reduceat(np.minimum(before, after), self._starts)
        high = np.maximum.reduceat(np.maximum(before, after), self._starts)
        reaches = (low[:, None] <= high).all(axis=2)
        overlap: NDArray[np.bool_] = reaches & reaches.T & self._may_meet
        np.fill_diagonal(overlap, False)
        return overlap


def _least_ratio(allowed: Values, lengths: Values) -> float:
    """Infinite where nothing moves."""
    moves = lengths > 0.0
    return float((allowed[moves] / lengths[moves]).min(initial=np.inf))
