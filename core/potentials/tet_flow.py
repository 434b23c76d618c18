# SPDX-License-Identifier: GPL-3.0-or-later
"""The plastic strains of the tets of one elasticity, and what makes them flow."""

from __future__ import annotations

from torch import Tensor

from ..kernels.laws import has_kernel
from ..kernels.plastic_flow import FlowKernel
from .elasticity import Elasticity
from .torch_plastic_flow import TorchFlow

#: Rows of a plastic strain: F_p⁻¹ row by row, and α.
ROWS = 10


class TetFlow:
    """On a CPU compiled loops over tets serve, where numba is installed; elsewhere passes.

    Args:
        elasticity: whose tets they are.
        constants: (5, M) shear modulus, yield stress and hardening in pascal, creep time in
            seconds, limit of the plastic strain.
    """

    def __init__(self, elasticity: Elasticity, constants: Tensor) -> None:
        self.tets, self.constants = elasticity.tets, constants
        #: (10, M), written to.
        self.plastic = self.tets.template.new_empty(ROWS, len(self.tets))
        kind = FlowKernel if has_kernel(elasticity.material, self.tets.template) else TorchFlow
        self._map = kind(self.tets, constants)
        self.use(None)

    def use(self, plastic: Tensor | None) -> None:
        """Gives the tets the rest shapes of a (10, M) plastic strain."""
        if plastic is None:
            self.plastic.zero_()
            self.plastic[:9:4] = 1.0
        else:
            self.plastic.copy_(plastic)
        self._map.use(self.plastic)

    def flow(self, positions: Tensor, seconds: float) -> bool:
        """Lets them flow at (3, N) positions; whether any may have."""
        return self._map.flow(positions, seconds, self.plastic)
