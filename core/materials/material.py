# SPDX-License-Identifier: GPL-3.0-or-later
"""What every hyperelastic model offers, written in the invariants I_C = tr FᵀF and J = det F."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SceneError

if TYPE_CHECKING:
    from torch import Tensor

#: A number for a uniform body, or one value a tet: (M,) array or tensor.
Parameter = Any

#: The fields that may differ from tet to tet.
PARAMETERS = ("young", "poisson")


@dataclass(frozen=True, eq=False)
class Material(ABC):
    """An isotropic hyperelastic material whose energy depends on F through I_C and J.

    Args:
        young: Young's modulus E in pascal, a number or one value a tet.
        poisson: Poisson's ratio, above -1 and below 0.5, a number or one value a tet.

    Raises:
        SceneError: when a parameter lies outside its range.
    """

    young: Parameter = 1e5
    poisson: Parameter = 0.45

    def __post_init__(self) -> None:
        if isinstance(self.young, (int, float, list, tuple, np.ndarray)):
            _require(self.young, self.poisson)

    @property
    def mu(self) -> Parameter:
        """Shear modulus, Lamé's second parameter, in pascal."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def lam(self) -> Parameter:
        """Lamé's first parameter, in pascal."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))

    @property
    def p_wave_modulus(self) -> Parameter:
        """λ + 2μ in pascal: over the density, the square of the fastest wave's speed at rest."""
        return self.lam + 2.0 * self.mu

    def model(self) -> tuple[object, ...]:
        """What bodies must share for their tets to be evaluated together."""
        others = (getattr(self, f.name) for f in fields(self) if f.name not in PARAMETERS)
        return (type(self), *others)

    # The next three are arithmetic alone, so that one definition serves tensors and the compiled
    # loops over tets.

    @staticmethod
    @abstractmethod
    def density(i_c: Any, j: Any, mu: Any, lam: Any, log: Callable[[Any], Any]) -> Any:
        """Energy density Ψ in J/m³, zero at rest; ``log`` is the natural logarithm."""

    @staticmethod
    @abstractmethod
    def law(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any]:
        """2 ∂Ψ/∂I_C and ∂Ψ/∂J, so that P = 2 ∂Ψ/∂I_C F + ∂Ψ/∂J cof F."""

    @staticmethod
    @abstractmethod
    def curvature(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any, Any]:
        """4 ∂²Ψ/∂I_C², 2 ∂²Ψ/∂I_C∂J and ∂²Ψ/∂J²."""

    def volume_limits(self) -> tuple[float, float]:
        """Between which J the law holds; beyond, Ψ continues along its tangent in J."""
        return -math.inf, math.inf

    def unlimited(self) -> Material:
        """The same law wherever it is defined, without a continuation."""
        return self

    def energy(self, i_c: Tensor, j: Tensor) -> Tensor:
        """(M,) energy densities Ψ in J/m³ of tets with these invariants."""
        inside = j.clamp(*self.volume_limits())
        _, slope = self.law(i_c, inside, self.mu, self.lam)
        at_limit: Tensor = self.density(i_c, inside, self.mu, self.lam, lambda value: value.log())
        return at_limit + slope * (j - inside)

    def derivatives(self, i_c: Tensor, j: Tensor) -> tuple[Parameter, Tensor]:
        """2 ∂Ψ/∂I_C and ∂Ψ/∂J of tets with these invariants."""
        return self.law(i_c, j.clamp(*self.volume_limits()), self.mu, self.lam)

    def energy_density(self, deformation_gradient: Tensor) -> Tensor:
        """(M, 3, 3) deformation gradients to (M,) energy densities in J/m³."""
        i_c, j, _ = _invariants(deformation_gradient)
        return self.energy(i_c, j)

    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        """(M, 3, 3) deformation gradients to (M, 3, 3) first Piola–Kirchhoff stresses in pascal."""
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


def _require(young: Parameter, poisson: Parameter) -> None:
    stiffness, ratio = np.asarray(young, dtype=float), np.asarray(poisson, dtype=float)
    if not (np.isfinite(stiffness).all() and (stiffness > 0.0).all()):
        raise SceneError(
            f"Young's modulus must be above 0 Pa, not {stiffness.min():g}; "
            "jelly has about 1e4, rubber 1e6."
        )
    if not (np.isfinite(ratio).all() and (ratio > -1.0).all() and (ratio < 0.5).all()):
        worst = ratio.max() if not (ratio < 0.5).all() else ratio.min()
        raise SceneError(
            f"Poisson's ratio must lie above -1 and below 0.5, not {worst:g}; "
            "0.49 is nearly incompressible."
        )
