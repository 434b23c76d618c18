# SPDX-License-Identifier: GPL-3.0-or-later
"""A force that a script might bring along."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.potentials import Potential
from supple.core.system import System


@dataclass(frozen=True)
class Tether:
    """½ k |x − a|² of one vertex."""

    vertex: int
    stiffness: float
    anchor: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def potential(self, system: System) -> TetherEnergy:
        return TetherEnergy(self, torch.as_tensor(self.anchor).to(system.mass))


class TetherEnergy(Potential):
    def __init__(self, tether: Tether, anchor: Tensor) -> None:
        self._tether, self._anchor = tether, anchor

    def energy(self, positions: Tensor) -> Tensor:
        return 0.5 * self._tether.stiffness * self._way(positions).square().sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out[:, self._tether.vertex] += self._tether.stiffness * self._way(positions)

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        block = self._tether.stiffness * torch.eye(3).to(positions)
        matrix.add_diagonal_blocks(torch.tensor([self._tether.vertex]), block.view(1, 9))

    def _way(self, positions: Tensor) -> Tensor:
        return positions[:, self._tether.vertex] - self._anchor
