# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear elasticity in a frame that turns with the tet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .material import StretchMaterial

# A sum of two stretches is taken for no less: only a tet flattened to a line comes here.
SMALLEST_SUM = 1e-8


@dataclass(frozen=True, eq=False)
class CorotatedLinear(StretchMaterial):
    """Ψ = μ ‖F − R‖² + λ/2 tr²(RᵀF − I), R the rotation of F.

    Source: Müller and Gross, "Interactive Virtual Materials", Graphics Interface 2004; as an energy
    McAdams et al., "Efficient Elasticity for Character Skinning with Contact and Collisions", ACM
    Transactions on Graphics 30(4), 2011.
    """

    @staticmethod
    def strain_energy_density(a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float) -> Any:
        x, y, z = a - 1.0, b - 1.0, c - 1.0
        trace = x + y + z
        return mu * (x * x + y * y + z * z) + 0.5 * lam * trace * trace

    @staticmethod
    def first_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, Any, Any]:
        pressure = lam * (a + b + c - 3.0)
        return (
            2.0 * mu * (a - 1.0) + pressure,
            2.0 * mu * (b - 1.0) + pressure,
            2.0 * mu * (c - 1.0) + pressure,
        )

    @staticmethod
    def second_derivatives(
        a: Any, b: Any, c: Any, mu: Any, lam: Any, kappa: float
    ) -> tuple[Any, ...]:
        along, flip = lam + 2.0 * mu, 2.0 * mu + 0.0 * a
        turning = 2.0 * lam * (a + b + c - 3.0) - 4.0 * mu
        return (
            along + 0.0 * a,
            along + 0.0 * a,
            along + 0.0 * a,
            lam + 0.0 * a,
            lam + 0.0 * a,
            lam + 0.0 * a,
            flip,
            flip,
            flip,
            flip + turning / (abs(b + c) + SMALLEST_SUM),
            flip + turning / (abs(c + a) + SMALLEST_SUM),
            flip + turning / (abs(a + b) + SMALLEST_SUM),
        )


@dataclass(frozen=True, eq=False)
class AsRigidAsPossible(CorotatedLinear):
    """Ψ = μ ‖F − R‖²: corotated linear elasticity that does not resist changes of volume.

    Poisson's ratio counts only for the shear modulus it gives.

    Source: Chao, Pinkall, Sanan and Schröder, "A Simple Geometric Model for Elastic Deformations",
    ACM Transactions on Graphics 29(4), 2010.
    """

    @property
    def lam(self) -> Any:
        return 0.0 * self.young
