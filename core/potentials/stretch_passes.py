# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy and gradient of models in the principal stretches, as torch passes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..element_maps import edge_divergence
from ..materials import StretchMaterial
from ..materials.eigensystem import product, signed_svd
from ..tet_mesh import TetMesh


class StretchPasses:
    """Energy and gradient of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        corners: (4, M) int32 vertex indices.
        volumes: (M,) in m³.
        meshes: (index of its first vertex, mesh) for each body.
        like: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self,
        material: StretchMaterial,
        corners: Tensor,
        volumes: Tensor,
        meshes: list[tuple[int, TetMesh]],
        like: Tensor,
    ) -> None:
        self._material, self._corners, self._volumes = material, corners.view(-1), volumes
        self._meshes, self._like = meshes, like

    @cached_property
    def _divergence(self) -> Tensor:
        return edge_divergence(self._meshes, self._like)

    @cached_property
    def _gradients(self) -> Tensor:
        """(3, 3, M): of the shape functions of corners 1 to 3, in 1/m."""
        gradients = np.concatenate([mesh.shape_gradients[:, 1:] for _, mesh in self._meshes])
        return torch.as_tensor(gradients).permute(1, 2, 0).to(self._volumes).contiguous()

    def energy(self, positions: Tensor) -> Tensor:
        """In joules, a tensor of no dimension."""
        _, (a, b, c), _ = self._svd(positions)
        own = self._material
        return torch.dot(own.density(a, b, c, own.mu, own.lam, own.guard), self._volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        u, (a, b, c), v = self._svd(positions)
        own = self._material
        slopes = self._volumes * torch.stack(own.law(a, b, c, own.mu, own.lam, own.guard))
        stress = product(u * slopes, v.transpose(0, 1))
        forces = product(stress, self._gradients.transpose(0, 1))
        for i in range(3):
            torch.addmv(out[i], self._divergence, forces[i].reshape(-1), out=out[i])

    def _svd(self, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gathered = positions.index_select(1, self._corners).view(3, 4, -1)
        return signed_svd(product(gathered[:, 1:] - gathered[:, :1], self._gradients))
