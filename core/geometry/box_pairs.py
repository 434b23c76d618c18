# SPDX-License-Identifier: GPL-3.0-or-later
"""Which axis-aligned boxes overlap, without a Python loop over boxes.

Boxes are sorted by size, each class twice as large as the one before. The boxes of a class are
points in a grid of their size; boxes of the same or a smaller size query them, so that no query
visits many cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .winding_number import PointGrid

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Pairs = Iterator[tuple[IndexArray, IndexArray]]

# Smaller ones, in units of the largest, are of one class.
_LEAST_SIZE_RATIO = 2.0**-30


@dataclass(frozen=True, eq=False)
class Boxes:
    """Axis-aligned boxes.

    Args:
        low, high: (B, 3) corners.
    """

    low: FloatArray
    high: FloatArray

    @staticmethod
    def around(corners: FloatArray, margin: float = 0.0) -> Boxes:
        """Return the bounding boxes of points (B, K, 3), larger by a margin on all sides."""
        return Boxes(corners.min(axis=1) - margin, corners.max(axis=1) + margin)

    def of(self, chosen: IndexArray) -> Boxes:
        return Boxes(self.low[chosen], self.high[chosen])

    def group_bounds(self, groups: NDArray[np.integer[Any]], count: int) -> Boxes:
        """The boxes around the boxes of each group; (B,) groups are below ``count``."""
        low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
        np.minimum.at(low, groups, self.low)
        np.maximum.at(high, groups, self.high)
        return Boxes(low, high)

    def size_classes(self, largest: float) -> IndexArray:
        """(B,) the binary logarithm of the longest side, rounded up."""
        size = (self.high - self.low).max(axis=1)
        least = max(_LEAST_SIZE_RATIO * largest, float(np.finfo(np.float64).tiny))
        return np.ceil(np.log2(np.maximum(size, least))).astype(np.intp)


def pairs_among(boxes: Boxes) -> Pairs:
    """Yield every pair of boxes that overlap or touch, as (P,) and (P,) indices, the lower
    first; in chunks."""
    if len(boxes.low) == 0:
        return
    classes = boxes.size_classes(float((boxes.high - boxes.low).max()))
    for small, large in _pairs(boxes, classes):
        once = (classes[small] < classes[large]) | (small < large)
        first, second = small[once], large[once]
        yield np.minimum(first, second), np.maximum(first, second)


def _pairs(boxes: Boxes, classes: IndexArray) -> Pairs:
    """Return the pairs of each box with boxes of its own class and of higher ones."""
    for number in np.unique(classes):
        members = np.flatnonzero(classes == number)
        asked = np.flatnonzero(classes <= number)
        theirs, asking = boxes.of(members), boxes.of(asked)
        half = 0.5 * (theirs.high - theirs.low).max()
        # Centres are rounded.
        reach = half + 1e-12 * (half + np.abs(theirs.high).max() + np.abs(theirs.low).max())
        grid = PointGrid(0.5 * (theirs.low + theirs.high), 2.0 * half)
        for row, column in grid.pairs(asking.low - reach, asking.high + reach):
            overlap = (asking.low[row] <= theirs.high[column]).all(axis=1)
            overlap &= (theirs.low[column] <= asking.high[row]).all(axis=1)
            yield asked[row[overlap]], members[column[overlap]]
