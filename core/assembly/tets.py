# SPDX-License-Identifier: GPL-3.0-or-later
"""Constants of the maps from positions to strain and from stress to forces."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops
from ..geometry.groups import grouped
from ..geometry.tet_mesh import TetMesh
from ..kernels.deformation import VertexSums, volume_ratios_on_cpu, write_rest_shape
from ..math3.torch_matrices import det3, inverses3, matmul3, segment_sums
from .block_matrix import CORNER_PAIRS, BlockPattern, ElementMap

# The upper triangle of a symmetric 3 × 3 matrix, row by row.
_UPPER = tuple((i, j) for i in range(3) for j in range(i, 3))


class Tets:
    """The tets that share a potential; arrays that not all evaluators need are made at their first
    use.

    Args:
        meshes: (index of its first vertex, mesh) for each body.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(self, meshes: list[tuple[int, TetMesh]], template: Tensor) -> None:
        self.meshes, self.template = meshes, template
        #: (4, M) int32 vertex indices.
        corners = self.corners = torch.cat(
            [torch.as_tensor(mesh.tets.T + first) for first, mesh in meshes], dim=1
        ).to(template.device, torch.int32)
        #: The places of the blocks of ``CORNER_PAIRS`` in a pattern; kept for the last one.
        self.element_map: Callable[[BlockPattern], ElementMap] = lru_cache(maxsize=1)(
            lambda pattern: pattern.locate(corners.cpu().numpy())
        )
        #: (M,) at rest, in m³.
        self.volumes = self._tensor(np.concatenate([mesh.rest_volumes for _, mesh in meshes]))

    def __len__(self) -> int:
        return len(self.volumes)

    @cached_property
    def inverse_volumes(self) -> Tensor:
        """(M,) 1 / V in 1/m³."""
        return 1.0 / self.volumes

    @cached_property
    def metric(self) -> Tensor:
        """V S, (3, 3, M) in m, with S = D_m⁻¹ D_m⁻ᵀ, the metric of the rest shape: the volume
        belongs to every use of it."""
        gradients = self._rest_gradients()[:, 1:]
        volumes = self.volumes.cpu().double().numpy()
        if not self._is_written:
            volumes = np.concatenate([mesh.rest_volumes for _, mesh in self.meshes])
        return self._tensor(np.einsum("mki,mli,m->klm", gradients, gradients, volumes))

    @cached_property
    def shape_gradients(self) -> Tensor:
        """Return the (4, 3, M) gradients of the shape function of each corner, in 1/m: for the
        passes."""
        return self._tensor(self._rest_gradients().transpose(1, 2, 0)).contiguous()

    @cached_property
    def gradients_by_tet(self) -> NDArray[Any]:
        """Return the (M, 3, 3) gradients of the shape functions of corners 1 to 3, in 1/m: for
        the compiled kernels."""
        return np.ascontiguousarray(self._rest_gradients()[:, 1:], dtype=self.volumes.numpy().dtype)

    @cached_property
    def metric_by_tet(self) -> NDArray[Any]:
        """(7, M) the products of shape gradients times V and 1 / V: one row each, so that a tet's
        constants are read in step."""
        unique = [self.metric[i, j].numpy() for i, j in _UPPER]
        return np.stack([*unique, 1.0 / self.volumes.numpy()])

    def set_rest_gradients(self, gradients: Tensor) -> None:
        """Gives the passes other rest shapes of the same volumes.

        Args:
            gradients: (3, 3, M) of the shape functions of corners 1 to 3, in 1/m.
        """
        self.rest_changes += 1
        # In place, since recorded CUDA graphs read these.
        self.shape_gradients[1:] = gradients
        torch.neg(gradients.sum(0), out=self.shape_gradients[0])
        torch.mul(self.volumes, matmul3(gradients, gradients.transpose(0, 1)), out=self.metric)

    def set_rest_positions(self, positions: Tensor) -> None:
        """Gives the tets the rest shapes, and volumes, of vertices at (3, N) positions. On CUDA
        this is recorded: nothing in it may look at values."""
        if runs_loops(positions):
            write_rest_shape(
                positions.numpy(),
                self.corners.numpy(),
                self.volumes.numpy(),
                self.gradients_by_tet,
                self.metric_by_tet,
            )
            self.forget_passes(is_written=True)
            return
        gradients, determinants = inverses3(self.edges(positions))
        # In place, since recorded CUDA graphs read these.
        torch.mul(determinants, 1.0 / 6.0, out=self.volumes)
        torch.reciprocal(self.volumes, out=self.inverse_volumes)
        self.set_rest_gradients(gradients)

    def set_rest_shapes(self, gradients: Tensor, volumes: Tensor, which: Tensor) -> None:
        """Gives some tets other rest shapes of other volumes, wherever they are read.

        Args:
            gradients: (3, 3, A) of the shape functions of corners 1 to 3, in 1/m.
            volumes: (A,) in m³.
            which: (A,) indices of the tets.
        """
        self.volumes[which] = volumes
        self.inverse_volumes[which] = 1.0 / volumes
        metric = volumes * matmul3(gradients, gradients.transpose(0, 1))
        if not runs_loops(self.volumes):
            self.shape_gradients[1:, :, which] = gradients
            self.shape_gradients[0, :, which] = -gradients.sum(0)
            self.metric[:, :, which] = metric
            self.rest_changes += 1
            return
        places = which.numpy()
        self.gradients_by_tet[places] = gradients.permute(2, 0, 1).numpy()
        for row, (i, j) in enumerate(_UPPER):
            self.metric_by_tet[row, places] = metric[i, j].numpy()
        self.metric_by_tet[6, places] = self.inverse_volumes[which].numpy()
        self.forget_passes(is_written=True)

    def forget_passes(self, is_written: bool) -> None:
        """Drop the arrays that passes read; they are made again at their next use.

        Args:
            is_written: whether the arrays of the compiled loops have been given other rest shapes,
                or those that they had at first.
        """
        self._is_written = is_written
        self.rest_changes += 1
        for name in ("metric", "shape_gradients", "inverse_volumes"):
            self.__dict__.pop(name, None)

    _is_written = False
    #: The number of changes of rest shapes.
    rest_changes = 0

    def edges(self, vectors: Tensor) -> Tensor:
        """(3, 3, M) differences of (3, N) ``vectors`` along the edges from corner 0: component,
        edge."""
        gathered = vectors.index_select(1, self.corners.view(-1)).view(3, 4, -1)
        return gathered[:, 1:] - gathered[:, :1]

    def deformation_gradients(self, positions: Tensor) -> Tensor:
        """(3, 3, M) F of each tet at (3, N) ``positions``."""
        return matmul3(self.edges(positions), self.shape_gradients[1:])

    def volume_ratios(self, positions: Tensor) -> Tensor:
        """(M,) J = det F of each tet."""
        if runs_loops(positions):
            return volume_ratios_on_cpu(positions, self.corners, self.volumes)
        return det3(self.edges(positions)) / (6.0 * self.volumes)

    def add_edge_forces(self, forces: Tensor, out: Tensor) -> None:
        """Adds forces along the edges from corner 0, (3, 3, M): component, edge, to the (3, N) of
        vertices. The compiled counterpart is ``vertex_sums``."""
        order, offsets = self._corners_by_vertex
        at_corners = torch.cat([-forces.sum(1, keepdim=True), forces], dim=1)
        vertex_forces = at_corners.view(3, -1).T.contiguous().index_select(0, order)
        out += segment_sums(vertex_forces, offsets).T

    @cached_property
    def vertex_sums(self) -> VertexSums:
        """Return the compiled sums of edge forces at vertices."""
        return VertexSums(self.corners.numpy())

    @cached_property
    def blocks(self) -> Tensor:
        """Return the (M, 10, 9) buffer for the element matrices of one potential after the
        other."""
        return self.template.new_empty(len(self), len(CORNER_PAIRS), 9)

    @cached_property
    def _corners_by_vertex(self) -> tuple[Tensor, Tensor]:
        """(4M,) numbers of the corners in the order of their vertices, and (N + 1,) offsets of each
        vertex."""
        order, offsets = grouped(self.corners.cpu().numpy().ravel(), len(self.template))
        device = self.template.device
        return (
            torch.as_tensor(order.astype(np.int32), device=device),
            torch.as_tensor(offsets.astype(np.int32), device=device),
        )

    def _rest_gradients(self) -> NDArray[np.float64]:
        """Return the (M, 4, 3) shape gradients at rest, in 1/m."""
        if self._is_written:
            gradients = self.gradients_by_tet.astype(np.float64)
            return np.concatenate([-gradients.sum(axis=1, keepdims=True), gradients], axis=1)
        return np.concatenate([mesh.shape_gradients for _, mesh in self.meshes])

    def _tensor(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(values).to(self.template)
