# SPDX-License-Identifier: GPL-3.0-or-later
"""A matrix of 3 × 3 blocks by its rows of blocks, each added up in one order: for CUDA."""

from __future__ import annotations

import torch
from torch import Tensor

from .block_matrix import BlockMatrix, BlockPattern
from .off_pattern_blocks import OffPatternBlocks
from .scalar_rows import ScalarRows
from .segments import segment_sums


class BlockRows:
    """The matrix of a block pattern in compressed rows of blocks.

    torch's own sparse products are cuSPARSE's on CUDA, which do not promise the same bits again.
    """

    def __init__(self, pattern: BlockPattern) -> None:
        self._rows = _on_device(pattern, pattern.device)
        self._others: tuple[Tensor, Tensor] | None = None

    def set_values(self, matrix: BlockMatrix) -> None:
        """Sets the values to those of a matrix on the pattern, which is not to change after it."""
        self._values, self._others = matrix.values, None
        if len(more := matrix.off_pattern):
            self._others = _on_device(more, matrix.values.device)
            self._other_values = torch.as_tensor(more.values).to(matrix.values)

    def matvec(self, vector: Tensor) -> Tensor:
        """(3, n) product with a (3, n) vector."""
        by_unknown = vector.T.contiguous()
        product = _product(*self._rows, self._values, by_unknown)
        if self._others is not None:
            product += _product(*self._others, self._other_values, by_unknown)
        return product.T.contiguous()


def matrix_rows(pattern: BlockPattern, dtype: torch.dtype) -> BlockRows | ScalarRows:
    """What multiplies with matrices of a pattern on its device."""
    return BlockRows(pattern) if pattern.device.type == "cuda" else ScalarRows(pattern, dtype)


def _on_device(
    pattern: BlockPattern | OffPatternBlocks, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Offsets and columns."""
    return (
        torch.as_tensor(pattern.offsets, device=device),
        torch.as_tensor(pattern.columns, device=device),
    )


def _product(offsets: Tensor, columns: Tensor, blocks: Tensor, vector: Tensor) -> Tensor:
    """(n, 3) product of (B, 9) blocks, row by row, with an (n, 3) vector."""
    terms = blocks.view(-1, 3, 3) * vector.index_select(0, columns)[:, None]
    return segment_sums(terms.sum(2), offsets)
