# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of a body whose rest shape follows a pose."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..assembly.tets import Tets
from ..compiled import runs_loops
from ..geometry.tet_mesh import TetMesh
from ..kernels.elasticity import ElasticityKernel
from ..kernels.posed_tets import HeldShapes, PosedTetsKernel, write_held_shapes
from ..materials import Material
from ..materials.material import PARAMETERS
from ..math3.torch_matrices import inverses3, matmul3, signed_svd
from .elasticity import Elasticity
from .potential import PrescribedPotential

#: A rest shape has no stretch below this, of the shape at the start.
MIN_REST_STRETCH = 0.2
#: The stiffness of tets that a pose squeezes at any time, relative to other tets.
SQUEEZED_STIFFNESS_RATIO = 1e-3
# A tet with a sample this near may be below the limit between two samples.
_NEAR_REST_STRETCH = 1.5 * MIN_REST_STRETCH
# Poses in which the viscosity is measured.
_FASTEST_POSES = 3


@dataclass
class _Written:
    """Whether tets have the rest shapes of their pose, for all elasticities that share them.

    Args:
        is_placed: whether there has been a pose.
        is_current: whether the rest shapes are those of the last one.
        is_asked_for_always: whether they have to be.
    """

    is_placed: bool = False
    is_current: bool = True
    is_asked_for_always: bool = False


class PosedElasticity(Elasticity):
    """Σ Ψ(F F_t⁻¹) V_t − b·x, with F_t and V_t the deformation gradients and the volumes of tets in
    a pose x_t that changes over time.

    In the pose no tet has a stress. Stretches of F_t below ``MIN_REST_STRETCH``, of tets that a
    pose presses flat or turns inside out, are raised to that, and such tets are a thousandth as
    stiff, so that goals hold them; b is their force in the pose, so that the pose is still an
    equilibrium.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        first: index of the body's first vertex.
        mesh: of the body.
        template: an (N,)-long tensor on the device and of the precision to work in.
        pose: channel of x_t, the (3, Nb) vertices of the body in metres.
    """

    is_sampled = True
    _posed_kernel: PosedTetsKernel | None = None
    _held: _HeldTets | None = None
    _pulling: Material
    _written = _Written()

    def __init__(
        self, material: Material, first: int, mesh: TetMesh, template: Tensor, pose: TensorChannel
    ) -> None:
        super().__init__(material, [(first, mesh)], template)
        PrescribedPotential.__init__(self, pose)
        self._body = slice(first, first + len(mesh.vertices))
        self._rest_gradients = self.tets.shape_gradients[1:].clone()
        self._rest_volumes = self.tets.volumes.clone()
        self._placed = template.new_zeros(3, len(template))
        # The rest positions before and after a change of the energy.
        self._ends = template.new_zeros(2, 3, len(template))
        self.parameters = self._placed[:, self._body].copy_(self.parameters)
        self._balance = torch.zeros_like(self._placed)
        # Range of J in which the law holds by which held tets push in the pose.
        self._valid_j = self.material.valid_j_range()
        self._written = _Written()
        stretched = [self._gradients_and_bound(sample) for sample in pose.samples]
        #: The largest factor of a pose on the frequency of a tet's fastest vibration.
        self.frequency_ratio = math.sqrt(max(1.0, *(float(ratio) for ratio, _ in stretched)))
        order = torch.argsort(torch.stack([ratio for ratio, _ in stretched]), descending=True)
        #: (3, Nb) each, of all samples those in which a tet may vibrate fastest.
        self.fastest_poses = [pose.samples[index] for index in order[:_FASTEST_POSES]]
        squeezed = torch.stack([flat for _, flat in stretched]).any(0)
        # Known beforehand, since a recorded CUDA graph reads no values.
        self._squeezed = torch.nonzero(squeezed).ravel()
        if len(self._squeezed) > 0:
            factors = torch.where(squeezed, SQUEEZED_STIFFNESS_RATIO, 1.0).to(template)
            self._set_material(replace(material, young=material.young * factors))
            self._held = _HeldTets(self.material, mesh, first, self._squeezed, template)
            self._posed_kernel = None
        self.act(self.channel.at(0, 0.0))

    def scale(self, parameters: Tensor) -> Tensor:
        return self.tets.template.new_ones(())

    def least_volume_ratio(self, positions: Tensor) -> float:
        """The least J = det F of the tets that no pose squeezes; infinite where there are none."""
        ratios = self.tets.volume_ratios(positions)
        return float(ratios.index_fill(0, self._squeezed, math.inf).min())

    @property
    def stiffest(self) -> Tensor:
        """That of the start; ``fastest_poses`` may be stiffer."""
        return self.channel.at(0, 0.0)

    @property
    def body(self) -> slice:
        """Its vertices among all."""
        return self._body

    @property
    def tets(self) -> Tets:
        """The tets, with the rest shapes of the pose; explicit steps do without."""
        if not self._written.is_current:
            self._write_rest_shapes()
        return self._tets

    @tets.setter
    def tets(self, tets: Tets) -> None:
        self._tets = tets

    def write_always(self) -> None:
        """Lets others read the rest shapes of the tets at any time, wherever from."""
        self._written.is_asked_for_always = True

    def act(self, parameters: Tensor) -> None:
        # On CUDA it is recorded, and values must not be read.
        is_same = self._written.is_placed and not parameters.is_cuda
        if is_same and torch.equal(parameters, self.parameters):
            return
        self._written.is_placed = True
        PrescribedPotential.act(self, parameters)
        self._written.is_current = False
        if self._written.is_asked_for_always or self._posed is None:
            self._write_rest_shapes()

    def go_to(self, frame: int, fraction: float) -> None:
        if self._posed is None or self._written.is_asked_for_always:
            super().go_to(frame, fraction)
            return
        # Compiled loops take it from here.
        self.channel.write(frame, fraction, self.parameters)
        self._written.is_placed, self._written.is_current = True, False

    def energy(self, positions: Tensor) -> Tensor:
        if self._posed is not None and not self._written.is_current:
            return positions.new_tensor(self._posed.energy(positions, self._placed))
        energy = self._unscaled_energy(positions)
        return energy if self._held is None else energy - (self._balance * positions).sum()

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        if self._posed is None:
            return PrescribedPotential.energy_with(self, parameters, positions)
        self._ends[0, :, self._body] = parameters
        return positions.new_tensor(self._posed.energy(positions, self._ends[0]))

    def energy_change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        if self._posed is None:
            return PrescribedPotential.energy_change(self, before, after, positions)
        self._ends[0, :, self._body], self._ends[1, :, self._body] = before, after
        return positions.new_tensor(self._posed.energy_change(positions, *self._ends))

    def change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        if self._posed is not None:
            return self.energy_change(before, after, positions)
        # From one rest shape to the next: each takes longer than an energy.
        self.act(before)
        energy = self.energy(positions)
        self.act(after)
        return self.energy(positions) - energy

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self._posed is not None:
            self._posed.add_gradient(positions, self._placed, out)
            return
        self._add_unscaled_gradient(positions, out)
        if self._held is not None:
            out.sub_(self._balance)

    def _edge_forces(self, positions: Tensor) -> NDArray[Any] | None:
        if self._posed is None:
            return None
        return self._posed.edge_forces(positions, self._placed)

    def _set_material(self, material: Material) -> None:
        super()._set_material(material)
        self._posed_kernel = None
        # Held tets push by the law with its continuation, since a pose may turn them inside out.
        limits = (
            {} if self._held is None else {name: getattr(material, name) for name in PARAMETERS}
        )
        self._pulling = replace(self._pulling, **limits) if limits else material
        if self._written.is_placed:
            self._written.is_current = False
            if self._posed is None:
                self._write_rest_shapes()

    @property
    def _posed(self) -> PosedTetsKernel | None:
        """Compiled loops that need no written rest shapes; None where there are none."""
        if not isinstance(self.kernel, ElasticityKernel):
            return None
        if self._posed_kernel is None:
            held = None if self._held is None else self._held.shapes(*self._valid_j)
            self._posed_kernel = PosedTetsKernel(self.kernel, self._tets, held)
        return self._posed_kernel

    def _write_rest_shapes(self) -> None:
        self._written.is_current = True
        self._tets.set_rest_positions(self._placed)
        if self._held is not None:
            self._held.hold_apart(self._tets, self._placed, self._pulling, self._balance)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_elements(
            self.tets.element_map(matrix.pattern), self._unscaled_blocks(positions, projected)
        )

    def _gradients_and_bound(self, pose: Tensor) -> tuple[Tensor, Tensor]:
        """Compute a bound on the growth of a squared frequency since the start, and (M,) whether
        a tet may have to be held apart.
        """
        self._placed[:, self._body] = pose
        edges = self.tets.edges(self._placed)
        f = matmul3(edges, self._rest_gradients)
        gradients, determinants = inverses3(edges)
        ratios = determinants / (6.0 * self._rest_volumes)
        # The smallest stretch is J over the product of the others, which is half |F|² at most.
        lowest = ratios / (0.5 * f.square().sum((0, 1)))
        low = torch.nonzero(~(lowest > _NEAR_REST_STRETCH)).ravel()
        lowest[low] = signed_svd(f[:, :, low])[1][2]
        flat = ~(lowest > _NEAR_REST_STRETCH)
        rest = self._rest_gradients.square().sum((0, 1))
        held = rest * (SQUEEZED_STIFFNESS_RATIO / MIN_REST_STRETCH**2)
        growth = torch.where(flat, held, gradients.square().sum((0, 1)))
        modulus = self.material.lam + 2.0 * self.material.mu
        return (modulus * growth).max() / (modulus * rest).max(), flat


class _HeldTets:
    """Tets that a pose squeezes, which get rest shapes that are squeezed less.

    Args:
        material: of all tets of the body.
        mesh, first: of the body, and the index of its first vertex.
        which: (A,) indices of the tets.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self, material: Material, mesh: TetMesh, first: int, which: Tensor, template: Tensor
    ) -> None:
        tets = which.cpu().numpy()
        vertices, corners = np.unique(mesh.tets[tets], return_inverse=True)
        fill = None if mesh.fill is None else mesh.fill[tets]
        alone = TetMesh(mesh.vertices[vertices], corners.reshape(-1, 4), fill)
        self._which = which
        self._vertices = torch.as_tensor(vertices.astype(np.int64) + first, device=which.device)
        self._material = material
        elasticity = Elasticity(
            _material_of(material, which), [(0, alone)], template[: len(vertices)]
        )
        #: The elasticity of these tets, on their vertices.
        self._elasticity = elasticity
        self._gradients = elasticity.tets.shape_gradients[1:].clone()
        self._volumes = elasticity.tets.volumes.clone()
        self._pull = template.new_zeros(3, len(vertices))
        self._is_looped = runs_loops(which)
        if self._is_looped:
            self._tet_gradients = np.ascontiguousarray(self._gradients.permute(2, 0, 1).numpy())
            self._all = np.arange(len(tets))

    def shapes(self, low: Any, high: Any) -> HeldShapes:
        """Their shapes for compiled loops; ``low`` and ``high`` as ``HeldShapes`` has them."""
        precision = self._tet_gradients.dtype.type
        shapes = self._tet_gradients, self._volumes.numpy(), MIN_REST_STRETCH
        return HeldShapes(self._which.numpy(), *shapes, precision(low), precision(high))

    def hold_apart(self, tets: Tets, placed: Tensor, material: Material, balance: Tensor) -> None:
        """Write the rest shapes of held tets at (3, N) places, and their forces there.

        Args:
            tets: all of the body, whose rest shapes become the same.
            material: of all of them.
            balance: (3, N) in newtons, zero where they have no vertex.
        """
        elasticity, at = self._elasticity, placed.index_select(1, self._vertices)
        if material is not self._material:
            self._material = material
            elasticity._set_material(_material_of(material, self._which))
        if self._is_looped:
            shapes = self._tet_gradients, self._volumes.numpy(), MIN_REST_STRETCH
            write_held_shapes(tets, placed, self._which.numpy(), *shapes)
            write_held_shapes(elasticity.tets, at, self._all, *shapes)
        else:
            u, sigma, v = signed_svd(matmul3(elasticity.tets.edges(at), self._gradients))
            sigma = sigma.clamp(min=MIN_REST_STRETCH)
            gradients = matmul3(self._gradients, matmul3(v / sigma, u.transpose(0, 1)))
            volumes = self._volumes * sigma.prod(0)
            tets.set_rest_shapes(gradients, volumes, self._which)
            elasticity.tets.set_rest_shapes(
                gradients, volumes, torch.arange(len(volumes)).to(self._which)
            )
        self._pull.zero_()
        elasticity._add_unscaled_gradient(at, self._pull)
        balance[:, self._vertices] = self._pull


def _material_of(material: Material, which: Tensor) -> Material:
    """That of some tets."""
    values = {name: getattr(material, name) for name in PARAMETERS}
    parts = {n: v[which] for n, v in values.items() if isinstance(v, Tensor) and v.ndim}
    return replace(material, **parts)
