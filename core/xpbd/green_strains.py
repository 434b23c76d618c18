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

import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range
from ..kernels.xpbd_tets import LAW, deformation, dot, move, plus, symmetric, times, times_symmetric
from ..materials.eigensystem import product
from ..potentials import Elasticity
from .constraints import Constraints, full, upper

_THIRD = 1.0 / math.sqrt(3.0)
#: B of all six, row by row.
BASIS = (
    (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0),
    (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0),
    (_THIRD, 0.0, 0.0, 0.0, _THIRD, 0.0, 0.0, 0.0, -2.0 * _THIRD),
    (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
)
#: Of all six tr B, and where the law of a tet has the compliance.
TRACES = (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)
COMPLIANCES = (6, 6, 6, 6, 6, 7)
_ZERO = (0.0,) * 9


class GreenStrains(Constraints):
    """R = Σ Δλ F B with Δλ = −C / (α/h² + F B : F B T) and C = E : B."""

    def __init__(self, elasticity: Elasticity, inverse_mass: Tensor) -> None:
        super().__init__(elasticity, inverse_mass)
        like = self._spread
        basis = torch.tensor(BASIS, dtype=like.dtype, device=like.device)
        self._basis = basis.view(6, 3, 3, 1)

    def _law(self, squared_steps: Tensor) -> Tensor:
        bulk = self._lam + 2.0 / 3.0 * self._mu
        shear_compliance, bulk_compliance = (
            1.0 / (squared_steps * modulus * self._volumes) for modulus in (self._mu, bulk)
        )
        return torch.cat([upper(self._spread), shear_compliance[None], bulk_compliance[None]])

    def _response(self, f: Tensor, law: Tensor) -> Tensor:
        spread, response = full(law[:6]), torch.zeros_like(f)
        for basis, trace, compliance in zip(self._basis, TRACES, COMPLIANCES, strict=True):
            gradient = product(f, basis)
            change = product(gradient, spread)
            strain = 0.5 * ((f * gradient).sum((0, 1)) - trace)
            multiplier = -strain / (law[compliance] + (gradient * change).sum((0, 1)))
            response.addcmul_(multiplier, gradient)
            f = f + multiplier * change
        return response

    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], rows: NDArray[Any], starts: Any
    ) -> None:
        _pass(positions, corners, rows, starts)


@compiled(parallel=True)
def _pass(positions: Any, corners: Any, rows: Any, starts: Any) -> None:
    for colour in range(len(starts) - 1):
        for e in shared_range(starts[colour], starts[colour + 1]):
            row = rows[e]
            spread = symmetric(row, LAW)
            f = deformation(positions, corners[e], row)
            r = times(f, _ZERO)
            for k in range(6):
                gradient = times(f, BASIS[k])
                change = times_symmetric(gradient, spread)
                strain = 0.5 * (dot(f, gradient) - TRACES[k])
                multiplier = -strain / (row[LAW + COMPLIANCES[k]] + dot(gradient, change))
                r = plus(r, multiplier, gradient)
                f = plus(f, multiplier, change)
            move(positions, corners[e], row, r)
