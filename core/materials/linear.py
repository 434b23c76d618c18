# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear elasticity, for small deformations and for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .material import Material

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Linear(Material):
    """Ψ = μ ε : ε + λ/2 tr²ε with the small strain ε = (F + Fᵀ)/2 − I.

    It takes a rotation for a deformation: bodies that turn swell.

    Source: Bonet and Wood, "Nonlinear Continuum Mechanics for Finite Element Analysis", 2nd
    edition, section 6.2.
    """

    def energy_density(self, deformation_gradient: Tensor) -> Tensor:
        strain = _strain(deformation_gradient)
        trace = strain.diagonal(dim1=1, dim2=2).sum(1)
        return self.mu * (strain * strain).sum((1, 2)) + 0.5 * self.lam * trace * trace

    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        strain = _strain(deformation_gradient)
        pressure = self.lam * strain.diagonal(dim1=1, dim2=2).sum(1)
        stress = 2.0 * self.mu * strain.permute(1, 2, 0)
        for axis in range(3):
            stress[axis, axis] += pressure
        return stress.permute(2, 0, 1)


def _strain(deformation_gradient: Tensor) -> Tensor:
    strain = 0.5 * (deformation_gradient + deformation_gradient.mT)
    strain.diagonal(dim1=1, dim2=2).sub_(1.0)
    return strain
