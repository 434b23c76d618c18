# SPDX-License-Identifier: GPL-3.0-or-later
"""Solves H λ = g where a time step or an equilibrium has been found."""

from __future__ import annotations

from collections.abc import Callable

import scipy.sparse as sparse
import torch
from torch import Tensor

from ..errors import InstabilityError
from ..minimizers.incremental_potential import IncrementalPotential
from .conjugate_residuals import MAX_DIRECTIONS, conjugate_residuals
from .tape_contact import TapeContact

# Of the error's energy norm in units of the solution's.
TOLERANCE = 1e-7
# Of the residual over the root of H's diagonal, where what is solved for is not symmetric; and of
# the error of its preconditioner.
RESIDUAL_TOLERANCE, PRECONDITIONER_TOLERANCE = 1e-7, 0.03


class TransposedSolve:
    """
    Args:
        objective: whose second derivatives H are.
    """

    def __init__(self, objective: IncrementalPotential) -> None:
        self._objective = objective
        self._solver = objective.linear_solver()

    def prepare(
        self, positions: Tensor, contact: TapeContact | None = None, projected: bool = False
    ) -> None:
        """Takes the exact H at (3, N) ``positions`` of the step that began last, and of
        ``contact`` beside the objective; or ``projected`` the bounded one, which is always
        positive."""
        objective = self._objective
        self._solver.begin()
        self._matrix = objective.hessian(positions, projected=projected)
        if contact is not None:
            contact.add_hessian(self._matrix)
        self._solver.prepare(self._matrix, objective.unknowns(positions))

    def solve(
        self, rhs: Tensor, more: Callable[[Tensor], Tensor] | None = None, what: str = ""
    ) -> Tensor:
        """(3, N) λ with H λ + more(λ) = g, zero where vertices are pinned.

        With ``more``, which need not be symmetric, by conjugate residuals preconditioned by H.

        Args:
            rhs: (3, N) g.
            more: of (3, N), what counts beside H.
            what: is solved for, in messages.

        Raises:
            InstabilityError: when H is not positive definite, or no solution is found.
        """
        unknown = self._objective.unknowns(rhs)
        if more is None or not bool(unknown.any()):
            return self._objective.vectors(self._solved(unknown, TOLERANCE, what))
        product = self.product()

        def image(own: Tensor) -> Tensor:
            return product(own) + self._objective.unknowns(more(self._objective.vectors(own)))

        found = conjugate_residuals(
            image, self.about(what), unknown, self.scale(), RESIDUAL_TOLERANCE
        )
        if found is not None:
            return self._objective.vectors(found)
        raise InstabilityError(
            f"{self._objective.system.names}: no gradient, since the derivative of friction or of "
            f"force fields was not solved for {what} within {MAX_DIRECTIONS} directions. Use more "
            "substeps, or weaker fields."
        )

    def scale(self) -> Tensor:
        """(n, 3) one over the root of H's diagonal."""
        diagonal = self._matrix.diagonal_blocks().diagonal(dim1=1, dim2=2)
        return diagonal.clamp(min=torch.finfo(diagonal.dtype).tiny).rsqrt()

    def about(self, what: str) -> Callable[[Tensor], Tensor]:
        """(n, 3) to about the inverse of H times them."""
        return lambda own: self._solved(own, PRECONDITIONER_TOLERANCE, what)

    def product(self) -> Callable[[Tensor], Tensor]:
        """(n, 3) to H times them."""
        matrix, pattern = self._matrix, self._matrix.pattern
        shape = (3 * pattern.size, 3 * pattern.size)
        blocks = matrix.values.cpu().numpy().reshape(-1, 3, 3)
        whole = sparse.bsr_array((blocks, pattern.columns, pattern.offsets), shape)
        if len(matrix.off_pattern):
            more = matrix.off_pattern
            values = more.values.reshape(-1, 3, 3)
            whole = whole + sparse.bsr_array((values, more.columns, more.offsets), shape)

        def image(own: Tensor) -> Tensor:
            out = torch.as_tensor(whole @ own.numpy().ravel()).view(-1, 3)
            for direction, factor in matrix.rank_ones:
                out = out + factor * (direction * own).sum() * direction
            return out

        return image

    def _solved(self, rhs: Tensor, tolerance: float, what: str) -> Tensor:
        solution = self._solver.solve(rhs, tolerance, 0.0)
        if solution.end != "converged":
            raise InstabilityError(
                f"{self._objective.system.names}: no gradient, since {what} is no strict minimum "
                "of the energy: something slides freely, is about to buckle, or surfaces touch and "
                "the step has ended too early. Pin it, use more substeps, add damping, or give the "
                "integrator a smaller tolerance."
            )
        return solution.x
