# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the triangles of a surface agree on which side is out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .components import components

IndexArray = NDArray[np.intp]


def orient_consistently(triangles: IndexArray) -> IndexArray:
    """Flip the minority of triangles (T, 3) in each connected patch that is wound backwards.

    A patch that already agrees is returned as it is, also when it is inside out. A patch with one
    side only, such as a Moebius strip, is left alone.
    """
    first, second, agree = _neighbours(triangles)
    if agree.all():
        return triangles
    # Each triangle is two nodes of a graph, as it is and flipped; neighbours link what agrees.
    other = 2 * second + ~agree
    links = np.stack([np.r_[2 * first, 2 * first + 1], np.r_[other, other ^ 1]], axis=1)
    labels = components(2 * len(triangles), links)
    kept, flipped = labels[0::2], labels[1::2]
    patch, side = np.minimum(kept, flipped), kept < flipped
    votes = np.bincount(patch, weights=np.where(side, 1.0, -1.0), minlength=len(labels))
    backwards = (side != (votes >= 0.0)[patch]) & (kept != flipped)
    oriented = triangles.copy()
    oriented[backwards] = oriented[backwards, ::-1]
    return oriented


def _neighbours(triangles: IndexArray) -> tuple[IndexArray, IndexArray, NDArray[np.bool_]]:
    """Pairs of triangles across edges that exactly two share, and whether they agree."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    keys = low * (int(triangles.max()) + 1) + high
    order = np.argsort(keys, kind="stable")
    _, first, count = np.unique(keys[order], return_index=True, return_counts=True)
    one, two = order[first[count == 2]], order[first[count == 2] + 1]
    return one // 3, two // 3, start[one] == end[two]
