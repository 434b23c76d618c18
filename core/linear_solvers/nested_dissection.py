# SPDX-License-Identifier: GPL-3.0-or-later
"""An order of elimination that keeps the Cholesky factor of a mesh's matrix sparse.

Nested dissection: a layer of vertices that parts a set in two is eliminated after both parts, so
that neither fills in the other. George, "Nested dissection of a regular finite element mesh",
SIAM Journal on Numerical Analysis 10(2), 1973.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Normals of the cutting planes tried. In a body-centred lattice the planes across the diagonals
# are the thinnest layers that separate.
_NORMALS = np.array(
    [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [1, -1, 0],
        [1, 0, 1],
        [1, 0, -1],
        [0, 1, 1],
        [0, 1, -1],
    ]
)
# The part below a cut holds between this fraction of the vertices and the rest of it.
_SMALLEST_PART = 0.4
# A set of so few vertices fills in whatever the order.
_LEAF = 32


def nested_dissection(
    offsets: NDArray[np.int32], columns: NDArray[np.int32], positions: NDArray[np.float64]
) -> NDArray[np.intp]:
    """(N,) vertices in the order to eliminate them.

    Args:
        offsets: (N + 1,) and
        columns: the neighbours of each vertex and itself, as compressed sparse rows.
        positions: (N, 3) where the vertices are, in any unit.
    """
    return _Dissection(offsets, columns, positions).order


class _Dissection:
    def __init__(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], positions: NDArray[np.float64]
    ) -> None:
        self._offsets, self._columns = offsets, columns
        self._heights = _NORMALS @ positions.T
        # Rank along each normal within the set that is being cut; N outside it.
        self._ranks = np.full(self._heights.shape, len(positions))
        self.order = np.concatenate(self._dissect(np.arange(len(positions))))

    def _dissect(self, vertices: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        if len(vertices) <= _LEAF:
            return [vertices]
        below, above, separator = self._cut(vertices)
        return [*self._dissect(below), *self._dissect(above), separator]

    def _cut(self, vertices: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """The vertices below a plane, those above, and those above with a neighbour below: of all
        planes that leave both sides their share, the one with the fewest of the last kind."""
        count = len(vertices)
        ranks = self._heights[:, vertices].argsort(axis=1, kind="stable").argsort(axis=1)
        lowest = self._lowest_neighbours(vertices, ranks)
        # A vertex separates when it is above a plane that its lowest neighbour is below.
        reached = _counts(lowest, count).cumsum(axis=1)
        separating = reached - np.arange(1, count + 1)
        first = int(_SMALLEST_PART * count)
        tried = separating[:, first : count - first]
        normal, cut = np.unravel_index(tried.argmin(), tried.shape)
        is_below = ranks[normal] <= cut + first
        separates = ~is_below & (lowest[normal] <= cut + first)
        return [vertices[kind] for kind in (is_below, ~is_below & ~separates, separates)]

    def _lowest_neighbours(
        self, vertices: NDArray[np.intp], ranks: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The least rank among each vertex and its neighbours in the set."""
        counts = self._offsets[vertices + 1] - self._offsets[vertices]
        first_entries = counts.cumsum() - counts
        entries = np.arange(counts.sum()) + np.repeat(
            self._offsets[vertices] - first_entries, counts
        )
        self._ranks[:, vertices] = ranks
        neighbours = self._ranks[:, self._columns[entries]]
        self._ranks[:, vertices] = self._ranks.shape[1]
        return np.minimum.reduceat(neighbours, first_entries, axis=1)


def _counts(values: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """How often each of 0 … size - 1 is in each row of values."""
    rows = np.arange(len(values))[:, None]
    counts = np.bincount((values + size * rows).ravel(), minlength=size * len(values))
    return counts.reshape(len(values), size)
