# SPDX-License-Identifier: GPL-3.0-or-later
"""Weight."""

from __future__ import annotations

from torch import Tensor

from ..linear_solvers.block_matrix import BlockMatrix
from .potential import Potential


class Gravity(Potential):
    """−Σ m g·x.

    Args:
        mass: (N,) vertex masses in kg.
        acceleration: (3,) in m/s².
    """

    def __init__(self, mass: Tensor, acceleration: Tensor) -> None:
        self._gradient = -acceleration[:, None] * mass[None, :]

    def energy(self, positions: Tensor) -> Tensor:
        return (self._gradient * positions).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self._gradient)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """It has none: gravity is uniform."""
