# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks beside a matrix's fixed pattern, of unknowns that share no tet: contact, attachments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class OffPatternBlocks:
    """Symmetric blocks to be added to a matrix, as block compressed sparse rows.

    Args:
        offsets: (n + 1,) int32.
        columns: (B,) int32, ascending within a row.
        values: (B, 9) blocks, row by row.
    """

    offsets: NDArray[np.int32]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @staticmethod
    def none(size: int, dtype: Any) -> OffPatternBlocks:
        """Of ``size`` unknowns."""
        return OffPatternBlocks(
            np.zeros(size + 1, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty((0, 9), dtype)
        )

    @staticmethod
    def of(
        matrix: Any, vertex_to_unknown: NDArray[np.int64], size: int, dtype: Any
    ) -> OffPatternBlocks:
        """The rows and columns of unknowns in a sparse matrix over all vertices.

        Args:
            matrix: (3N, 3N) symmetric; rows are 3 × vertex + component. Of block rows, no block may
                be there twice.
            vertex_to_unknown: (N,) the unknown of each vertex, -1 where it is none.
            size: of unknowns.
        """
        blocks = matrix if matrix.format == "bsr" else matrix.tocsr().tobsr((3, 3))
        rows = vertex_to_unknown[
            np.repeat(np.arange(len(vertex_to_unknown)), np.diff(blocks.indptr))
        ]
        columns = vertex_to_unknown[blocks.indices]
        kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        order = kept[np.argsort(rows[kept] * size + columns[kept])]
        offsets = np.searchsorted(rows[order], np.arange(size + 1))
        return OffPatternBlocks(
            offsets.astype(np.int32),
            columns[order].astype(np.int32),
            np.ascontiguousarray(blocks.data[order].reshape(-1, 9), dtype=dtype),
        )

    def __len__(self) -> int:
        return len(self.columns)

    def added_to(
        self, offsets: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[Any]
    ) -> OffPatternBlocks:
        """The sum with other blocks of the same kind."""
        size = len(self.offsets) - 1
        rows = np.concatenate([np.repeat(np.arange(size), np.diff(offsets)), self.rows])
        keys = rows * size + np.concatenate([columns, self.columns])
        different, where = np.unique(keys, return_inverse=True)
        total = np.zeros((len(different), 9), dtype=self.values.dtype)
        # The blocks of either are different ones.
        total[where[: len(columns)]] = values
        total[where[len(columns) :]] += self.values
        bounds = np.searchsorted(different, size * np.arange(size + 1))
        return OffPatternBlocks(bounds.astype(np.int32), (different % size).astype(np.int32), total)

    @property
    def rows(self) -> NDArray[np.int64]:
        """(B,) the row of each block."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def diagonal(self) -> NDArray[Any]:
        """(n, 9), zero where there is no block."""
        rows = self.rows
        found = np.flatnonzero(rows == self.columns)
        out = np.zeros((len(self.offsets) - 1, 9), dtype=self.values.dtype)
        out[rows[found]] = self.values[found]
        return out
