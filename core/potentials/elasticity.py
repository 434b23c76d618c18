# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of linear tetrahedra of one material model."""

from __future__ import annotations

import torch
from torch import Tensor

from ..materials import Material
from .potential import Potential


class Elasticity(Potential):
    """Σ Ψ(F_e) V_e.

    Per-tet 3 × 3 quantities are stored component first, tet last: each component is one
    contiguous vector, and a pass over all tets is one vectorised operation.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        gradient: G, (3M, N), see ``sparse.gradient_matrix``.
        divergence: Gᵀ diag(V), (N, 3M), see ``sparse.divergence_matrix``.
        rest_volumes: (M,) in m³.
    """

    def __init__(
        self, material: Material, gradient: Tensor, divergence: Tensor, rest_volumes: Tensor
    ) -> None:
        self._material = material
        self._gradient, self._divergence, self._volumes = gradient, divergence, rest_volumes
        count = len(rest_volumes)
        # F with its first two rows and columns repeated: cofactors become products of shifted
        # views, without a sign or an index.
        self._cyclic = rest_volumes.new_empty(5, 5, count)
        self._f = self._cyclic[:3, :3]
        self._f_rows = [self._cyclic[i, :3].view(-1) for i in range(3)]
        self._cofactor = rest_volumes.new_empty(3, 3, count)
        self._stress = rest_volumes.new_empty(3, 3, count)
        self._stress_rows = [self._stress[i].view(-1) for i in range(3)]
        self._i_c = rest_volumes.new_empty(count)
        self._j = rest_volumes.new_empty(count)

    def energy(self, positions: Tensor) -> Tensor:
        self._deform(positions)
        return torch.dot(self._material.energy(self._i_c, self._j), self._volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self._deform(positions)
        along_f, along_cofactor = self._material.derivatives(self._i_c, self._j)
        torch.mul(self._f, along_f, out=self._stress)
        self._stress.addcmul_(self._cofactor, along_cofactor)
        for i in range(3):
            torch.addmv(out[i], self._divergence, self._stress_rows[i], out=out[i])

    def volume_ratios(self, positions: Tensor) -> Tensor:
        """(M,) J = det F of each tet; the buffer is overwritten by the next evaluation."""
        self._deform(positions)
        return self._j

    def _deform(self, positions: Tensor) -> None:
        """F, its cofactor and the invariants I_C and J of all tets."""
        cyclic, scratch = self._cyclic, self._stress
        for i in range(3):
            torch.mv(self._gradient, positions[i], out=self._f_rows[i])
        cyclic[:3, 3:] = cyclic[:3, :2]
        cyclic[3:] = cyclic[:2]
        torch.mul(cyclic[1:4, 1:4], cyclic[2:5, 2:5], out=self._cofactor)
        self._cofactor.addcmul_(cyclic[1:4, 2:5], cyclic[2:5, 1:4], value=-1.0)
        torch.mul(self._f[0], self._cofactor[0], out=scratch[0])
        torch.sum(scratch[0], 0, out=self._j)
        torch.mul(self._f, self._f, out=scratch)
        torch.sum(scratch.view(9, -1), 0, out=self._i_c)
