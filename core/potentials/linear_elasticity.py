# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of linear tetrahedra of the linear model: one matrix for all."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix, BlockPattern
from ..assembly.block_rows import matrix_rows
from ..assembly.tets import Tets
from ..materials import Material
from .elasticity import Elasticity
from .keyed_rest_shape import KeyedRestShape


class LinearElasticity(Elasticity):
    """½ uᵀ K u with the displacement u from the rest shape; K is that of the modelled one."""

    def _set_material(self, material: Material) -> None:
        self.material = material
        template, count = self.tets.template, len(self.tets.template)
        self._blocks = _element_blocks(self.tets, material)
        corners = self.corners.cpu().numpy()
        pattern = BlockPattern(corners, np.arange(count), count, template.device)
        matrix = BlockMatrix(pattern, template.dtype)
        matrix.add_elements(pattern.locate(corners), self._blocks)
        self._stiffness = matrix_rows(pattern, template.dtype)
        self._stiffness.set_values(matrix)
        self._rest = template.new_zeros(3, count)
        for first, mesh in self.tets.meshes:
            vertices = torch.as_tensor(mesh.vertices.T).to(template)
            self._rest[:, first : first + vertices.shape[1]] = vertices

    def limit_poisson(self, limited: Tensor, highest: float) -> None:
        """Its one matrix stays: it has no energy that folds could be held by."""

    def _take_rest_shape(self, rest_shape: KeyedRestShape, amounts: Tensor) -> None:
        super()._take_rest_shape(rest_shape, amounts)
        rest_shape.put_into(self._rest)

    def _unscaled_energy(self, positions: Tensor) -> Tensor:
        displacement = positions - self._rest
        return 0.5 * (displacement * self._stiffness.matvec(displacement)).sum()

    def _add_unscaled_gradient(self, positions: Tensor, out: Tensor) -> None:
        out += self._stiffness.matvec(positions - self._rest)

    def _unscaled_blocks(self, positions: Tensor, projected: bool) -> Tensor:
        return self._blocks


def _element_blocks(tets: Tets, material: Material) -> Tensor:
    """(M, 10, 9) blocks V (λ g_a g_bᵀ + μ g_b g_aᵀ + μ g_a·g_b I) of the shape gradients g."""
    gradients = tets.shape_gradients.permute(2, 0, 1)
    mu, lam = (tets.volumes * modulus for modulus in (material.mu, material.lam))
    blocks = gradients.new_empty(len(gradients), len(CORNER_PAIRS), 3, 3)
    for pair, (a, b) in enumerate(CORNER_PAIRS):
        outer = gradients[:, a, :, None] * gradients[:, b, None]
        blocks[:, pair] = lam[:, None, None] * outer + mu[:, None, None] * outer.mT
        along = mu * (gradients[:, a] * gradients[:, b]).sum(1)
        blocks[:, pair].diagonal(dim1=1, dim2=2).add_(along[:, None])
    return blocks.flatten(2)
