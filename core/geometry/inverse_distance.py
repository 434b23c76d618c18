# SPDX-License-Identifier: GPL-3.0-or-later
"""Interpolation between scattered points: Shepard, "A two-dimensional interpolation function for
irregularly-spaced data", 1968."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The number of points that a position interpolates.
NEIGHBOUR_COUNT = 4
# The distance of equal points, relative to the largest distance.
MIN_DISTANCE_RATIO = 1e-9


def nearest_weights(
    points: NDArray[np.float64], places: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The nearest points of (Q, 3) places among (P, 3), and their weights, the inverse distances.

    Returns:
        (Q, K) indices of points and (Q, K) weights that sum to one, K being four, or P where that
        is less.
    """
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from scipy.spatial import KDTree

    count = min(NEIGHBOUR_COUNT, len(points))
    distances, which = (
        table.reshape(len(places), count) for table in KDTree(points).query(places, k=count)
    )
    # If all points coincide, any weights are right.
    weights = 1.0 / (distances + MIN_DISTANCE_RATIO * (distances.max() or 1.0))
    return which, weights / weights.sum(axis=1, keepdims=True)
