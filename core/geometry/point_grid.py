# SPDX-License-Identifier: GPL-3.0-or-later
"""Uniform grid over points: finds all (box, point) pairs without a Python loop over either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import chunks, expand, grouped

FloatArray = NDArray[np.floating[Any]]
IndexArray = NDArray[np.intp]

_MAX_CELLS = 1 << 21
_PAIRS_PER_CHUNK = 1 << 19


class PointGrid:
    """Points (P, 3) sorted into cubic cells of at least `cell` length.

    The cell grows where the bounding box would otherwise need too many cells.
    """

    def __init__(self, points: FloatArray, cell: float) -> None:
        self._points = points
        self._low = points.min(axis=0)
        extent = points.max(axis=0) - self._low
        self._cell = max(cell, float(extent.max()) * 1e-6, float(np.finfo(np.float64).tiny))
        while np.prod(np.floor(extent / self._cell) + 1.0) > _MAX_CELLS:
            self._cell *= 1.3
        self._shape = np.floor(extent / self._cell).astype(np.intp) + 1
        keys = self._key(np.floor((points - self._low) / self._cell).astype(np.intp).T)
        self._order, self._start = grouped(keys, int(np.prod(self._shape)))

    def _key(self, ijk: NDArray[np.intp]) -> IndexArray:
        i, j, k = np.clip(ijk, 0, (self._shape - 1)[:, None])
        return (i * self._shape[1] + j) * self._shape[2] + k

    def pairs(self, low: FloatArray, high: FloatArray) -> Iterator[tuple[IndexArray, IndexArray]]:
        """(box, point) index pairs, in chunks: each point inside a box [low, high], both (B, 3)."""
        first = np.clip(np.floor((low - self._low) / self._cell), 0.0, self._shape)
        last = np.minimum(np.floor((high - self._low) / self._cell), self._shape - 1.0)
        spans = np.maximum(last - first + 1.0, 0.0).astype(np.intp)
        first = first.astype(np.intp)
        # Points along k are contiguous: a box is a set of (i, j) rows.
        rows = spans[:, 0] * spans[:, 1] * (spans[:, 2] > 0)
        for boxes in chunks(rows, _PAIRS_PER_CHUNK):
            box, row = expand(rows[boxes])
            box += boxes.start
            i = first[box, 0] + row // spans[box, 1]
            j = first[box, 1] + row % spans[box, 1]
            base = (i * self._shape[1] + j) * self._shape[2] + first[box, 2]
            begin, end = self._start[base], self._start[base + spans[box, 2]]
            for part in chunks(end - begin, _PAIRS_PER_CHUNK):
                owner, offset = expand((end - begin)[part])
                owner += part.start
                found, point = box[owner], self._order[begin[owner] + offset]
                inside = np.ones(len(point), dtype=bool)
                for axis in range(3):
                    coordinate = self._points[point, axis]
                    inside &= (coordinate >= low[found, axis]) & (coordinate <= high[found, axis])
                yield found[inside], point[inside]
