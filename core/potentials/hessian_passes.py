# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic Hessian as torch passes over all tets: for CUDA, and where numba is missing."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..linear_solvers.block_matrix import CORNER_PAIRS
from ..materials import Material
from ..materials.eigensystem import eigensystem, product
from ..tet_mesh import TetMesh


class HessianPasses:
    """Hessians of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        corners: (4, M) int32 vertex indices.
        meshes: (index of its first vertex, mesh) for each body.
        volumes: (M,) in m³.
    """

    def __init__(
        self,
        material: Material,
        corners: Tensor,
        meshes: list[tuple[int, TetMesh]],
        volumes: Tensor,
    ) -> None:
        self._material, self._corners = material, corners
        self._meshes, self._volumes = meshes, volumes

    @cached_property
    def _gradients(self) -> Tensor:
        """(4, 3, M) of the shape functions, in 1/m."""
        gradients = np.concatenate([mesh.shape_gradients for _, mesh in self._meshes])
        return torch.as_tensor(gradients).permute(1, 2, 0).to(self._volumes).contiguous()

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        hessian = eigensystem(self._material, self._deformation_gradients(positions))
        if projected:
            hessian = hessian.projected()
        weighted = self._volumes * self._gradients
        for pair, (a, b) in enumerate(CORNER_PAIRS):
            out[:, pair] = hessian.contract(weighted[a], self._gradients[b]).flatten(0, 1).T

    def _deformation_gradients(self, positions: Tensor) -> Tensor:
        """(3, 3, M)."""
        corners = positions.index_select(1, self._corners.view(-1)).view(3, 4, -1)
        return product(corners[:, 1:] - corners[:, :1], self._gradients[1:])
