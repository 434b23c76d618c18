# SPDX-License-Identifier: GPL-3.0-or-later
"""Weight."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .potential import Potential


class Gravity(Potential):
    """−Σ m g·x, with the g that ``go_to`` or ``act`` chose last, at first that of the start.

    Args:
        mass: (N,) vertex masses in kg.
        channel: g, (3,) in m/s².
    """

    def __init__(self, mass: Tensor, channel: TensorChannel) -> None:
        self._mass, self._channel = mass, channel
        #: (3,) in m/s², in place.
        self.acceleration = channel.at(0, 0.0).clone()
        self._gradient = self._weight(self.acceleration)

    @property
    def is_constant(self) -> bool:
        return self._channel.is_constant

    def at(self, frame: int, fraction: float) -> Tensor:
        """(3,) in m/s² a ``fraction`` of the way from a frame to the next."""
        return self._channel.at(frame, fraction)

    def go_to(self, frame: int, fraction: float) -> None:
        """Takes the acceleration of a time."""
        if not self.is_constant:
            self.act(self.at(frame, fraction))

    def act(self, acceleration: Tensor) -> None:
        """Takes an acceleration, (3,) in m/s²."""
        self.acceleration.copy_(acceleration)
        self._gradient.copy_(self._weight(acceleration))

    def energy_at(self, positions: Tensor, frame: int) -> Tensor:
        """In joules, after a frame."""
        if self.is_constant:
            return self.energy(positions)
        return (self._weight(self.at(frame, 0.0)) * positions).sum()

    def energy(self, positions: Tensor) -> Tensor:
        return (self._gradient * positions).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self._gradient)

    def _weight(self, acceleration: Tensor) -> Tensor:
        return -acceleration[:, None] * self._mass[None, :]

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """It has none: gravity is uniform."""
