# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity in torch passes over all tets, for CUDA."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS
from ..assembly.tets import Tets
from ..materials import InvariantMaterial, Material, StretchMaterial
from ..math3.torch_matrices import Eigensystem, eigensystem, matmul3, signed_svd


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
        buffers = self._evaluate_deformation(positions)
        return torch.dot(self._material.energy(buffers.i_c, buffers.j), self._tets.volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        buffers = self._evaluate_deformation(positions)
        along_f, along_cofactor = self._material.derivatives(buffers.i_c, buffers.j)
        torch.mul(buffers.weighted, along_f, out=buffers.stress)
        buffers.stress.addcmul_(buffers.cofactor, along_cofactor, value=1.0 / 6.0)
        self._tets.add_edge_forces(buffers.stress, out)

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
    """The buffers of the passes, for a fixed number of tets."""

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


# Row and column of each.
_COMPONENTS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))


class TorchGreenStrain:
    """Green strains by torch passes, for CUDA."""

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
    """Return (3, 3, M) matrices from (6, M) symmetric ones."""
    xx, yy, zz, yz, zx, xy = symmetric
    return torch.stack([xx, xy, zx, xy, yy, yz, zx, yz, zz]).view(3, 3, -1)


class TorchStretches:
    """Energy and gradient of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
    """

    def __init__(self, material: StretchMaterial, tets: Tets) -> None:
        self._material, self._tets = material, tets

    def energy(self, positions: Tensor) -> Tensor:
        """In joules, a tensor of no dimension."""
        _, sigma, _ = self._svd(positions)
        return torch.dot(self._material.energy(sigma), self._tets.volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        u, sigma, v = self._svd(positions)
        principal_stresses = self._tets.volumes * torch.stack(self._material.derivatives(sigma))
        stress = matmul3(u * principal_stresses, v.transpose(0, 1))
        forces = matmul3(stress, self._tets.shape_gradients[1:].transpose(0, 1))
        self._tets.add_edge_forces(forces, out)

    def _svd(self, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return signed_svd(self._tets.deformation_gradients(positions))


class TorchHessian:
    """Hessians of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
    """

    def __init__(self, material: Material, tets: Tets) -> None:
        self._material, self._tets = material, tets

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        hessian = eigensystem(self._material, self._tets.deformation_gradients(positions))
        if projected:
            hessian = hessian.projected()
        write_blocks(hessian, self._tets.volumes, self._tets.shape_gradients, out)


def write_blocks(hessian: Eigensystem, volumes: Tensor, gradients: Tensor, out: Tensor) -> None:
    """Writes the (M, 10, 9) blocks of tets with (M,) volumes and (4, 3, M) shape gradients."""
    weighted = volumes * gradients
    for pair, (a, b) in enumerate(CORNER_PAIRS):
        out[:, pair] = hessian.contract(weighted[a], gradients[b]).flatten(0, 1).T
