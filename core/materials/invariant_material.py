# SPDX-License-Identifier: GPL-3.0-or-later
"""Models written in the invariants I_C = tr FᵀF and J = det F."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .material import Material, Parameter

if TYPE_CHECKING:
    from torch import Tensor


class InvariantMaterial(Material):
    """A material whose energy depends on F through I_C and J."""

    # The next three are arithmetic alone, so that one definition serves tensors and the compiled
    # loops over tets.

    @staticmethod
    @abstractmethod
    def strain_energy_density(
        i_c: Any, j: Any, mu: Any, lam: Any, log: Callable[[Any], Any]
    ) -> Any:
        """Energy density Ψ in J/m³, zero at rest; ``log`` is the natural logarithm."""

    @staticmethod
    @abstractmethod
    def first_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any]:
        """2 ∂Ψ/∂I_C and ∂Ψ/∂J, so that P = 2 ∂Ψ/∂I_C F + ∂Ψ/∂J cof F."""

    @staticmethod
    @abstractmethod
    def second_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any, Any]:
        """4 ∂²Ψ/∂I_C², 2 ∂²Ψ/∂I_C∂J and ∂²Ψ/∂J²."""

    def energy(self, i_c: Tensor, j: Tensor) -> Tensor:
        """(M,) energy densities Ψ in J/m³ of tets with these invariants."""
        inside = j.clamp(*self.valid_j_range())
        _, slope = self.first_derivatives(i_c, inside, self.mu, self.lam)
        at_limit: Tensor = self.strain_energy_density(
            i_c, inside, self.mu, self.lam, lambda value: value.log()
        )
        return at_limit + slope * (j - inside)

    def derivatives(self, i_c: Tensor, j: Tensor) -> tuple[Parameter, Tensor]:
        """2 ∂Ψ/∂I_C and ∂Ψ/∂J of tets with these invariants."""
        return self.first_derivatives(i_c, j.clamp(*self.valid_j_range()), self.mu, self.lam)

    def energy_density(self, deformation_gradient: Tensor) -> Tensor:
        i_c, j, _ = _invariants(deformation_gradient)
        return self.energy(i_c, j)

    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        i_c, j, cofactor = _invariants(deformation_gradient)
        along_f, along_cofactor = self.derivatives(i_c, j)
        along_f = along_f[:, None, None] if hasattr(along_f, "ndim") else along_f
        return along_f * deformation_gradient + along_cofactor[:, None, None] * cofactor


def _invariants(f: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """I_C, J and the cofactor matrix of (M, 3, 3) gradients."""
    rows = [f[:, i] for i in range(3)]
    cofactor = f.new_empty(f.shape)
    for i in range(3):
        cofactor[:, i] = rows[(i + 1) % 3].cross(rows[(i + 2) % 3], dim=-1)
    return (f * f).sum((1, 2)), (f[:, 0] * cofactor[:, 0]).sum(1), cofactor
