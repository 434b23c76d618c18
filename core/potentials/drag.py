# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drag that is prescribed over time takes from the speed of a body."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .potential import PrescribedPotential, TimeStep


class DragForce(PrescribedPotential):
    """The force −r m v on a vertex.

    Over a step of s seconds it is the gradient of r/(2s) Σ m |x − x̂|², where x̂ is what a vertex
    would have come from at the velocity (x − x̂)/s at the end of the step.

    Args:
        channel: r, () in 1/s.
        masses: (N,) m in kg.
    """

    is_dissipative = True

    def __init__(self, channel: TensorChannel, masses: Tensor) -> None:
        super().__init__(channel)
        self._masses, self._inverse_seconds = masses, 0.0
        self._origin = masses.new_zeros(3, len(masses))

    @property
    def stiffest(self) -> Tensor:
        return self.channel.largest()

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        out += (self.parameters * self._masses) * velocities

    def begin_time_step(self, step: TimeStep) -> None:
        # What takes for ever meets no resistance.
        self._inverse_seconds = 0.0 if step.is_static else 1.0 / step.seconds
        self._origin = step.coasting_origin

    def energy(self, positions: Tensor) -> Tensor:
        return 0.5 * (self._resistance * (positions - self._origin).square()).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out += self._resistance * (positions - self._origin)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_diagonal(self._resistance[matrix.pattern.vertices])

    @property
    def _resistance(self) -> Tensor:
        """(N,) in N/m."""
        return self.parameters * self._masses * self._inverse_seconds
