# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy of a body whose rest shape follows a pose."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..geometry.tet_mesh import TetMesh
from ..kernels.torch_matrices import inverses3, matmul3, signed_svd
from ..materials import Material
from .elasticity import Elasticity
from .prescribed import PrescribedPotential

#: A rest shape has no stretch below this, of the shape at the start.
MIN_REST_STRETCH = 0.2
#: Of tets that are squeezed so at any time, of what it is of others.
SQUEEZED_STIFFNESS_RATIO = 1e-3
# What comes so near in a sample may be below between two, which straight lines join.
_NEAR_REST_STRETCH = 1.5 * MIN_REST_STRETCH


class PosedElasticity(Elasticity):
    """Σ Ψ(F F_t⁻¹) V_t − b·x, with F_t and V_t the deformation gradients and the volumes of tets in
    a pose x_t that changes over time.

    In the pose no tet has a stress. Stretches of F_t below ``MIN_REST_STRETCH``, of tets that a
    pose presses flat or turns inside out, are raised to that, and such tets are a thousandth as
    stiff, so that goals hold them; b is what they would then push with in the pose, so that it
    stays an equilibrium.

    Args:
        material: with parameters that are numbers or (M,) tensors.
        first: index of the body's first vertex.
        mesh: of the body.
        template: an (N,)-long tensor on the device and of the precision to work in.
        pose: channel of x_t, the (3, Nb) vertices of the body in metres.
    """

    def __init__(
        self, material: Material, first: int, mesh: TetMesh, template: Tensor, pose: TensorChannel
    ) -> None:
        super().__init__(material, [(first, mesh)], template)
        PrescribedPotential.__init__(self, pose)
        self._body = slice(first, first + len(mesh.vertices))
        self._rest_gradients = self.tets.shape_gradients[1:].clone()
        self._rest_volumes = self.tets.volumes.clone()
        self._placed = template.new_zeros(3, len(template))
        self._balance = torch.zeros_like(self._placed)
        stretched = [self._gradients_and_bound(sample) for sample in pose.samples]
        #: By how much a pose makes the fastest vibration of a tet faster, at most.
        self.frequency_ratio = math.sqrt(max(1.0, *(float(ratio) for ratio, _ in stretched)))
        squeezed = torch.stack([flat for _, flat in stretched]).any(0)
        # Known beforehand, since what is recorded on CUDA looks at no values.
        self._squeezed = torch.nonzero(squeezed).ravel()
        if len(self._squeezed) > 0:
            factors = torch.where(squeezed, SQUEEZED_STIFFNESS_RATIO, 1.0).to(template)
            self._set_material(replace(material, young=material.young * factors))
        self.act(self.parameters)

    def scale(self, parameters: Tensor) -> Tensor:
        return self.tets.template.new_ones(())

    @property
    def stiffest(self) -> Tensor:
        """That of the start, whatever ``frequency_ratio`` says."""
        return self.channel.at(0, 0.0)

    def act(self, parameters: Tensor) -> None:
        PrescribedPotential.act(self, parameters)
        self._placed[:, self._body] = parameters
        self.tets.set_rest_positions(self._placed)
        if len(self._squeezed) > 0:
            self._hold_apart(self._squeezed)

    def _hold_apart(self, which: Tensor) -> None:
        """Gives tets that a pose squeezes rest shapes that are squeezed less."""
        rest = self._rest_gradients[:, :, which]
        u, sigma, v = signed_svd(matmul3(self.tets.edges(self._placed)[:, :, which], rest))
        sigma = sigma.clamp(min=MIN_REST_STRETCH)
        gradients = matmul3(rest, matmul3(v / sigma, u.transpose(0, 1)))
        volumes = self._rest_volumes[which] * sigma.prod(0)
        self.tets.set_rest_shapes(gradients, volumes, which)
        self._balance.zero_()
        self._add_unscaled_gradient(self._placed, self._balance)

    def energy(self, positions: Tensor) -> Tensor:
        return self._unscaled_energy(positions) - (self._balance * positions).sum()

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        return PrescribedPotential.energy_with(self, parameters, positions)

    def energy_change(self, before: Tensor, after: Tensor, positions: Tensor) -> Tensor:
        return PrescribedPotential.energy_change(self, before, after, positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self._add_unscaled_gradient(positions, out)
        out.sub_(self._balance)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_elements(
            self.tets.element_map(matrix.pattern), self._unscaled_blocks(positions, projected)
        )

    def _gradients_and_bound(self, pose: Tensor) -> tuple[Tensor, Tensor]:
        """By how much the square of a frequency is larger than at the start at most, and (M,)
        whether a tet may have to be held apart."""
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
