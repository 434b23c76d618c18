# SPDX-License-Identifier: GPL-3.0-or-later
"""The materials' laws for the compiled loops over tets, chosen by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, is_compiled
from ..materials import (
    AsRigidAsPossible,
    CorotatedLinear,
    Material,
    NeoHookean,
    StableNeoHookean,
    StretchMaterial,
    StVenantKirchhoff,
)

#: The laws that the compiled loops know, by the number they are given.
LAWS: list[type[Material]] = [
    StableNeoHookean,
    NeoHookean,
    CorotatedLinear,
    AsRigidAsPossible,
    StVenantKirchhoff,
]
#: From here on they are written in the principal stretches.
FIRST_STRETCH_LAW = LAWS.index(CorotatedLinear)
_STABLE_NEO_HOOKEAN = LAWS.index(StableNeoHookean)
_ST_VENANT_KIRCHHOFF = LAWS.index(StVenantKirchhoff)


def has_kernel(material: Material, template: Tensor) -> bool:
    """Whether compiled loops can take the tets of this material on the device of ``template``."""
    return is_compiled() and not template.is_cuda and type(material) in LAWS


class Constants:
    """What the compiled loops read of each tet.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        volumes: (M,) in m³, on the CPU.
    """

    def __init__(self, material: Material, volumes: Tensor) -> None:
        self.law = LAWS.index(type(material))
        precision = volumes.numpy().dtype.type
        self.low, self.high = (precision(limit) for limit in material.valid_j_range())
        #: κ in pascal.
        self.kappa = 0.0
        if isinstance(material, StretchMaterial):
            self.kappa = float(material.compression_resistance)
        #: (2, M) Lamé's μ and λ in pascal.
        self.moduli: NDArray[Any] = np.stack(
            [
                torch.as_tensor(modulus, dtype=volumes.dtype).expand(len(volumes)).numpy()
                for modulus in (material.mu, material.lam)
            ]
        )


@compiled()
def _log(value: Any) -> Any:
    return math.log(value)


_stable_first = compiled()(StableNeoHookean.first_derivatives)
_stable_second = compiled()(StableNeoHookean.second_derivatives)
_stable_density = compiled()(StableNeoHookean.strain_energy_density)
_neo_first = compiled()(NeoHookean.first_derivatives)
_neo_second = compiled()(NeoHookean.second_derivatives)
_neo_density = compiled()(NeoHookean.strain_energy_density)
_corotated_first = compiled()(CorotatedLinear.first_derivatives)
_corotated_second = compiled()(CorotatedLinear.second_derivatives)
_corotated_density = compiled()(CorotatedLinear.strain_energy_density)
_green_first = compiled()(StVenantKirchhoff.first_derivatives)
_green_second = compiled()(StVenantKirchhoff.second_derivatives)
_green_density = compiled()(StVenantKirchhoff.strain_energy_density)


@compiled()
def first_derivatives(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.first_derivatives``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_first(i_c, j, mu, lam)
    return _neo_first(i_c, j, mu, lam)


@compiled()
def second_derivatives(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.second_derivatives``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_second(i_c, j, mu, lam)
    return _neo_second(i_c, j, mu, lam)


@compiled()
def strain_energy_density(law: int, i_c: Any, j: Any, mu: Any, lam: Any) -> Any:
    """See ``InvariantMaterial.strain_energy_density``."""
    if law == _STABLE_NEO_HOOKEAN:
        return _stable_density(i_c, j, mu, lam, _log)
    return _neo_density(i_c, j, mu, lam, _log)


@compiled()
def principal_stresses(law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any:
    """See ``StretchMaterial.first_derivatives``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_first(a, b, c, mu, lam, kappa)
    return _corotated_first(a, b, c, mu, lam, kappa)


@compiled()
def stretch_second_derivatives(
    law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
) -> Any:
    """See ``StretchMaterial.second_derivatives``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_second(a, b, c, mu, lam, kappa)
    return _corotated_second(a, b, c, mu, lam, kappa)


@compiled()
def stretch_energy_density(
    law: int, a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
) -> Any:
    """See ``StretchMaterial.strain_energy_density``."""
    if law == _ST_VENANT_KIRCHHOFF:
        return _green_density(a, b, c, mu, lam, kappa)
    return _corotated_density(a, b, c, mu, lam, kappa)
