# SPDX-License-Identifier: GPL-3.0-or-later
"""Inertia, gravity, accelerations of vertices, and drag."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .potential import Potential, PrescribedPotential, TimeStep


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
        """Return the (T, 3) samples of the channel."""
        return self.channel.samples

    @property
    def acceleration(self) -> Tensor:
        """Return the (3,) acceleration in m/s², in place."""
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
        """Add nothing: gravity is uniform."""


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

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> VertexAccelerations:
        mass = quantities["mass"][self.where]
        return self._taped(quantities, index, frame, fraction, _mass=mass)

    def energy(self, positions: Tensor) -> Tensor:
        return -(self._mass * self.parameters * positions[:, self.where]).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[:, self.where] -= self._mass * self.parameters

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Add nothing: the force does not depend on positions."""


class DragForce(PrescribedPotential):
    """The force −r m v on a vertex.

    Over a step of s seconds it is the gradient of r/(2s) Σ m |x − x̂|², where x̂ is the position
    from which a vertex with the final velocity (x − x̂)/s would have come.

    Args:
        channel: r, () in 1/s.
        masses: (N,) m in kg.
    """

    is_dissipative = True

    def __init__(self, channel: TensorChannel, masses: Tensor) -> None:
        super().__init__(channel)
        self._masses, self._inverse_seconds = masses, 0.0
        self._origin = masses.new_zeros(3, len(masses))

    def on_tape(
        self, quantities: Mapping[str, Tensor], index: int, frame: int, fraction: float
    ) -> DragForce:
        masses = quantities[f"masses {index}"]
        return self._taped(quantities, index, frame, fraction, _masses=masses)

    @property
    def stiffest(self) -> Tensor:
        return self.channel.largest()

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        out += (self.parameters * self._masses) * velocities

    def begin_time_step(self, step: TimeStep) -> None:
        # A static solve has no velocities and no resistance.
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
        """Return the (N,) resistance in N/m."""
        return self.parameters * self._masses * self._inverse_seconds
