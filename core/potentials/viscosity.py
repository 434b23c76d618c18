# SPDX-License-Identifier: GPL-3.0-or-later
"""Resist the rate of deformation: the dashpot of a Kelvin–Voigt solid."""

from __future__ import annotations

import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS, BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..assembly.tets import Tets
from ..compiled import runs_loops
from ..kernels.green_strain import GreenStrainKernel
from ..math3.torch_matrices import matmul3
from .potential import PrescribedPotential, TimeStep

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


class Viscosity(PrescribedPotential):
    """The second Piola–Kirchhoff stress 2a dE/dt + b tr(dE/dt) I in the Green strain E.

    The Green strain does not see rotations, so that bodies turn freely. With a = βμ and b = βλ a
    body near rest is damped by β times its stiffness.

    Over a step of τ seconds that began at the strain E₀ it is the gradient of the energy
    Σ V (a ΔE : ΔE + b/2 tr²ΔE) / τ with ΔE = E − E₀: a St. Venant–Kirchhoff solid whose rest shape
    is where the step began.

    Source: Antman, "Nonlinear Problems of Elasticity", 2nd edition, section XII.2, on strain-rate
    materials.

    Args:
        tets: that have it.
        shear: (M,) a in Pa s.
        bulk: (M,) b in Pa s.
        stiffness: channel of a factor on both, a number; None is 1.
    """

    is_dissipative = True

    def __init__(
        self, tets: Tets, shear: Tensor, bulk: Tensor, stiffness: TensorChannel | None = None
    ) -> None:
        super().__init__(stiffness or TensorChannel(shear.new_ones(1)))
        self.tets, self._unscaled = tets, (shear, bulk)
        self._shear, self._bulk = self.parameters * shear, self.parameters * bulk
        on_cpu = runs_loops(shear)
        self._strains: GreenStrainKernel | TorchGreenStrain = (
            GreenStrainKernel(tets) if on_cpu else TorchGreenStrain(tets)
        )
        # A static solve has no velocities and no resistance.
        self._span = math.inf
        self._before = shear.new_zeros(6, len(shear))

    def act(self, parameters: Tensor) -> None:
        super().act(parameters)
        for scaled, unscaled in zip((self._shear, self._bulk), self._unscaled, strict=True):
            torch.mul(unscaled, parameters, out=scaled)

    @property
    def stiffest(self) -> Tensor:
        return self.channel.largest()

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        self._strains.add_viscous_forces(positions, velocities, self._shear, self._bulk, out)

    def add_edge_forces(self, positions: Tensor, velocities: Tensor, out: NDArray[Any]) -> None:
        """Adds the same by the edges of tets to (9, M), where compiled loops run."""
        assert isinstance(self._strains, GreenStrainKernel)
        coefficients = self._shear, self._bulk
        self._strains.add_viscous_edge_forces(positions, velocities, *coefficients, out)

    def begin_time_step(self, step: TimeStep) -> None:
        if step.is_static:
            self._span = math.inf
            return
        self.begin_step(step.seconds, [past[:2] for past in step.history])

    def begin_step(self, span: float, past: list[tuple[float, Tensor]]) -> None:
        """Begins an implicit step.

        Args:
            span: τ in seconds.
            past: weights and (3, N) positions whose strains add up to E₀.
        """
        self._span = span
        self._before = sum(
            (weight * self._strains.strain(positions) for weight, positions in past),
            start=torch.zeros_like(self._before),
        )

    def energy(self, positions: Tensor) -> Tensor:
        if self._span == math.inf:
            return positions.new_zeros(())
        change = self._strains.strain(positions).sub_(self._before)
        work = change * self._stress(change)
        density = 0.5 * work[:3].sum(0) + work[3:].sum(0)
        return torch.dot(density, self.tets.volumes) / self._span

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        if self._span == math.inf:
            return
        self._strains.add_forces(positions, self._step_stress(positions), out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """The projected Hessian omits the change of the stress's direction and is positive
        semi-definite."""
        if self._span == math.inf:
            return
        stress = self._step_stress(positions)
        if projected:
            stress.zero_()
        blocks = self.tets.blocks
        shear, bulk = self._shear / self._span, self._bulk / self._span
        self._strains.hessian_blocks(positions, stress, shear, bulk, blocks)
        matrix.add_elements(self.tets.element_map(matrix.pattern), blocks)

    def _step_stress(self, positions: Tensor) -> Tensor:
        change = self._strains.strain(positions).sub_(self._before)
        return self._stress(change).div_(self._span)

    def _stress(self, strain: Tensor) -> Tensor:
        """(6, M) 2a E + b tr(E) I of symmetric tensors: xx, yy, zz, yz, zx, xy."""
        stress = 2.0 * self._shear * strain
        stress[:3] += self._bulk * strain[:3].sum(0)
        return stress
