# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of linear tetrahedra of one material model."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..element_maps import edge_divergence, metric
from ..materials import Material
from ..tet_mesh import TetMesh
from .fused_gradient import fused_gradient
from .potential import Potential


class Elasticity(Potential):
    """Σ Ψ(F_e) V_e.

    An isotropic Ψ(I_C, J) never needs F itself. With the edges D = [x1 − x0, x2 − x0, x3 − x0] and
    the metric S = D_m⁻¹ D_m⁻ᵀ of the rest shape, I_C = D : D S, J = det D / 6V, and the forces
    −V P D_m⁻ᵀ on vertices 1 to 3 are minus V 2Ψ_I D S + Ψ_J cof D / 6.

    Per-tet 3 × 3 quantities are stored component first, tet last: each component is one
    contiguous vector, and a pass over all tets is one vectorised operation.

    On a CPU one compiled loop takes all these passes at once where numba is installed; the passes
    serve CUDA, energies and automatic differentiation.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        meshes: (index of its first vertex, mesh) for each body.
        like: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(self, material: Material, meshes: list[tuple[int, TetMesh]], like: Tensor) -> None:
        self._material = material
        corners = torch.cat(
            [torch.as_tensor(mesh.tets.T + first) for first, mesh in meshes], dim=1
        ).to(like.device, torch.int32)
        count = corners.shape[1]
        self._corners = corners.view(-1)
        self._meshes, self._like = meshes, like
        # V S, (3, 3, M): the volume belongs to every use of it.
        self._metric, self._volumes = metric(meshes, like)
        self._inverse_volumes = 1.0 / self._volumes
        self._inverse_determinants = self._inverse_volumes / 6.0
        #: None where the passes are taken instead.
        self.fused = fused_gradient(material, corners, self._metric, self._inverse_volumes)
        self._gathered = like.new_empty(3, 4, count)
        self._gathered_flat = self._gathered.view(3, -1)
        # D with its first two rows and columns repeated: cofactors become products of shifted
        # views, without a sign or an index.
        self._cyclic = like.new_empty(5, 5, count)
        self._edges = self._cyclic[:3, :3]
        self._cofactor = like.new_empty(3, 3, count)
        self._weighted = like.new_empty(3, 3, count)
        self._stress = like.new_empty(3, 3, count)
        self._stress_rows = [self._stress[i].view(-1) for i in range(3)]
        self._i_c = like.new_empty(count)
        self._j = like.new_empty(count)

    @cached_property
    def _divergence(self) -> Tensor:
        """Made when it is first needed: the compiled loop does without."""
        return edge_divergence(self._meshes, self._like)

    def energy(self, positions: Tensor) -> Tensor:
        self._deform(positions)
        return torch.dot(self._material.energy(self._i_c, self._j), self._volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self.fused is not None:
            self.fused.add(positions, out)
            return
        self._deform(positions)
        along_f, along_cofactor = self._material.derivatives(self._i_c, self._j)
        torch.mul(self._weighted, along_f, out=self._stress)
        self._stress.addcmul_(self._cofactor, along_cofactor, value=1.0 / 6.0)
        for i in range(3):
            torch.addmv(out[i], self._divergence, self._stress_rows[i], out=out[i])

    def volume_ratios(self, positions: Tensor) -> Tensor:
        """(M,) J = det F of each tet; the buffer is overwritten by the next evaluation."""
        self._deform(positions)
        return self._j

    def _deform(self, positions: Tensor) -> None:
        """D, cof D, V D S and the invariants I_C and J of all tets."""
        cyclic, edges, scratch = self._cyclic, self._edges, self._stress
        torch.index_select(positions, 1, self._corners, out=self._gathered_flat)
        torch.sub(self._gathered[:, 1:], self._gathered[:, :1], out=edges)
        cyclic[:3, 3:] = cyclic[:3, :2]
        cyclic[3:] = cyclic[:2]
        torch.mul(cyclic[1:4, 1:4], cyclic[2:5, 2:5], out=self._cofactor)
        self._cofactor.addcmul_(cyclic[1:4, 2:5], cyclic[2:5, 1:4], value=-1.0)
        torch.mul(edges[0], self._cofactor[0], out=scratch[0])
        torch.sum(scratch[0], 0, out=self._j)
        self._j.mul_(self._inverse_determinants)
        torch.mul(edges[:, :1], self._metric[0], out=self._weighted)
        self._weighted.addcmul_(edges[:, 1:2], self._metric[1])
        self._weighted.addcmul_(edges[:, 2:], self._metric[2])
        torch.mul(edges, self._weighted, out=scratch)
        torch.sum(scratch.view(9, -1), 0, out=self._i_c)
        self._i_c.mul_(self._inverse_volumes)
