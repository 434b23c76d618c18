# SPDX-License-Identifier: GPL-3.0-or-later
"""Stable Neo-Hookean tets as two constraints that are solved together.

Ψ = μ/2 tr FᵀF + λ'/2 (det F − 1 − r)², with λ' = λ + μ and r = μ/λ' = 1 − 2ν, has no force at rest
and Lamé's moduli μ and λ there. Its terms are the constraints C_D = √(tr FᵀF) of compliance 1/μV
and C_H = det F − 1 − r of compliance 1/λ'V. A tet moves along both their gradients, F/C_D and
cof F, which neither push nor turn it.

Source: Macklin and Müller, "A Constraint-based Formulation of Stable Neo-Hookean Materials",
Motion, Interaction and Games 2021. They solve C_D, then C_H: at long steps the first draws a tet
together and the second turns it inside out or blows it up. That both at once converge better:
Ton-That, Kry and Andrews, "Parallel Block Neo-Hookean XPBD Using Graph Clustering", Computers &
Graphics 110, 2023.
"""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels.torch_matrices import cofactors3, diagonalize, matmul3
from ..kernels.xpbd_tets import relax_neo_hookean
from ..potentials import Elasticity
from .constraints import Constraints, full, upper

#: Shear at rest has the curvature 2μ: μ of tr FᵀF, and μ of det F that its gradient does not show.
#: Below 1.5 of the two, long steps throw the shear of a stiff tet back and forth, and ever further.
SHEAR_FACTOR = 2.0


class NeoHookeanConstraints(Constraints):
    """R = −n (F + κ cof F) with κ = (C_H − n cof F : F T) / (r + n cof F : cof F T).

    n = 1/(1/μVh² + 2τ), τ the largest eigenvalue of T. This is the least of inertia Σ mΔx²/2h² and
    a model of the tet's energy that near rest is nowhere below it,
    μV F : ΔF + μVτ Σ mΔx² + λ'V/2 (C_H + cof F : ΔF)². At rest κ = −1 and R = 0.
    """

    def set_rest_shape(self, elasticity: Elasticity) -> None:
        super().set_rest_shape(elasticity)
        # (M,) τ.
        self._largest = diagonalize(self._inverse_mass_metric)[0].amax(0)

    def _tet_parameters(self, squared_steps: Tensor) -> Tensor:
        compliance = 1.0 / (squared_steps * self._mu * self._volumes)
        gain = 1.0 / (compliance + SHEAR_FACTOR * self._largest)
        ratio = self._mu / (self._lam + self._mu)
        change = gain * upper(self._inverse_mass_metric)
        return torch.cat([change, gain[None], ratio[None], 1.0 + ratio[None]])

    def _response(self, f: Tensor, tet_parameters: Tensor) -> Tensor:
        change, (gain, ratio, rest) = full(tet_parameters[:6]), tet_parameters[6:]
        cofactor = cofactors3(f)
        changed = matmul3(cofactor, change)
        along = (cofactor * changed).sum((0, 1))
        excess = (f[:, 0] * cofactor[:, 0]).sum(0) - rest - (f * changed).sum((0, 1))
        return (f + excess / (ratio + along) * cofactor).mul_(-gain)

    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], tet_data: NDArray[Any], offsets: Any
    ) -> None:
        relax_neo_hookean(positions, corners, tet_data, offsets)
