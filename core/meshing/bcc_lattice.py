# SPDX-License-Identifier: GPL-3.0-or-later
"""Body-centred-cubic lattice of unit cubic edge: its nodes and tetrahedra.

Two interleaved cubic grids of the same shape: corners at (i, j, k) and centres half a cell
further along each axis. Node numbers run over the corners first, then over the centres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# So that faces of cells do not lie in those of a body.
_OFF_CENTRE = np.array([1.3e-3, 0.7e-3, 1.1e-3])
# A cell face normal to axis 0, 1, 2: its corners in cyclic order.
_FACE_CORNERS = [
    [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)],
    [(0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)],
    [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
]


@dataclass(frozen=True)
class BccLattice:
    """`shape` corner nodes along each axis, the first at `origin` (3,)."""

    origin: NDArray[np.float64]
    shape: tuple[int, int, int]

    @classmethod
    def around(cls, low: NDArray[np.float64], high: NDArray[np.float64]) -> BccLattice:
        """The lattice that covers a box (3,), (3,) with a cell to spare, all but centred on it."""
        half = np.ceil(0.5 * (high - low)).astype(int) + 1
        shape = (int(2 * half[0] + 1), int(2 * half[1] + 1), int(2 * half[2] + 1))
        return cls(0.5 * (low + high) - half + _OFF_CENTRE, shape)

    def nodes(self) -> NDArray[np.float64]:
        """(N, 3) node positions, N twice the product of `shape`."""
        corners = np.indices(self.shape).reshape(3, -1).T + self.origin
        return np.concatenate([corners, corners + 0.5])

    def tets(self, wanted: NDArray[np.bool_]) -> IndexArray:
        """(M, 4) tets with a `wanted` (N,) node: two centres, then an edge of the face between."""
        found = []
        for axis in range(3):
            step = tuple(np.eye(3, dtype=int)[axis])
            span = tuple(np.maximum(step, 1))
            reach = (span[0] + step[0], span[1] + step[1], span[2] + step[2])
            ring = _FACE_CORNERS[axis]
            for first, second in zip(ring, ring[1:] + ring[:1], strict=True):
                corners = [(1, (0, 0, 0)), (1, step), (0, first), (0, second)]
                use = np.zeros(1, dtype=bool)
                for grid, offset in corners:
                    use = use | self._window(wanted, grid, offset, reach)
                cell = np.flatnonzero(np.broadcast_to(use, self._extent(reach)))
                base = self._number(cell, reach)
                found.append(np.stack([base + self._shift(*corner) for corner in corners], axis=1))
        return np.concatenate(found)

    def _extent(self, reach: tuple[int, int, int]) -> tuple[int, ...]:
        return tuple(size - extra for size, extra in zip(self.shape, reach, strict=True))

    def _window(
        self,
        values: NDArray[np.bool_],
        grid: int,
        offset: tuple[int, int, int],
        reach: tuple[int, int, int],
    ) -> NDArray[np.bool_]:
        """Values of one grid, shifted by `offset`, over the cells whose stencil stays inside."""
        block = values.reshape(2, *self.shape)[grid]
        extent = self._extent(reach)
        i, j, k = (slice(o, o + e) for o, e in zip(offset, extent, strict=True))
        return block[i, j, k]

    def _number(self, cell: IndexArray, reach: tuple[int, int, int]) -> IndexArray:
        """Node numbers of the corners of cells counted within a window."""
        return np.ravel_multi_index(np.unravel_index(cell, self._extent(reach)), self.shape)

    def _shift(self, grid: int, offset: tuple[int, ...]) -> int:
        _, rows, columns = self.shape
        within = (offset[0] * rows + offset[1]) * columns + offset[2]
        return int(within + grid * np.prod(self.shape))
