# SPDX-License-Identifier: GPL-3.0-or-later
"""A matrix of 3 × 3 blocks by its scalars, as torch's sparse product wants it: for CPUs."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from .block_matrix import BlockMatrix, BlockPattern
from .off_pattern_blocks import OffPatternBlocks


class ScalarRows:
    """The (3n, 3n) matrix of a block pattern in compressed sparse rows.

    Unknowns lie component after component: number c n + i.

    Args:
        pattern: of the blocks.
        dtype: of the matrix.
    """

    def __init__(self, pattern: BlockPattern, dtype: torch.dtype) -> None:
        places, columns = _entries(pattern)
        order = np.empty(places.size, dtype=np.int32)
        order[places.ravel()] = np.arange(places.size)
        offsets = 3 * (len(pattern.columns) * _AXES[:, None] + pattern.offsets[:-1])
        # Where each entry lies among (B, 9) blocks.
        self._order = torch.as_tensor(order)
        self._zero = torch.zeros(3 * pattern.size, dtype=dtype)
        self._off_pattern_matrix: Tensor | None = None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse")
            self._matrix = torch.sparse_csr_tensor(
                torch.as_tensor(np.append(offsets, places.size).astype(np.int32)),
                torch.as_tensor(columns.ravel()[order].astype(np.int32)),
                torch.zeros(places.size, dtype=dtype),
                size=(3 * pattern.size, 3 * pattern.size),
            )

    def set_values(self, matrix: BlockMatrix) -> None:
        """Sets the values to those of a matrix on the pattern."""
        torch.index_select(matrix.values.view(-1), 0, self._order, out=self._matrix.values())
        self._off_pattern_matrix = (
            _off_pattern_rows(matrix.off_pattern, self._zero) if len(matrix.off_pattern) else None
        )

    def matvec(self, vector: Tensor) -> Tensor:
        """(3, n) product with a (3, n) vector."""
        # Added to zero: some builds multiply what was in the memory of a result by zero instead.
        product = torch.addmv(self._zero, self._matrix, vector.view(-1))
        if self._off_pattern_matrix is not None:
            product = torch.addmv(product, self._off_pattern_matrix, vector.view(-1))
        return product.view(3, -1)


_AXES = np.arange(3)


def _off_pattern_rows(off_pattern: OffPatternBlocks, template: Tensor) -> Tensor:
    """Couplings as (3n, 3n) compressed sparse rows."""
    size = len(off_pattern.offsets) - 1
    blocks = sparse.bsr_array(
        (off_pattern.values.reshape(-1, 3, 3), off_pattern.columns, off_pattern.offsets),
        shape=(3 * size, 3 * size),
    ).tocoo()
    rows, columns = (size * (index % 3) + index // 3 for index in (blocks.row, blocks.col))
    matrix = sparse.csr_array((blocks.data, (rows, columns)), shape=(3 * size, 3 * size))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")
        return torch.sparse_csr_tensor(
            torch.as_tensor(matrix.indptr.astype(np.int32)),
            torch.as_tensor(matrix.indices.astype(np.int32)),
            torch.as_tensor(matrix.data),
            size=matrix.shape,
        ).to(template)


def _entries(pattern: BlockPattern) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(B, 3, 3) where the entries of each block lie in compressed rows, and their columns."""
    counts, first = np.diff(pattern.offsets)[pattern.rows], pattern.offsets[pattern.rows]
    row, column = _AXES[:, None], _AXES
    within = np.arange(len(counts)) - first
    places = (
        3 * (len(counts) * row + first[:, None, None])
        + column * counts[:, None, None]
        + within[:, None, None]
    )
    columns = np.broadcast_to(pattern.size * column + pattern.columns[:, None, None], places.shape)
    return places, columns
