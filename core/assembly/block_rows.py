# SPDX-License-Identifier: GPL-3.0-or-later
"""A matrix of 3 × 3 blocks by its rows of blocks, each added up in one order: for CUDA."""

from __future__ import annotations

import torch
from torch import Tensor

from ..geometry.segments import segment_sums
from .block_matrix import BlockMatrix, BlockPattern
from .off_pattern_blocks import OffPatternBlocks
from .scalar_rows import ScalarRows


class BlockRows:
    """The matrix of a block pattern in compressed rows of blocks.

    torch's own sparse products are cuSPARSE's on CUDA, which do not promise the same bits again.
    """

    def __init__(self, pattern: BlockPattern) -> None:
        self._rows = _on_device(pattern, pattern.device)
        #: Offsets, columns and blocks, on the pattern and beside it.
        self._parts: list[tuple[Tensor, Tensor, Tensor]] = []

    def set_values(self, matrix: BlockMatrix) -> None:
        """Sets the values to those of a matrix on the pattern, which is not to change after it."""
        self._parts = [(*self._rows, matrix.values)]
        if len(more := matrix.off_pattern):
            blocks = torch.as_tensor(more.values).to(matrix.values)
            self._parts.append((*_on_device(more, matrix.values.device), blocks))

    def matvec(self, vector: Tensor) -> Tensor:
        """(3, n) product with a (3, n) vector."""
        by_unknown = vector.T.contiguous()
        product, *others = (_product(*part, by_unknown) for part in self._parts)
        for other in others:
            product += other
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
