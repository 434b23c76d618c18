# SPDX-License-Identifier: GPL-3.0-or-later
"""Conjugate gradients, and a direct solver for systems that take them too long."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern
from .conjugate_gradients import ConjugateGradients, RankOneUpdate, Solution
from .direct import DirectSolver, NotPositiveDefiniteError, is_available

# Iterations that take as long as a factorization, c nᵖ of n unknown vertices: measured from 3 K to
# 40 K vertices. To go on for longer would be slower than to have begun directly.
BREAK_EVEN_ITERATIONS, BREAK_EVEN_EXPONENT = 0.45, 0.8
# The factor on the limit of conjugate gradients without a direct solver.
LIMIT_FACTOR_WITHOUT_DIRECT = 20


class LinearSolver:
    """Solves A x = b for matrices on one pattern.

    Args:
        pattern: of the matrices.
        group_offsets: (G + 1,) int32, the first unknown of each group of near ones.
        points: (n, 3) rest positions of the unknowns, in metres.
        dtype: of matrices and vectors.
    """

    def __init__(
        self,
        pattern: BlockPattern,
        group_offsets: NDArray[np.int32],
        points: NDArray[np.float64],
        dtype: torch.dtype,
    ) -> None:
        self._pattern, self._points = pattern, points
        self._iterative = ConjugateGradients(pattern, group_offsets, dtype)
        self._limit = max(50, int(BREAK_EVEN_ITERATIONS * pattern.size**BREAK_EVEN_EXPONENT))
        self._is_direct = self._is_factorized = self._is_indefinite = False
        self.factorizations = 0

    @cached_property
    def _direct(self) -> DirectSolver:
        return DirectSolver(self._pattern.offsets, self._pattern.columns, self._points)

    def _factorize(self) -> DirectSolver:
        """The direct solver for the present matrix."""
        pattern, off_pattern = self._pattern, self.matrix.off_pattern
        values = self.matrix.values.cpu().double().numpy()
        if not len(off_pattern):
            self._direct.factorize(values)
            return self._direct
        whole = off_pattern.added_to(pattern.offsets, pattern.columns, values)
        # The off-pattern blocks change all the time, and so does the order to eliminate in.
        direct = DirectSolver(whole.offsets, whole.columns, self._points)
        direct.factorize(whole.values)
        return direct

    def begin(self) -> None:
        """Forget earlier matrices, so that a step depends on its own only."""
        self._is_direct = self._is_indefinite = False

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        """Takes a matrix whose unknowns are at (n, 3) ``positions``."""
        #: The present one.
        self.matrix = matrix
        self._positions = positions
        self._is_factorized = False
        if not self._is_direct:
            self._iterative.prepare(matrix, positions)

    def solve(self, rhs: Tensor, relative: float, absolute: float) -> Solution:
        """Solve by conjugate gradients, or directly where these run away.

        Args:
            rhs: (n, 3).
            relative: tolerance on the error's energy norm, in units of the solution's.
            absolute: the same in its own unit; the weaker of the two counts.
        """
        if self._is_direct:
            direct = self._solve_directly(rhs)
            # The next matrix may have a factor: conjugate gradients try after two that have none,
            # or where there are terms that a factor is without.
            was_indefinite, self._is_indefinite = self._is_indefinite, direct is None
            if direct is not None:
                return direct
            if not (was_indefinite or self.matrix.rank_ones):
                return Solution(torch.zeros_like(rhs), 0, "indefinite")
            self._is_direct = False
            self._iterative.prepare(self.matrix, self._positions)
        limit = self._limit if is_available() else LIMIT_FACTOR_WITHOUT_DIRECT * self._limit
        solution = self._iterative.solve(rhs, relative, absolute, limit)
        if solution.end != "limit" or not is_available():
            return solution
        direct = self._solve_directly(rhs)
        if direct is None:
            return replace(solution, end="indefinite")
        self._is_direct = True
        return replace(direct, iterations=solution.iterations)

    def _solve_directly(self, rhs: Tensor) -> Solution | None:
        """Solve by factorization; None where the matrix is not positive definite."""
        if not self._is_factorized:
            try:
                self._factorized = self._factorize()
            except NotPositiveDefiniteError:
                return None
            terms = self.matrix.rank_ones
            self._update = RankOneUpdate(terms, self._solve_factorized) if terms else None
            self._is_factorized = True
            self.factorizations += 1
        x = self._solve_factorized(rhs)
        return Solution(x if self._update is None else self._update.corrected(x), 0, "converged")

    def _solve_factorized(self, rhs: Tensor) -> Tensor:
        """Without the terms of rank one."""
        return torch.as_tensor(self._factorized.solve(rhs.cpu().double().numpy())).to(rhs)
