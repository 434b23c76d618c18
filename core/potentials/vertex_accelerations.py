# SPDX-License-Identifier: GPL-3.0-or-later
"""What speeds up single vertices as it is given."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .potential import PrescribedPotential


class VertexAccelerations(PrescribedPotential):
    """−Σ m a·x.

    Args:
        mass: (N,) of all vertices in kg.
        where: those of the body.
        channel: a, (3, n) of them, in m/s².
    """

    def __init__(self, mass: Tensor, where: slice, channel: TensorChannel) -> None:
        super().__init__(channel)
        #: The vertices of the body among all.
        self.where = where
        self._mass = mass[where]

    def energy(self, positions: Tensor) -> Tensor:
        return -(self._mass * self.parameters * positions[:, self.where]).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[:, self.where] -= self._mass * self.parameters

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """It has none: it does not go by positions."""
