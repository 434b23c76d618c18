# SPDX-License-Identifier: GPL-3.0-or-later
"""The tetrahedra of a scene that lie below the level of a fluid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..geometry.groups import grouped
from ..geometry.segments import segment_sums
from ..geometry.tet_mesh import TetMesh
from .submersion import cut_products, mean_depth, submerged_shares


class SubmergedTets:
    """What of them is below, by their volumes at rest.

    Args:
        meshes: of the bodies, one after the other.
        level: z in metres.
        template: a tensor on the device and of the precision to work in.
    """

    def __init__(self, meshes: Sequence[TetMesh], level: float, template: Tensor) -> None:
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        tets = np.concatenate(
            [mesh.tets + start for mesh, start in zip(meshes, starts, strict=False)]
        )
        tets = np.ascontiguousarray(tets.T.astype(np.int32))
        self._level, self._count = level, tets.shape[1]
        device, corners = template.device, tets.ravel().astype(np.int64)
        self._corners = torch.as_tensor(corners, device=device)
        volumes = np.concatenate([mesh.material_volumes for mesh in meshes])
        self._volumes = torch.as_tensor(volumes).to(template)
        order, offsets = grouped(corners, starts[-1])
        self._order = torch.as_tensor(order, device=device)
        self._offsets = torch.as_tensor(offsets, device=device)
        # Kept for the last pattern.
        self._element_map = lru_cache(maxsize=1)(lambda pattern: pattern.locate(tets))
        #: (N,) of the vertices at rest, in m³: a quarter of each tet's around.
        self.vertex_volumes = self._sums((self._volumes / 4.0).expand(4, -1))

    def depth_integral(self, positions: Tensor) -> Tensor:
        """Of the depth over all that is below, in m⁴."""
        return (self._volumes * mean_depth(self._depths(positions))).sum()

    def submerged_volumes(self, positions: Tensor) -> Tensor:
        """(N,) what of the volume of each vertex is below, in m³."""
        return self._sums(self._volumes * submerged_shares(self._depths(positions)))

    def submerged_change(self, positions: Tensor, way: Tensor) -> Tensor:
        """(N,) by how much each of those changes along (N,) z, in m³."""
        products = self._volumes * cut_products(self._depths(positions))
        along = way[self._corners].view(4, -1)
        return -self._sums((products * along).sum(1))

    def add_second_derivative(self, positions: Tensor, factor: Tensor, matrix: BlockMatrix) -> None:
        """Adds that of the depth integral, times a factor; positive semi-definite."""
        products = self._volumes * factor * cut_products(self._depths(positions))
        blocks = positions.new_zeros(self._count, len(CORNER_PAIRS), 9)
        for index, (a, b) in enumerate(CORNER_PAIRS):
            blocks[:, index, 8] = products[a, b]
        matrix.add_elements(self._element_map(matrix.pattern), blocks)

    def _depths(self, positions: Tensor) -> Tensor:
        """(4, M) of the corners, in metres."""
        return (self._level - positions[2])[self._corners].view(4, -1)

    def _sums(self, values: Tensor) -> Tensor:
        """(N,) of (4, M) values of corners."""
        return segment_sums(values.reshape(-1)[self._order], self._offsets)
