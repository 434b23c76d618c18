# SPDX-License-Identifier: GPL-3.0-or-later
"""St. Venant–Kirchhoff tets as six constraints: the Green strain in a basis of Hooke's law.

With E = (FᵀF − I)/2 the energy V (μ E : E + λ/2 tr²E) is the sum of the squares of E : B, each over
twice its compliance: three shears and two differences of stretches of 1/μV, and tr E of 1/KV with
K = λ + 2μ/3. So Hooke's law needs no matrix, and a tet solves one number after the other, F brought
up to date between.

Source of the constraints: Müller, Chentanez, Kim and Macklin, "Strain Based Dynamics", Symposium on
Computer Animation 2014; of their compliance: Macklin, Müller and Chentanez, "XPBD", Motion in Games
2016.
"""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels.torch_matrices import matmul3
from ..kernels.xpbd_tets import BASIS, COMPLIANCES, TRACES, relax_green_strains
from ..potentials import Elasticity
from .constraints import Constraints, full, upper


class GreenStrains(Constraints):
    """R = Σ Δλ F B with Δλ = −C / (α/h² + F B : F B T) and C = E : B."""

    def __init__(self, elasticity: Elasticity, inverse_mass: Tensor) -> None:
        super().__init__(elasticity, inverse_mass)
        template = self._inverse_mass_metric
        basis = torch.tensor(BASIS, dtype=template.dtype, device=template.device)
        self._basis = basis.view(6, 3, 3, 1)

    def _tet_parameters(self, squared_steps: Tensor) -> Tensor:
        bulk = self._lam + 2.0 / 3.0 * self._mu
        shear_compliance, bulk_compliance = (
            1.0 / (squared_steps * modulus * self._volumes) for modulus in (self._mu, bulk)
        )
        return torch.cat(
            [upper(self._inverse_mass_metric), shear_compliance[None], bulk_compliance[None]]
        )

    def _response(self, f: Tensor, tet_parameters: Tensor) -> Tensor:
        inverse_mass_metric, response = full(tet_parameters[:6]), torch.zeros_like(f)
        for basis, trace, compliance in zip(self._basis, TRACES, COMPLIANCES, strict=True):
            gradient = matmul3(f, basis)
            change = matmul3(gradient, inverse_mass_metric)
            strain = 0.5 * ((f * gradient).sum((0, 1)) - trace)
            multiplier = -strain / (tet_parameters[compliance] + (gradient * change).sum((0, 1)))
            response.addcmul_(multiplier, gradient)
            f = f + multiplier * change
        return response

    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], tet_data: NDArray[Any], offsets: Any
    ) -> None:
        relax_green_strains(positions, corners, tet_data, offsets)
