# SPDX-License-Identifier: GPL-3.0-or-later
"""Weight."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .potential import PrescribedPotential


class Gravity(PrescribedPotential):
    """−Σ m g·x.

    Args:
        mass: (N,) vertex masses in kg.
        channel: g, (3,) in m/s².
    """

    def __init__(self, mass: Tensor, channel: TensorChannel) -> None:
        super().__init__(channel)
        self._mass = mass
        self._gradient = self._weight(self.acceleration)

    @property
    def samples(self) -> Tensor:
        """(T, 3) as its channel has them."""
        return self.channel.samples

    @property
    def acceleration(self) -> Tensor:
        """(3,) in m/s², in place."""
        return self.parameters

    def act(self, parameters: Tensor) -> None:
        super().act(parameters)
        self._gradient.copy_(self._weight(parameters))

    def energy_with(self, parameters: Tensor, positions: Tensor) -> Tensor:
        return (self._weight(parameters) * positions).sum()

    def energy(self, positions: Tensor) -> Tensor:
        return (self._gradient * positions).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self._gradient)

    def _weight(self, acceleration: Tensor) -> Tensor:
        return -acceleration[:, None] * self._mass[None, :]

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """It has none: gravity is uniform."""
