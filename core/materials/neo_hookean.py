# SPDX-License-Identifier: GPL-3.0-or-later
"""The classical compressible Neo-Hookean solid with a logarithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .material import InvariantMaterial, Material


@dataclass(frozen=True, eq=False)
class NeoHookean(InvariantMaterial):
    """Ψ = μ/2 (I_C − 3) − μ ln J + λ/2 (J − 1)².

    The terms in J continue along their tangents below ``j_min`` and above ``j_max``: the energy
    stays finite and its derivative continuous when an explicit step passes through J = 0, where
    the model itself is not defined.

    Args:
        j_min, j_max: the volume ratios between which the model is used as it stands.

    Source: Bonet and Wood, "Nonlinear Continuum Mechanics for Finite Element Analysis", 2nd
    edition, section 6.4.3, with (J − 1)² as its volumetric term.
    """

    j_min: float = 0.1
    j_max: float = 10.0

    @staticmethod
    def strain_energy_density(
        i_c: Any, j: Any, mu: Any, lam: Any, log: Callable[[Any], Any]
    ) -> Any:
        return 0.5 * mu * (i_c - 3.0) - mu * log(j) + 0.5 * lam * (j - 1.0) * (j - 1.0)

    @staticmethod
    def first_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any]:
        return mu, lam * (j - 1.0) - mu / j

    @staticmethod
    def second_derivatives(i_c: Any, j: Any, mu: Any, lam: Any) -> tuple[Any, Any, Any]:
        return 0.0, 0.0, lam + mu / (j * j)

    def valid_j_range(self) -> tuple[float, float]:
        return self.j_min, self.j_max

    def without_extrapolation(self) -> Material:
        return replace(self, j_min=0.0, j_max=math.inf)
