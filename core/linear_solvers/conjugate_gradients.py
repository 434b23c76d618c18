# SPDX-License-Identifier: GPL-3.0-or-later
"""Preconditioned conjugate gradients that stop on an estimate of the error's energy."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern
from ..compiled import is_compiled
from .compiled_cg import CompiledCG
from .solution import Solution
from .torch_cg import TorchCG


class ConjugateGradients:
    """Solves A x = b for matrices on one pattern, preconditioned on two levels.

    The levels are the inverses of the diagonal blocks and the rigid motions of groups of unknowns.
    What the last iterations gained estimates the error before them (Strakoš and Tichý, "Error
    estimation in preconditioned conjugate gradients", BIT 45, 2005).

    On a CPU a compiled loop serves, where numba is installed; torch passes elsewhere.

    Args:
        pattern: of the matrices.
        group_offsets: (G + 1,) int32, the first unknown of each group of near ones.
        dtype: of matrices and vectors.
    """

    def __init__(
        self, pattern: BlockPattern, group_offsets: NDArray[np.int32], dtype: torch.dtype
    ) -> None:
        self._method: CompiledCG | TorchCG
        if is_compiled() and pattern.device.type == "cpu":
            self._method = CompiledCG(pattern, group_offsets, dtype)
        else:
            self._method = TorchCG(pattern, group_offsets, dtype)

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        """Makes the preconditioner of a matrix whose unknowns are at (n, 3) ``positions``."""
        self._method.prepare(matrix, positions)

    def solve(self, rhs: Tensor, relative: float, absolute: float, limit: int) -> Solution:
        """
        Args:
            rhs: (n, 3).
            relative: tolerance on the error's energy norm, in units of the solution's.
            absolute: the same in its own unit; the weaker of the two counts.
            limit: iterations at most.
        """
        return self._method.solve(rhs, relative, absolute, limit)
