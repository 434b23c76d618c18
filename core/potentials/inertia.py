# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps vertices going as they went."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from .potential import Potential, TimeStep


class Inertia(Potential):
    """½ ‖x − x̃‖²_M / τσ, τ the step and σ the time that forces change velocities over.

    Args:
        mass: (N,) of the vertices in kg, zero where they are pinned.
    """

    def __init__(self, mass: Tensor) -> None:
        self._mass = mass
        #: (N,) m / τσ in N/m.
        self.weight = mass.new_zeros(len(mass))
        self._predicted = mass.new_zeros(3, len(mass))

    def begin_time_step(self, step: TimeStep) -> None:
        self._predicted = step.predicted
        self.weight = self._mass / (step.seconds * step.impulse_time)

    def energy(self, positions: Tensor) -> Tensor:
        away = positions - self._predicted
        return 0.5 * (self.weight * (away * away).sum(0)).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self.weight * (positions - self._predicted))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_diagonal(self.weight[matrix.pattern.vertices])
