# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear elasticity in the Green strain: right for large rotations and small stretches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import SceneError
from .material import StretchMaterial


@dataclass(frozen=True, eq=False)
class StVenantKirchhoff(StretchMaterial):
    """Ψ = μ E : E + λ/2 tr²E with the Green strain E = (FᵀF − I)/2.

    Compressed below 1/√3 of its length (at ν = 0) it pushes back less and less, and collapses;
    κ/12 ((1 − J)/6)³ where J < 1 holds against that.

    Args:
        compression_resistance: κ in pascal, some thousand times Young's modulus; 0 for none.

    Source: Bonet and Wood, "Nonlinear Continuum Mechanics for Finite Element Analysis", 2nd
    edition, section 6.4; the compression resistance is that of Barbič, Sin and Schroeder, "Vega FEM
    Library", 2012.

    Raises:
        SceneError: when a parameter lies outside its range.
    """

    compression_resistance: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        kappa = self.compression_resistance
        if not 0.0 <= kappa < float("inf"):
            raise SceneError(
                f"The compression resistance must be 0 Pa or more, not {kappa:g}; "
                "a thousand times Young's modulus is a start."
            )

    @staticmethod
    def strain_energy_density(a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any:
        x, y, z = 0.5 * (a * a - 1.0), 0.5 * (b * b - 1.0), 0.5 * (c * c - 1.0)
        trace, compression = x + y + z, 1.0 - a * b * c
        compression = 0.5 * (compression + abs(compression))
        volumetric = kappa / 2592.0 * compression * compression * compression
        return mu * (x * x + y * y + z * z) + 0.5 * lam * trace * trace + volumetric

    @staticmethod
    def first_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, Any, Any]:
        # The derivative by a stretch s: s (2μ (s² − 1)/2 + λ tr E).
        base = 0.5 * lam * (a * a + b * b + c * c - 3.0) - mu
        compression = 1.0 - a * b * c
        compression = 0.5 * (compression + abs(compression))
        d_j = -kappa / 864.0 * compression * compression
        return (
            a * (base + mu * a * a) + d_j * b * c,
            b * (base + mu * b * b) + d_j * c * a,
            c * (base + mu * c * c) + d_j * a * b,
        )

    @staticmethod
    def second_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, ...]:
        base = 0.5 * lam * (a * a + b * b + c * c - 3.0) - mu
        along = lam + 3.0 * mu
        compression = 1.0 - a * b * c
        compression = 0.5 * (compression + abs(compression))
        d_j, twice = -kappa / 864.0 * compression * compression, kappa / 432.0 * compression
        x, y, z = b * c, c * a, a * b
        return (
            base + along * a * a + twice * x * x,
            base + along * b * b + twice * y * y,
            base + along * c * c + twice * z * z,
            lam * x + twice * y * z + d_j * a,
            lam * y + twice * z * x + d_j * b,
            lam * z + twice * x * y + d_j * c,
            base + mu * (b * b + x + c * c) - d_j * a,
            base + mu * (c * c + y + a * a) - d_j * b,
            base + mu * (a * a + z + b * b) - d_j * c,
            base + mu * (b * b - x + c * c) + d_j * a,
            base + mu * (c * c - y + a * a) + d_j * b,
            base + mu * (a * a - z + b * b) + d_j * c,
        )
