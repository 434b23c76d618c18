# SPDX-License-Identifier: GPL-3.0-or-later
"""Elasticity of tets: of nonlinear and linear materials, and of rest shapes that are keyed. Torch
passes over all tets serve CUDA."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix, BlockPattern, matrix_rows
from ..assembly.tensor_channel import TensorChannel
from ..assembly.tets import Tets
from ..geometry.tet_mesh import TetMesh
from ..kernels.elasticity import (
    Constants,
    ElasticityKernel,
    HessianKernel,
    StretchKernel,
    has_kernel,
)
from ..materials import InvariantMaterial, Material, StretchMaterial
from ..math3.torch_matrices import Eigensystem, cofactors3, eigensystem, matmul3, signed_svd
from ..scene.rest_shape import RestShape
from .potential import PrescribedPotential
from .viscosity import Viscosity


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


# The largest step, relative to the one to the first flat tet, where the energy is infinite.
MARGIN_RATIO = 0.9
BISECTIONS = 30


def inversion_bound(edges: Tensor, change: Tensor) -> float:
    """The step size along ``change``, at most 1, that keeps every volume positive.

    A volume along a straight step is a cubic; its least value on an interval lies at the ends or
    where its slope is zero.

    Args:
        edges: (3, 3, M) edge vectors of tets of positive volume.
        change: (3, 3, M) that a whole step adds to them.
    """
    cubic = _determinant_cubic(edges, change)
    step_size = 1.0
    risky = cubic[:, ~(_cubic_minimum(cubic, step_size) > 0.0)]
    if risky.shape[1] == 0:
        return step_size
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        step_size = 0.5 * (low + high)
        if bool((_cubic_minimum(risky, step_size) > 0.0).all()):
            low = step_size
        else:
            high = step_size
    return MARGIN_RATIO * low


def _determinant_cubic(edges: Tensor, change: Tensor) -> Tensor:
    """(4, M) coefficients of det(edges + t change) by rising powers of t."""
    a, b = edges, change
    ab, ba = cofactors3(a), cofactors3(b)
    return torch.stack(
        [(a[0] * ab[0]).sum(0), (b * ab).sum((0, 1)), (a * ba).sum((0, 1)), (b[0] * ba[0]).sum(0)]
    )


def _cubic_minimum(cubic: Tensor, step_size: float) -> Tensor:
    """(M,) the least value for t between 0 and ``step_size``."""
    constant, linear, square, cube = cubic
    # The two roots of the derivative, each in its stable form.
    root = (square * square - 3.0 * cube * linear).clamp(min=0.0).sqrt()
    sum_of = -(square + torch.where(square >= 0.0, root, -root))
    first = (sum_of / (3.0 * cube)).nan_to_num(0.0).clamp(0.0, step_size)
    second = (linear / sum_of).nan_to_num(0.0).clamp(0.0, step_size)
    ends = torch.full_like(constant, step_size)
    values = [((cube * t + square) * t + linear) * t + constant for t in (first, second, ends)]
    return torch.minimum(torch.minimum(values[0], values[1]), torch.minimum(values[2], constant))


class KeyedRestShape:
    """A rest shape that changes over time.

    Args:
        tets: of one body; their constants at rest are overwritten.
        rest_shape: of its vertices.
    """

    def __init__(self, tets: Tets, rest_shape: RestShape) -> None:
        ((first, mesh),) = tets.meshes
        template = tets.template
        self._tets, self._slice = tets, slice(first, first + len(mesh.vertices))
        self._modelled = torch.as_tensor(mesh.vertices.T).to(template)
        displacements = rest_shape.displacements.transpose(0, 2, 1).copy()
        self._displacements = torch.as_tensor(displacements).to(template)
        #: (3, N) of all vertices of the scene, zero of others, in metres.
        self.positions = template.new_zeros(3, len(template))
        #: The number of changes so far.
        self.changes = 0

    def set_amounts(self, amounts: Tensor) -> None:
        """Gives the tets the rest shape of (K,) amounts. On CUDA this is recorded."""
        moved = torch.tensordot(amounts, self._displacements, dims=1)
        torch.add(self._modelled, moved, out=self.positions[:, self._slice])
        self._tets.set_rest_positions(self.positions)
        self.changes += 1

    def put_into(self, positions: Tensor) -> None:
        """Writes where its vertices rest now into (3, N) positions."""
        positions[:, self._slice] = self.positions[:, self._slice]

    def fastest(self, material: Material) -> float:
        """Return the largest present (λ + 2μ) V |∇|² of a tet over its modelled volume, in 1/s²
        times its density. This is the squared frequency of its fastest vibration, since its mass
        is constant."""
        gradients = self._tets.shape_gradients.square().sum((0, 1))
        ((_, mesh),) = self._tets.meshes
        modelled = torch.as_tensor(mesh.rest_volumes).to(self._tets.volumes)
        modulus = material.lam + 2.0 * material.mu
        return float((modulus * gradients * self._tets.volumes / modelled).max())


class Elasticity(PrescribedPotential):
    """k Σ Ψ(F_e) V_e, with a factor k and rest shapes that may change over time.

    All models are linear in their moduli, so that k is a factor on Young's modulus.

    Compiled loops over tets serve a CPU, passes over whole arrays CUDA and the linear model. Both
    write in place: autograd differentiates the material's ``energy_density``.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        meshes: (index of its first vertex, mesh) for each body.
        template: an (N,)-long tensor on the device and of the precision to work in.
        stiffness: channel of k, a number; None is 1.
        rest_shape: of the one body there is, where that changes; ``stiffness`` is then a channel of
            (1 + K,) numbers, k and the amounts of its displacements.
    """

    def __init__(
        self,
        material: Material,
        meshes: list[tuple[int, TetMesh]],
        template: Tensor,
        stiffness: TensorChannel | None = None,
        rest_shape: RestShape | None = None,
    ) -> None:
        super().__init__(stiffness or TensorChannel(template.new_ones(1)))
        self._is_scaled = stiffness is not None
        self.tets = Tets(meshes, template)
        #: None where it stays.
        self.rest_shape = None if rest_shape is None else KeyedRestShape(self.tets, rest_shape)
        #: (4, M) int32 vertex indices.
        self.corners = self.tets.corners
        #: None where the passes are taken instead.
        self.kernel: ElasticityKernel | StretchKernel | None = None
        # The material without limits.
        self._nominal: Material | None = None
        self._set_material(material)
        if self.rest_shape is not None:
            self._take_rest_shape(self.rest_shape, self.parameters[1:])

    def _set_material(self, material: Material) -> None:
        self.material = material
        self.passes = self._passes(material)
        self._hessian: HessianKernel | TorchHessian = TorchHessian(material, self.tets)
        if has_kernel(material, self.tets.template):
            constants = Constants(material, self.tets.volumes)
            invariant = isinstance(material, InvariantMaterial)
            self._hessian = HessianKernel(constants, self.tets)
            self.kernel = (ElasticityKernel if invariant else StretchKernel)(constants, self.tets)

    def _passes(self, material: Material) -> TorchElasticity | TorchStretches:
        if isinstance(material, InvariantMaterial):
            return TorchElasticity(material, self.tets)
        assert isinstance(material, StretchMaterial)
        return TorchStretches(material, self.tets)

    def without_extrapolation(self) -> Elasticity:
        """Return the same tets with a model that is valid for J > 0 only, for callers that respect
        ``max_step``; others get it with a continuation through J = 0."""
        material = self.material.without_extrapolation()
        if material.model() == self.material.model():
            return self
        unlimited = copy(self)
        unlimited._set_material(material)
        return unlimited

    def limit_poisson(self, limited: Tensor, highest: float) -> None:
        """Takes Poisson's ratio as ``highest`` at most for the (M,) tets that are limited."""
        if self._nominal is None:
            self._nominal = self.material
        if not bool(limited.any()):
            self._set_material(self._nominal)
            return
        # Both as tensors, which are not checked again on the host.
        young, ratio = (
            torch.as_tensor(value).to(self.tets.volumes).expand(len(self.tets))
            for value in (self._nominal.young, self._nominal.poisson)
        )
        poisson = torch.where(limited, ratio.clamp(max=highest), ratio)
        self._set_material(replace(self._nominal, young=young, poisson=poisson))

    @property
    def is_limited(self) -> bool:
        """Whether Poisson's ratio of any tet is."""
        return self._nominal is not None and self.material is not self._nominal

    @property
    def stiffest(self) -> Tensor:
        if self.rest_shape is None:
            return self.channel.largest()
        return torch.cat([self.channel.largest()[:1], self._fastest_amounts])

    @cached_property
    def _fastest_amounts(self) -> Tensor:
        """Return the (K,) amounts, among all samples, with which the fastest tet vibrates
        fastest."""
        assert self.rest_shape is not None
        present, speeds = self.parameters.clone(), []
        samples = torch.unique(self.channel.samples[:, 1:], dim=0)
        for amounts in samples:
            self._take_rest_shape(self.rest_shape, amounts)
            speeds.append(self.rest_shape.fastest(self.material))
        self._take_rest_shape(self.rest_shape, present[1:])
        return samples[int(torch.tensor(speeds).argmax())]

    def act(self, parameters: Tensor) -> None:
        before = self.parameters.clone()
        super().act(parameters)
        if self.rest_shape is None:
            return
        # On CUDA it is recorded, and values must not be read.
        if self.parameters.is_cuda or not torch.equal(before[1:], self.parameters[1:]):
            self._take_rest_shape(self.rest_shape, self.parameters[1:])

    def _take_rest_shape(self, rest_shape: KeyedRestShape, amounts: Tensor) -> None:
        rest_shape.set_amounts(amounts)

    def scale(self, parameters: Tensor) -> Tensor:
        """k of parameters."""
        return parameters if self.rest_shape is None else parameters[0]

    @property
    def stiffness(self) -> Tensor:
        """k now."""
        return self.scale(self.parameters)

    def energy(self, positions: Tensor) -> Tensor:
        return self.stiffness * self._unscaled_energy(positions)

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        if self.rest_shape is None:
            return parameters * self._unscaled_energy(positions)
        return super().energy_with(parameters, positions)

    def energy_change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        if self.rest_shape is None:
            return (after - before) * self._unscaled_energy(positions)
        return super().energy_change(before, after, positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if not self._is_scaled:
            self._add_unscaled_gradient(positions, out)
            return
        unscaled = torch.zeros_like(out)
        self._add_unscaled_gradient(positions, unscaled)
        out.addcmul_(unscaled, self.stiffness)

    def add_forces(
        self, positions: Tensor, velocities: Tensor, viscosities: Sequence[Viscosity], out: Tensor
    ) -> None:
        """Add the gradient of energy and the viscous forces of its tets to ``out``. Summing edge
        forces up at vertices takes as long as finding them, so it is done once."""
        forces = self._edge_forces(positions) if viscosities else None
        if forces is None:
            self.add_gradient(positions, out)
            for viscosity in viscosities:
                viscosity.add_rate_forces(positions, velocities, out)
            return
        for viscosity in viscosities:
            viscosity.add_edge_forces(positions, velocities, forces)
        self.tets.vertex_sums.add(forces, out.numpy())

    def _edge_forces(self, positions: Tensor) -> NDArray[Any] | None:
        """(9, M) the gradient by the edges of tets, which others may add to; None where no compiled
        loops find it."""
        if self.kernel is None or self._is_scaled:
            return None
        return self.kernel.edge_forces(positions)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        blocks = self._unscaled_blocks(positions, projected)
        if self._is_scaled:
            blocks = blocks * self.stiffness
        matrix.add_elements(self.tets.element_map(matrix.pattern), blocks)

    @property
    def cancellation(self) -> float:
        """k Σ 2μV in joules."""
        unscaled = self._unscaled_cancellation
        return float(self.stiffness) * (unscaled if self.rest_shape is None else self._cancelled())

    @cached_property
    def _unscaled_cancellation(self) -> float:
        return self._cancelled()

    def _cancelled(self) -> float:
        return 2.0 * float((self.material.mu * self.tets.volumes).sum())

    def _unscaled_energy(self, positions: Tensor) -> Tensor:
        if self.kernel is not None:
            return self.tets.template.new_tensor(self.kernel.energy(positions))
        return self.passes.energy(positions)

    def _add_unscaled_gradient(self, positions: Tensor, out: Tensor) -> None:
        (self.kernel or self.passes).add_gradient(positions, out)

    def _unscaled_blocks(self, positions: Tensor, projected: bool) -> Tensor:
        """(M, 10, 9) the tets' element matrices."""
        self._hessian.blocks(positions, self.tets.blocks, projected)
        return self.tets.blocks

    def least_volume_ratio(self, positions: Tensor) -> float:
        """The least J = det F of the tets."""
        return float(self.tets.volume_ratios(positions).min())

    def inverted(self, positions: Tensor) -> int:
        """Count the tets without volume, where their model is undefined there."""
        if self.material.valid_j_range()[0] != 0.0:
            return 0
        return int((self.tets.volume_ratios(positions) <= 0.0).sum())

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        if self.material.valid_j_range()[0] != 0.0:
            return 1.0
        return inversion_bound(self.tets.edges(positions), self.tets.edges(direction))


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
