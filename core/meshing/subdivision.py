# SPDX-License-Identifier: GPL-3.0-or-later
"""Splits long triangles, so that a surface can be treated as small pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def split_long_triangles(corners: FloatArray, longest: float) -> FloatArray:
    """Bisect triangles, given by their corners (T, 3, 3), until no edge exceeds `longest`.

    The pieces cover the same surface with the same orientation; shared edges get no shared
    vertices.
    """
    done = []
    while len(corners):
        edges = np.roll(corners, -1, axis=1) - corners
        squared = (edges**2).sum(axis=2)
        long = squared.max(axis=1) > longest**2
        done.append(corners[~long])
        corners, start = corners[long], squared[long].argmax(axis=1)
        row = np.arange(len(corners))
        a, b, c = (corners[row, (start + step) % 3] for step in range(3))
        middle = 0.5 * (a + b)
        halves = (np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1))
        corners = np.concatenate(halves)
    return np.concatenate(done)
