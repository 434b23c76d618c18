# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fluid at rest carries."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from .gravity import Gravity
from .prescribed import PrescribedPotential
from .submerged_tets import SubmergedTets


class Buoyancy(PrescribedPotential):
    """ρ g ∫ (level − z) dV over what is below the level: the weight of the fluid that a body
    displaces, raised to the surface (Archimedes).

    It is convex, since tets keep their volumes at rest in it, and so its second derivative needs no
    projection.

    Args:
        tets: of the bodies.
        channel: ρ g, () in N/m³.
    """

    def __init__(self, tets: SubmergedTets, channel: TensorChannel) -> None:
        super().__init__(channel)
        #: Of the bodies.
        self.tets = tets

    @classmethod
    def of(cls, tets: SubmergedTets, density: float, gravity: Gravity) -> Buoyancy:
        """In gravity along −z; what of it points elsewhere has no level."""
        down = -gravity.channel.samples[:, 2]
        return cls(tets, gravity.channel.with_samples(density * down.clamp(min=0.0)))

    @property
    def stiffest(self) -> Tensor:
        return self.channel.samples.max()

    def energy(self, positions: Tensor) -> Tensor:
        return self.parameters * self.tets.depth_integral(positions)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[2] -= self.parameters * self.tets.submerged_volumes(positions)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        self.tets.add_second_derivative(positions, self.parameters, matrix)
