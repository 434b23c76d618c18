# SPDX-License-Identifier: GPL-3.0-or-later
"""Stable Neo-Hookean flesh: smooth and finite through inversion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .material import Material, Parameter

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class StableNeoHookean(Material):
    """Ψ = μ̄/2 (I_C − 3) − μ̄/2 ln(I_C + 1) + λ̄/2 (J − α)², shifted to zero at rest.

    μ̄ = 4μ/3, λ̄ = λ + 5μ/6 and α = 1 + 3μ̄/4λ̄ make it agree with linear elasticity at rest.

    Source: Smith, de Goes and Kim, "Stable Neo-Hookean Flesh Simulation", ACM Transactions on
    Graphics 37(2), 2018, equations 14 and 16.
    """

    def energy(self, i_c: Tensor, j: Tensor) -> Tensor:
        mu, lam, alpha = self._parameters()
        rest = -0.5 * math.log(4.0) * mu + 0.5 * lam * (1.0 - alpha) ** 2
        return 0.5 * mu * (i_c - 3.0 - (i_c + 1.0).log()) + 0.5 * lam * (j - alpha) ** 2 - rest

    def derivatives(self, i_c: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        mu, lam, alpha = self._parameters()
        return mu - mu / (i_c + 1.0), lam * (j - alpha)

    def _parameters(self) -> tuple[Parameter, Parameter, Parameter]:
        mu = 4.0 / 3.0 * self.mu
        lam = self.lam + 5.0 / 6.0 * self.mu
        return mu, lam, 1.0 + 0.75 * mu / lam
