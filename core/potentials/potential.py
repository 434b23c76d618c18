# SPDX-License-Identifier: GPL-3.0-or-later
"""What integrators know of the physics."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from ..linear_solvers.block_matrix import BlockMatrix


class Potential(ABC):
    """An energy that depends on the positions of all vertices, (3, N), in metres."""

    @abstractmethod
    def energy(self, positions: Tensor) -> Tensor:
        """The energy in joules, a tensor of no dimension on the device of ``positions``."""

    @abstractmethod
    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the energy's gradient, (3, N) in newtons, to ``out``."""

    @abstractmethod
    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Adds the energy's second derivative, projected to be positive semi-definite, in N/m."""

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The share, at most 1, of a step ``direction`` (3, N) along which the energy is finite."""
        return 1.0

    def gradient(self, positions: Tensor) -> Tensor:
        """(3, N) gradient of the energy in newtons."""
        out = torch.zeros_like(positions)
        self.add_gradient(positions, out)
        return out
