# SPDX-License-Identifier: GPL-3.0-or-later
"""Stable Neo-Hookean flesh: smooth and finite through inversion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .material import InvariantMaterial


@dataclass(frozen=True, eq=False)
class StableNeoHookean(InvariantMaterial):
    """Ψ = μ̄/2 (I_C − 3) − μ̄/2 ln(I_C + 1) + λ̄/2 (J − α)², shifted to zero at rest.

    μ̄ = 4μ/3, λ̄ = λ + 5μ/6 and α = 1 + 3μ̄/4λ̄ make it agree with linear elasticity at rest.

    Source: Smith, de Goes and Kim, "Stable Neo-Hookean Flesh Simulation", ACM Transactions on
    Graphics 37(2), 2018, equations 14 and 16.
    """

    @staticmethod
    def strain_energy_density(
        i_c: Any, j: Any, mu: Any, lam: Any, log: Callable[[Any], Any]
    ) -> Any:
        shear, bulk = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
        # λ̄/2 ((J − α)² − (1 − α)²) without the division in α.
        volumetric = (j - 1.0) * (0.5 * bulk * (j - 1.0) - 0.75 * shear)
        return 0.5 * shear * (i_c - 3.0 - log(0.25 * (i_c + 1.0))) + volumetric

    @staticmethod
    def first_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any]:
        # λ̄ (J − α) without the division in α.
        shear = 4.0 / 3.0 * mu
        return shear - shear / (i_c + 1.0), (lam + 5.0 / 6.0 * mu) * (j - 1.0) - 0.75 * shear

    @staticmethod
    def second_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any, Any]:
        return 8.0 / 3.0 * mu / ((i_c + 1.0) * (i_c + 1.0)), 0.0, lam + 5.0 / 6.0 * mu
