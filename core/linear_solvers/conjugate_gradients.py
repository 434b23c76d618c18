# SPDX-License-Identifier: GPL-3.0-or-later
"""Conjugate gradients on two levels, and dense terms c u uᵀ beside the blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix, BlockPattern, RankOneTerms, matrix_rows
from ..compiled import runs_loops, use_threads
from ..kernels.block_matrix import invert_blocks, precondition_all, solve
from .rigid_modes import RigidModes, TorchRigidModes


class RankOneUpdate:
    """An update of the inverse of A, or of an approximation of A, to that of A + Σ c u uᵀ: A⁻¹ − Z
    (C⁻¹ + UᵀZ)⁻¹ Zᵀ with A Z = U.

    Source: Woodbury's formula: Golub and Van Loan, "Matrix Computations", section 2.1.4.

    Args:
        terms: u and c, above 0.
        inverse: of A, from (n, 3) to (n, 3); symmetric.
    """

    def __init__(self, terms: RankOneTerms, inverse: Callable[[Tensor], Tensor]) -> None:
        #: (K, 3n) u, and the solutions A⁻¹ u.
        self.directions = torch.stack([u.reshape(-1) for u, _ in terms])
        solutions = [inverse(u).reshape(-1) for u, _ in terms]
        self.solutions = torch.stack(solutions).to(self.directions)
        #: (K,)
        self.factors = self.directions.new_tensor([factor for _, factor in terms])
        capacitance = torch.diag(1.0 / self.factors) + self.directions @ self.solutions.T
        #: (K, K), symmetric up to rounding.
        self.inverse_capacitance = torch.linalg.inv(0.5 * (capacitance + capacitance.T))

    def corrected(self, solution: Tensor) -> Tensor:
        """Return the (n, 3) solution with the terms of rank one, from one without them."""
        along = self.directions @ solution.reshape(-1).to(self.directions)
        parts = self.solutions.T @ (self.inverse_capacitance @ along)
        return solution - parts.view_as(solution).to(solution)

    def product(self, vector: Tensor) -> Tensor:
        """(n, 3) Σ c u (u · x)."""
        along = self.factors * (self.directions @ vector.reshape(-1).to(self.directions))
        return (self.directions.T @ along).view_as(vector).to(vector)


End = Literal["converged", "limit", "indefinite"]


@dataclass(frozen=True)
class Solution:
    """An approximate solution.

    Args:
        x: (n, 3).
        iterations: taken.
        end: ``converged``, ``limit`` of iterations or ``indefinite`` matrix.
    """

    x: Tensor
    iterations: int
    end: End


#: Fewer rows than this a thread cost more to hand out than to multiply.
ROWS_PER_THREAD = 500

#: The results of the iteration, by the number that the compiled loop returns.
END: tuple[End, ...] = ("converged", "limit", "indefinite")


class CompiledCG:
    """The compiled side of ``ConjugateGradients``, which describes the arguments."""

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
        """Precondition an (n, 3) residual, without the terms of rank one."""
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


#: Iterations between looks on CUDA; those too many are left out of the solution.
SYNC_INTERVAL_ITERATIONS = 8


class TorchCG:
    """The torch side of ``ConjugateGradients``, which describes the arguments."""

    def __init__(
        self, pattern: BlockPattern, group_offsets: NDArray[np.int32], dtype: torch.dtype
    ) -> None:
        self._matrix = matrix_rows(pattern, dtype)
        self._modes = TorchRigidModes(pattern, group_offsets)
        self._sync_interval = SYNC_INTERVAL_ITERATIONS if pattern.device.type == "cuda" else 1

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        self._matrix.set_values(matrix)
        self._inverse = _inverses(matrix.diagonal_blocks())
        self._modes.update(matrix, positions)
        self._update: RankOneUpdate | None = None
        if matrix.rank_ones:
            terms = tuple((u.T.contiguous(), factor) for u, factor in matrix.rank_ones)
            self._update = RankOneUpdate(terms, self._precondition_blocks)

    def solve(self, rhs: Tensor, relative: float, absolute: float, limit: int) -> Solution:
        search = _Search(self._matvec, self._precondition, rhs)
        estimate = _ErrorEstimate(relative * relative, absolute * absolute)
        for first in range(0, limit, self._sync_interval):
            count = min(self._sync_interval, limit - first)
            scalars, solutions = zip(*(search.iterate() for _ in range(count)), strict=True)
            for index, (rho, curvature) in enumerate(torch.stack(scalars).tolist()):
                end = estimate.end_after(rho, curvature)
                if end is not None:
                    return Solution(_rows(solutions[index]), estimate.iterations, end)
        return Solution(_rows(search.x), limit, "limit")

    def _matvec(self, vector: Tensor) -> Tensor:
        image = self._matrix.matvec(vector)
        return image if self._update is None else image + self._update.product(vector)

    def _precondition(self, residual: Tensor) -> Tensor:
        preconditioned = self._precondition_blocks(residual)
        return preconditioned if self._update is None else self._update.corrected(preconditioned)

    def _precondition_blocks(self, residual: Tensor) -> Tensor:
        """Without the terms of rank one."""
        return (self._inverse * residual).sum(1) + self._modes.correction(residual)


class _Search:
    """The vectors and scalars of one solve."""

    def __init__(
        self,
        matvec: Callable[[Tensor], Tensor],
        precondition: Callable[[Tensor], Tensor],
        rhs: Tensor,
    ) -> None:
        self._matvec, self._precondition = matvec, precondition
        self._residual = rhs.T.clone(memory_format=torch.contiguous_format)
        #: (3, n), the solution so far.
        self.x = torch.zeros_like(self._residual)
        self._direction = torch.zeros_like(self._residual)
        self._rho = rhs.new_ones((), dtype=torch.float64)

    def iterate(self) -> tuple[Tensor, Tensor]:
        """Takes a step; returns ρ = r·M⁻¹r and the curvature p·Ap that it rests on, and the
        solution after it.

        If one of them is not positive, no step is taken, and later values are meaningless.
        """
        residual = self._residual.double()
        preconditioned = self._precondition(residual)
        rho = _dot(residual, preconditioned)
        self._direction.mul_(rho / self._rho).add_(preconditioned)
        image = self._matvec(self._direction)
        curvature = _dot(self._direction, image)
        good, step = torch.minimum(rho, curvature) > 0.0, rho / curvature
        # A step of zero would not do, since values after a breakdown may be infinite.
        self.x = torch.where(good, self.x.addcmul(self._direction, step), self.x)
        self._residual.addcmul_(image, step, value=-1.0)
        self._rho = rho
        return torch.stack([rho, curvature]), self.x


class _ErrorEstimate:
    """The estimate of a solve's error on the host, and the decision to end.

    Args:
        relative, absolute: tolerances on the error's energy, squared.
    """

    def __init__(self, relative: float, absolute: float) -> None:
        self._relative, self._absolute = relative, absolute
        # The energy norm of the solution after each iteration, squared.
        self._energies = [0.0]

    @property
    def iterations(self) -> int:
        return len(self._energies) - 1

    def end_after(self, rho: float, curvature: float) -> End | None:
        """Return the way in which the next iteration ends the search, or None."""
        if rho == 0.0:
            return "converged"
        if not (rho > 0.0 and curvature > 0.0):
            return "indefinite"
        energy = self._energies[-1] + rho * rho / curvature
        self._energies.append(energy)
        # The gain of the last quarter of the iterations, and of three more.
        before = self.iterations - 3 - self.iterations // 4
        if before <= 0:
            return None
        error = energy - self._energies[before]
        return "converged" if error <= max(self._relative * energy, self._absolute) else None


def _rows(vector: Tensor) -> Tensor:
    """A (3, n) vector as (n, 3)."""
    return vector.T.contiguous()


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return torch.dot(a.double().view(-1), b.double().view(-1))


def _inverses(blocks: Tensor) -> Tensor:
    """(n, 3, 3) symmetric blocks to their inverses by cofactors, (3, 3, n)."""
    cofactors = torch.linalg.cross(blocks.roll(-1, 1), blocks.roll(-2, 1), dim=2)
    determinants = (blocks[:, 0] * cofactors[:, 0]).sum(1)
    return (cofactors / determinants[:, None, None]).permute(1, 2, 0).contiguous()


class ConjugateGradients:
    """Solves A x = b for matrices on one pattern, preconditioned on two levels.

    The levels are the inverses of the diagonal blocks and the rigid motions of groups of unknowns.
    The gain of the last iterations estimates the error before them (Strakoš and Tichý, "Error
    estimation in preconditioned conjugate gradients", BIT 45, 2005).

    A compiled loop serves a CPU, torch passes CUDA.

    Args:
        pattern: of the matrices.
        group_offsets: (G + 1,) int32, the first unknown of each group of near ones.
        dtype: of matrices and vectors.
    """

    def __init__(
        self, pattern: BlockPattern, group_offsets: NDArray[np.int32], dtype: torch.dtype
    ) -> None:
        self._method: CompiledCG | TorchCG
        if runs_loops(pattern):
            self._method = CompiledCG(pattern, group_offsets, dtype)
        else:
            self._method = TorchCG(pattern, group_offsets, dtype)

    def prepare(self, matrix: BlockMatrix, positions: Tensor) -> None:
        """Makes the preconditioner of a matrix whose unknowns are at (n, 3) ``positions``."""
        self._method.prepare(matrix, positions)

    def solve(self, rhs: Tensor, relative: float, absolute: float, limit: int) -> Solution:
        """Solve by conjugate gradients.

        Args:
            rhs: (n, 3).
            relative: tolerance on the error's energy norm, in units of the solution's.
            absolute: the same in its own unit; the weaker of the two counts.
            limit: iterations at most.
        """
        return self._method.solve(rhs, relative, absolute, limit)
