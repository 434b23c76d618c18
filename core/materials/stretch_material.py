# SPDX-License-Identifier: GPL-3.0-or-later
"""Models written in the principal stretches, the singular values of F."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from .material import Material

if TYPE_CHECKING:
    from torch import Tensor


class StretchMaterial(Material):
    """A material whose energy depends on F through its singular values a, b, c.

    They are those of F = U diag(a, b, c) Vᵀ with rotations U and V, so that one of them is negative
    where a tet is inverted. The three functions are arithmetic alone and serve tensors and the
    compiled loops over tets.

    Args:
        compression_resistance: κ in pascal of a term κ/12 ((1 − J)/6)³ where J < 1, for models that
            need it.
    """

    compression_resistance: float = 0.0

    @staticmethod
    @abstractmethod
    def strain_energy_density(a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any:
        """Energy density Ψ in J/m³, zero at rest."""

    @staticmethod
    @abstractmethod
    def first_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, Any, Any]:
        """∂Ψ by each stretch, so that P = U diag(law) Vᵀ."""

    @staticmethod
    @abstractmethod
    def second_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, ...]:
        """Twelve numbers: ∂²Ψ by each stretch twice, by the other two of each axis, and for each
        axis, of the other two, the flip (Ψ_i − Ψ_j)/(σ_i − σ_j) and twist (Ψ_i + Ψ_j)/(σ_i + σ_j).
        """

    def energy(self, stretches: Tensor) -> Tensor:
        """(M,) energy densities Ψ in J/m³ of tets with these (3, M)."""
        (a, b, c), kappa = stretches, self.compression_resistance
        density: Tensor = self.strain_energy_density(a, b, c, self.mu, self.lam, kappa)
        return density

    def derivatives(self, stretches: Tensor) -> tuple[Any, Any, Any]:
        """∂Ψ by each stretch of tets with these (3, M)."""
        (a, b, c), kappa = stretches, self.compression_resistance
        return self.first_derivatives(a, b, c, self.mu, self.lam, kappa)

    # Materials are described where torch is not loaded.
    def energy_density(self, deformation_gradient: Tensor) -> Tensor:
        from ..kernels.stretch_derivatives import energy_density

        return energy_density(self, deformation_gradient)

    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        from ..kernels.stretch_derivatives import first_piola

        return first_piola(self, deformation_gradient)
