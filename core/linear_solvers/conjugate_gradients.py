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

#: The matrix between rigid motions is made anew after a solve of so many times the iterations.
RENEWAL_RATIO = 1.5


class ConjugateGradients:
    """Solves A x = b for matrices on one pattern, preconditioned on two levels.

    The levels are the inverses of the diagonal blocks and the rigid motions of groups of unknowns.
    What the last iterations gained estimates the error before them (Strakoš and Tichý, "Error
    estimation in preconditioned conjugate gradients", BIT 45, 2005).

    The matrix between rigid motions hardly changes within a step: its inverse serves again until a
    solve takes half as many iterations more than the first one with it. Not where there are blocks
    off the pattern, which come and go.

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
        self.begin()

    def begin(self) -> None:
        """Forgets earlier matrices, so that what follows does not depend on them."""
        self._is_stale, self._iterations_when_new = True, 0

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        """Makes the preconditioner of a matrix whose unknowns are at (n, 3) ``positions``."""
        has_others = len(matrix.off_pattern) > 0
        if self._is_stale or has_others:
            self._iterations_when_new = 0
        self._method.prepare(matrix, positions, with_coarse=self._is_stale or has_others)
        self._is_stale = has_others

    def solve(self, rhs: Tensor, relative: float, absolute: float, limit: int) -> Solution:
        """
        Args:
            rhs: (n, 3).
            relative: tolerance on the error's energy norm, in units of the solution's.
            absolute: the same in its own unit; the weaker of the two counts.
            limit: iterations at most.
        """
        solution = self._method.solve(rhs, relative, absolute, limit)
        before = self._iterations_when_new = self._iterations_when_new or solution.iterations
        self._is_stale |= solution.iterations > RENEWAL_RATIO * before
        return solution
