# SPDX-License-Identifier: GPL-3.0-or-later
"""What gas does inside of a body."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .enclosed_volume import EnclosedVolume
from .potential import TimeStep
from .prescribed import PrescribedPotential


class Pressure(PrescribedPotential):
    """−p V: gas at the pressure p, of the volume V.

    Args:
        channel: p, () in Pa.
        volume: of the gas.
    """

    def __init__(self, channel: TensorChannel, volume: EnclosedVolume) -> None:
        super().__init__(channel)
        self.volume = volume
        self._cancellation = 0.0

    @property
    def stiffest(self) -> Tensor:
        samples = self.channel.samples
        return samples[samples.abs().argmax()]

    @property
    def cancellation(self) -> float:
        return self._cancellation

    def begin_time_step(self, step: TimeStep) -> None:
        self._cancellation = float((self.parameters * self.volume.parts(step.start)).abs().sum())

    def energy(self, positions: Tensor) -> Tensor:
        return -self.parameters * self.volume.of(positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        self.volume.add_gradient(-self.parameters, positions, out)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Of it alone; projected it is none, since what opens one way closes the other."""
        if not projected:
            self.volume.add_hessian(-self.parameters, positions, matrix)
