# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy and its gradient as torch passes over all tets."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..materials import InvariantMaterial


class TorchElasticity:
    """Energy and gradient of the tets of one material, on any device.

    An isotropic Ψ(I_C, J) never needs F itself. With the edges D = [x1 − x0, x2 − x0, x3 − x0] and
    the metric S = D_m⁻¹ D_m⁻ᵀ of the rest shape, I_C = D : D S, J = det D / 6V, and the forces
    −V P D_m⁻ᵀ on vertices 1 to 3 are minus V 2Ψ_I D S + Ψ_J cof D / 6.

    Per-tet 3 × 3 quantities are stored component first, tet last: each component is one
    contiguous vector, and a pass over all tets is one vectorised operation.

    Args:
        material: with parameters that are numbers or (M,) tensors.
    """

    def __init__(self, material: InvariantMaterial, tets: Tets) -> None:
        self._material, self._tets = material, tets

    @cached_property
    def _buffers(self) -> _Buffers:
        """Made for the first evaluation: the compiled loops do without."""
        return _Buffers(len(self._tets), self._tets.template)

    def energy(self, positions: Tensor) -> Tensor:
        """In joules, a tensor of no dimension."""
        own = self._evaluate_deformation(positions)
        return torch.dot(self._material.energy(own.i_c, own.j), self._tets.volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        own = self._evaluate_deformation(positions)
        along_f, along_cofactor = self._material.derivatives(own.i_c, own.j)
        torch.mul(own.weighted, along_f, out=own.stress)
        own.stress.addcmul_(own.cofactor, along_cofactor, value=1.0 / 6.0)
        self._tets.add_edge_forces(own.stress, out)

    def _evaluate_deformation(self, positions: Tensor) -> _Buffers:
        """D, cof D, V D S and the invariants I_C and J of all tets."""
        buffers, scratch = self._buffers, self._buffers.stress
        metric = self._tets.metric
        cyclic, edges = buffers.cyclic, buffers.edges
        torch.index_select(
            positions, 1, self._tets.corners.view(-1), out=buffers.gathered.view(3, -1)
        )
        torch.sub(buffers.gathered[:, 1:], buffers.gathered[:, :1], out=edges)
        cyclic[:3, 3:] = cyclic[:3, :2]
        cyclic[3:] = cyclic[:2]
        torch.mul(cyclic[1:4, 1:4], cyclic[2:5, 2:5], out=buffers.cofactor)
        buffers.cofactor.addcmul_(cyclic[1:4, 2:5], cyclic[2:5, 1:4], value=-1.0)
        torch.mul(edges[0], buffers.cofactor[0], out=scratch[0])
        torch.sum(scratch[0], 0, out=buffers.j)
        buffers.j.mul_(self._tets.inverse_volumes).mul_(1.0 / 6.0)
        torch.mul(edges[:, :1], metric[0], out=buffers.weighted)
        buffers.weighted.addcmul_(edges[:, 1:2], metric[1])
        buffers.weighted.addcmul_(edges[:, 2:], metric[2])
        torch.mul(edges, buffers.weighted, out=scratch)
        torch.sum(scratch.view(9, -1), 0, out=buffers.i_c)
        buffers.i_c.mul_(self._tets.inverse_volumes)
        return buffers


class _Buffers:
    """What the passes write into, for so many tets."""

    def __init__(self, count: int, template: Tensor) -> None:
        self.gathered = template.new_empty(3, 4, count)
        # D with its first two rows and columns repeated: cofactors become products of shifted
        # views, without a sign or an index.
        self.cyclic = template.new_empty(5, 5, count)
        self.edges = self.cyclic[:3, :3]
        self.cofactor = template.new_empty(3, 3, count)
        self.weighted = template.new_empty(3, 3, count)
        self.stress = template.new_empty(3, 3, count)
        self.i_c = template.new_empty(count)
        self.j = template.new_empty(count)
