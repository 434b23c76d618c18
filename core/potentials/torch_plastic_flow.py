# SPDX-License-Identifier: GPL-3.0-or-later
"""The plastic flow of tets as torch passes: for CUDA, and where numba is missing.

Formulas and sources: ``plastic_flow``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..kernels.plastic_flow import MIN_SQUARED_STRETCH
from ..kernels.torch_matrices import det3, diagonalize, matmul3


class TorchFlow:
    """The return map of the tets of one elasticity.

    Args:
        tets: whose rest shapes flow; what passes read of those is written to.
        constants: (5, M), as ``TetFlow`` takes them.
    """

    def __init__(self, tets: Tets, constants: Tensor) -> None:
        self._tets, self._constants = tets, constants
        self._rest = tets.shape_gradients[1:].clone()

    def set_rest_shapes(self, plastic: Tensor) -> None:
        """Gives the tets the rest shapes that (10, M) plastic strains say."""
        flowed = matmul3(self._rest, plastic[:9].view(3, 3, -1))
        self._tets.set_rest_gradients(torch.where(plastic[9] > 0.0, flowed, self._rest))

    def flow(self, positions: Tensor, seconds: float, plastic: Tensor) -> bool:
        """Lets them flow at (3, N) positions, in place; whether any may have."""
        mu, yield_stress, hardening, creep_time, limit = self._constants
        f = self._tets.deformation_gradients(positions)
        squares, v = diagonalize(matmul3(f.transpose(0, 1), f))
        is_solid = (squares.amin(0) >= MIN_SQUARED_STRETCH) & (det3(f) > 0.0)
        strain = 0.5 * squares.clamp(min=MIN_SQUARED_STRETCH).log()
        strain -= strain.mean(0)
        stress = 2.0 * mu * (1.5 * strain.square().sum(0)).sqrt()
        excess = stress - (yield_stress + hardening * plastic[9])
        relaxed = -torch.expm1(-seconds / creep_time)
        growth = is_solid * relaxed * excess.clamp(min=0.0) / (3.0 * mu + hardening)
        flows = growth > 0.0
        factors = torch.exp(-3.0 * mu * growth / torch.where(flows, stress, 1.0) * strain)
        old = plastic[:9].view(3, 3, -1)
        new = matmul3(old, _scaled(v, factors))
        new *= det3(new).pow(-1.0 / 3.0)
        size, values, axes = _principal(new)
        is_over = size > limit
        back = values.pow(0.5 * (torch.where(is_over, limit / size, 1.0) - 1.0))
        new = torch.where(is_over, matmul3(_scaled(axes, back), new), new)
        left = torch.minimum(growth, (limit - _principal(old)[0]).clamp(min=0.0))
        plastic[9] += torch.where(is_over, left, growth)
        plastic[:9] = torch.where(flows, new, old).view(9, -1)
        self.set_rest_shapes(plastic)
        return True


def plastic_size(plastic: Tensor) -> Tensor:
    """(M,) √⅔ |ln U_p| of (10, M) plastic strains, which is the strain of a bar."""
    return _principal(plastic[:9].view(3, 3, -1))[0]


def _principal(inverse: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(M,) √⅔ |ln U_p|, and U_p⁻² = F_p⁻¹ F_p⁻ᵀ in principal axes: values and axes."""
    values, axes = diagonalize(matmul3(inverse, inverse.transpose(0, 1)))
    return (values.log().square().sum(0) / 6.0).sqrt(), values, axes


def _scaled(axes: Tensor, factors: Tensor) -> Tensor:
    return matmul3(axes * factors, axes.transpose(0, 1))
