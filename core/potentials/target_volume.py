# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas that wants to have a certain volume inside of a body."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .enclosed_volume import EnclosedVolume
from .potential import TimeStep
from .prescribed import PrescribedPotential


class TargetVolume(PrescribedPotential):
    """k (V − f V₀)² / 2 V₀: gas whose pressure is p = k (f V₀ − V) / V₀, V₀ its volume at rest.

    Args:
        channel: f, ().
        stiffness: k in Pa.
        volume: of the gas.
    """

    def __init__(self, channel: TensorChannel, stiffness: float, volume: EnclosedVolume) -> None:
        super().__init__(channel)
        self.volume = volume
        #: k/V₀, in J/m⁶.
        self.second_derivative = stiffness / volume.at_rest
        # Of the sum of the sizes of what is subtracted, in J/m³, and by how much that is off.
        self._whole, self._last_excess = 0.0, channel.samples.new_zeros(())

    @property
    def stiffest(self) -> Tensor:
        samples = self.channel.samples
        return samples[(samples - 1.0).abs().argmax()]

    @property
    def cancellation(self) -> float:
        return float(self._last_excess.abs()) * self._whole

    def begin_time_step(self, step: TimeStep) -> None:
        sizes = self.volume.parts(step.start).abs().sum()
        whole = sizes + self.parameters.abs() * self.volume.at_rest
        self._whole = float(self.second_derivative * whole)

    def pressure(self, positions: Tensor) -> Tensor:
        """p in Pa."""
        return -self.second_derivative * self._excess(positions)

    def energy(self, positions: Tensor) -> Tensor:
        # It is known as well as the volumes that are subtracted in it are.
        self._last_excess = self._excess(positions)
        return 0.5 * self.second_derivative * self._last_excess.square()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.volume.add_gradient(-self.pressure(positions), positions, out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """That of the volume by itself is of rank one: k ∇V ∇Vᵀ / V₀. Projected it is all; what
        the pressure adds opens one way and closes the other."""
        gradient = self._volume_gradient(positions)[:, matrix.pattern.vertices]
        matrix.add_rank_one(gradient.T.contiguous(), self.second_derivative)
        if not projected:
            self.volume.add_hessian(-self.pressure(positions), positions, matrix)

    def relax(self, positions: Tensor, mobility: Tensor) -> None:
        """As a constraint of XPBD, of the compliance V₀/k: changes (3, N) positions in place.

        Args:
            mobility: (N,) the squared step over the mass, zero where a vertex is pinned, in s²/kg.
        """
        gradient = self._volume_gradient(positions)
        moves = mobility * gradient
        flexibility = (moves * gradient).sum() + 1.0 / self.second_derivative
        positions.sub_(moves * (self._excess(positions) / flexibility))

    def _volume_gradient(self, positions: Tensor) -> Tensor:
        """(3, N) in m²."""
        gradient = torch.zeros_like(positions)
        self.volume.add_gradient(positions.new_ones(()), positions, gradient)
        return gradient

    def _excess(self, positions: Tensor) -> Tensor:
        """V − f V₀ in m³."""
        return self.volume.of(positions) - self.parameters * self.volume.at_rest
