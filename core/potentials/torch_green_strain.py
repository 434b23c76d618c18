# SPDX-License-Identifier: GPL-3.0-or-later
"""Green strains of tets and the forces of stresses against them, as torch passes.

Symmetric tensors are (6, M): xx, yy, zz, yz, zx, xy.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS
from ..assembly.tets import Tets
from ..kernels.torch_matrices import matmul3

# Row and column of each.
_COMPONENTS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))


class TorchGreenStrain:
    """For CUDA, and where numba is missing."""

    def __init__(self, tets: Tets) -> None:
        self._tets = tets

    def strain(self, positions: Tensor) -> Tensor:
        """(6, M) E = (FᵀF − I)/2."""
        f = self._tets.deformation_gradients(positions)
        strain = 0.5 * torch.stack([(f[:, i] * f[:, j]).sum(0) for i, j in _COMPONENTS])
        strain[:3] -= 0.5
        return strain

    def add_viscous_forces(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        """Adds V F (2a dE/dt + b tr(dE/dt) I) times the shape gradients, in newtons, to ``out``.

        dE/dt = (Fᵀ dF/dt + dF/dtᵀ F)/2; ``shear`` a and ``bulk`` b are (M,), in Pa s.
        """
        f = self._tets.deformation_gradients(positions)
        change = self._tets.deformation_gradients(velocities)
        stress = shear * torch.stack(
            [(f[:, i] * change[:, j] + change[:, i] * f[:, j]).sum(0) for i, j in _COMPONENTS]
        )
        stress[:3] += bulk * (f * change).sum((0, 1))
        self._pull_back(f, stress, out)

    def add_forces(self, positions: Tensor, stress: Tensor, out: Tensor) -> None:
        """Adds V F S times the shape gradients, (3, N) in newtons, to ``out``."""
        self._pull_back(self._tets.deformation_gradients(positions), stress, out)

    def _pull_back(self, f: Tensor, stress: Tensor, out: Tensor) -> None:
        first_piola = matmul3(f, self._tets.volumes * _full(stress))
        gradients = self._tets.shape_gradients[1:]
        self._tets.add_edge_forces(matmul3(first_piola, gradients.transpose(0, 1)), out)

    def hessian_blocks(
        self, positions: Tensor, stress: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m.

        With F g_a for the shape gradient g_a of corner a they are
        V (g_a·S g_b I + a (F g_b ⊗ F g_a + g_a·g_b F Fᵀ) + b F g_a ⊗ F g_b).
        """
        f, volumes = self._tets.deformation_gradients(positions), self._tets.volumes
        inverted, gradients = matmul3(f, f.transpose(0, 1)), self._tets.shape_gradients
        full = _full(stress)
        along = [(f * g).sum(1) for g in gradients]
        for pair, (a, b) in enumerate(CORNER_PAIRS):
            block = shear * (along[b][:, None] * along[a])
            block += shear * (gradients[a] * gradients[b]).sum(0) * inverted
            block += bulk * (along[a][:, None] * along[b])
            geometric = (gradients[a] * (full * gradients[b]).sum(1)).sum(0)
            block.diagonal(dim1=0, dim2=1).T.add_(geometric)
            out[:, pair] = (volumes * block).flatten(0, 1).T


def _full(symmetric: Tensor) -> Tensor:
    """(3, 3, M) of (6, M)."""
    xx, yy, zz, yz, zx, xy = symmetric
    return torch.stack([xx, xy, zx, xy, yy, yz, zx, yz, zz]).view(3, 3, -1)
