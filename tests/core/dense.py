# SPDX-License-Identifier: GPL-3.0-or-later
"""Block matrices with all their zeros."""

from __future__ import annotations

import numpy as np
import torch

from supple.core.assembly.block_matrix import BlockMatrix


def dense(matrix: BlockMatrix) -> torch.Tensor:
    """(n, 3, n, 3)."""
    pattern, size = matrix.pattern, matrix.pattern.size
    rows = np.repeat(np.arange(size), np.diff(pattern.offsets))
    blocks = torch.zeros(size, size, 3, 3, dtype=matrix.values.dtype)
    blocks[rows, pattern.columns] = matrix.values.view(-1, 3, 3)
    whole = blocks.transpose(1, 2)
    for direction, factor in matrix.rank_ones:
        whole = whole + factor * direction[:, :, None, None] * direction
    return whole
