# SPDX-License-Identifier: GPL-3.0-or-later
"""Terms c u uᵀ beside a matrix, which are dense and never formed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..assembly.block_matrix import RankOneTerms


class RankOneUpdate:
    """From the inverse of A, or of what comes near it, to that of A + Σ c u uᵀ:
    A⁻¹ − Z (C⁻¹ + UᵀZ)⁻¹ Zᵀ with A Z = U.

    Source: Woodbury's formula: Golub and Van Loan, "Matrix Computations", section 2.1.4.

    Args:
        terms: u and c, above 0.
        inverse: of A, from (n, 3) to (n, 3); symmetric.
    """

    def __init__(self, terms: RankOneTerms, inverse: Callable[[Tensor], Tensor]) -> None:
        #: (K, 3n) u, and what A leads to them from.
        self.directions = torch.stack([u.reshape(-1) for u, _ in terms])
        solutions = [inverse(u).reshape(-1) for u, _ in terms]
        self.solutions = torch.stack(solutions).to(self.directions)
        #: (K,)
        self.factors = self.directions.new_tensor([factor for _, factor in terms])
        capacitance = torch.diag(1.0 / self.factors) + self.directions @ self.solutions.T
        #: (K, K), symmetric but for rounding.
        self.inverse_capacitance = torch.linalg.inv(0.5 * (capacitance + capacitance.T))

    def corrected(self, solution: Tensor) -> Tensor:
        """(n, 3) with the terms, of one without them."""
        along = self.directions @ solution.reshape(-1).to(self.directions)
        parts = self.solutions.T @ (self.inverse_capacitance @ along)
        return solution - parts.view_as(solution).to(solution)

    def product(self, vector: Tensor) -> Tensor:
        """(n, 3) Σ c u (u · x)."""
        along = self.factors * (self.directions @ vector.reshape(-1).to(self.directions))
        return (self.directions.T @ along).view_as(vector).to(vector)
