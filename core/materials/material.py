# SPDX-License-Identifier: GPL-3.0-or-later
"""Elastic materials, written in invariants or in principal stretches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError

if TYPE_CHECKING:
    from torch import Tensor


#: A number for a uniform body, or one value a tet: (M,) array or tensor.
Parameter = Any

#: The fields that may differ from tet to tet.
PARAMETERS = ("young", "poisson")


@dataclass(frozen=True, eq=False)
class Material(ABC):
    """An isotropic elastic material.

    Args:
        young: Young's modulus E in pascal, a number or one value a tet.
        poisson: Poisson's ratio, above -1 and below 0.5, a number or one value a tet.

    Raises:
        SceneError: when a parameter lies outside its range.
    """

    young: Parameter = 1e5
    poisson: Parameter = 0.45

    def __post_init__(self) -> None:
        _require(_numbers(self.young), _numbers(self.poisson))

    @property
    def mu(self) -> Parameter:
        """Shear modulus, Lamé's second parameter, in pascal."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def lam(self) -> Parameter:
        """Lamé's first parameter, in pascal."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))

    def model(self) -> tuple[object, ...]:
        """Return the properties that bodies must share for their tets to be evaluated together."""
        others = (getattr(self, f.name) for f in fields(self) if f.name not in PARAMETERS)
        return (type(self), *others)

    def valid_j_range(self) -> tuple[float, float]:
        """Between which J the law holds; beyond, Ψ continues along its tangent in J."""
        return -math.inf, math.inf

    def without_extrapolation(self) -> Material:
        """The same law wherever it is defined, without a continuation."""
        return self

    @abstractmethod
    def energy_density(self, deformation_gradient: Tensor) -> Tensor:
        """(M, 3, 3) deformation gradients to (M,) energy densities in J/m³.

        Autograd differentiates it twice; its first derivative is ``first_piola``.
        """

    @abstractmethod
    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        """(M, 3, 3) deformation gradients to (M, 3, 3) first Piola–Kirchhoff stresses in pascal.

        Autograd differentiates it once.
        """


def _numbers(values: Parameter) -> NDArray[np.float64]:
    """Return values as numbers; none of a tensor on another device, since reading them would
    wait for it.
    """
    if hasattr(values, "detach"):
        values = values.detach() if values.device.type == "cpu" else []
    return np.asarray(values, dtype=float)


def _require(stiffness: NDArray[np.float64], ratio: NDArray[np.float64]) -> None:
    if not (np.isfinite(stiffness).all() and (stiffness > 0.0).all()):
        raise SceneError(
            f"Stiffness (Young's modulus) must be above 0 Pa, not {stiffness.min():g}; "
            "jelly has about 5e3, rubber 1e6."
        )
    if not (np.isfinite(ratio).all() and (ratio > -1.0).all() and (ratio < 0.5).all()):
        worst = ratio.max() if not (ratio < 0.5).all() else ratio.min()
        raise SceneError(
            f"Poisson's ratio must lie above -1 and below 0.5, not {worst:g}; "
            "0.4999 is as good as incompressible."
        )


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
        from ..math3.torch_matrices import energy_density

        return energy_density(self, deformation_gradient)

    def first_piola(self, deformation_gradient: Tensor) -> Tensor:
        from ..math3.torch_matrices import first_piola

        return first_piola(self, deformation_gradient)
