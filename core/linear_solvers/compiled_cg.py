# SPDX-License-Identifier: GPL-3.0-or-later
"""Preconditioned conjugate gradients on a CPU, one compiled loop over all iterations."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern
from ..compiled import use_threads
from ..kernels.conjugate_gradients import invert_blocks, precondition_all, solve
from .rank_ones import RankOneUpdate
from .rigid_modes import RigidModes
from .solution import End, Solution

#: Fewer rows than this a thread cost more to hand out than to multiply.
ROWS_PER_THREAD = 500

#: How the iteration may end, by the number that the compiled loop returns.
END: tuple[End, ...] = ("converged", "limit", "indefinite")


class CompiledCG:
    """The compiled side of ``ConjugateGradients``, which says what the arguments are."""

    def __init__(
        self, pattern: BlockPattern, group_offsets: NDArray[np.int32], dtype: torch.dtype
    ) -> None:
        self._pattern = pattern
        self._modes = RigidModes(pattern, group_offsets)
        self._vectors = torch.empty(5, pattern.size, 3, dtype=dtype).numpy()
        self._inverse = np.empty((pattern.size, 9), dtype=self._vectors.dtype)
        self._coarse = np.zeros((2, 6 * self._modes.count))
        self._sums = np.empty(self._modes.count)
        none = np.empty((0, pattern.size, 3), dtype=self._vectors.dtype)
        self._no_rank_ones = none, none, np.empty(0), np.empty((0, 0)), np.empty((2, 0))

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        self._values, self._off_pattern = matrix.values.numpy(), matrix.off_pattern
        invert_blocks(matrix.diagonal_blocks().view(-1, 9).numpy(), self._inverse)
        self._coarse_inverse = self._modes.update(matrix, positions.numpy()).numpy()
        self._rank_ones = self._no_rank_ones
        if matrix.rank_ones:
            update = RankOneUpdate(matrix.rank_ones, self._precondition_blocks)
            shape = (len(matrix.rank_ones), -1, 3)
            self._rank_ones = (
                update.directions.view(shape).numpy(),
                update.solutions.view(shape).numpy(),
                update.factors.double().numpy(),
                update.inverse_capacitance.double().numpy(),
                np.empty((2, len(matrix.rank_ones))),
            )

    def _precondition_blocks(self, residual: Tensor) -> Tensor:
        """Of an (n, 3) residual, without the terms of rank one."""
        self._vectors[1] = residual.numpy()
        groups = self._modes.offsets, self._modes.group_of, self._modes.centroid_offsets
        precondition_all(groups, (self._inverse, self._coarse_inverse), self._vectors, self._coarse)
        return torch.from_numpy(self._vectors[2].copy())

    def solve(self, rhs: Tensor, relative: float, absolute: float, limit: int) -> Solution:
        # Not in the loop: to assign arrays there takes five seconds to compile.
        self._vectors[0], self._vectors[1], self._vectors[3] = 0.0, rhs.numpy(), 0.0
        use_threads(self._pattern.size, ROWS_PER_THREAD)
        iterations, end = solve(
            (self._pattern.offsets, self._pattern.columns, self._values),
            (self._off_pattern.offsets, self._off_pattern.columns, self._off_pattern.values),
            (self._modes.offsets, self._modes.group_of, self._modes.centroid_offsets),
            (self._inverse, self._coarse_inverse),
            self._rank_ones,
            (self._vectors, self._coarse, self._sums, np.zeros(limit + 1)),
            (relative * relative, absolute * absolute),
        )
        return Solution(torch.from_numpy(self._vectors[0]), iterations, END[end])
