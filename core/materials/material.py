# SPDX-License-Identifier: GPL-3.0-or-later
"""What every elastic model offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
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
        """What bodies must share for their tets to be evaluated together."""
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
    """None of a tensor on another device, which they would have to be waited for."""
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
