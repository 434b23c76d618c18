# SPDX-License-Identifier: GPL-3.0-or-later
"""The plastic strains of the tets of one elasticity, and what makes them flow."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.laws import has_kernel
from ..kernels.plastic_flow import FlowKernel
from .elasticity import Elasticity
from .torch_plastic_flow import TorchFlow

#: Rows of a plastic strain: F_p⁻¹ row by row, and α.
ROWS = 10


class TetFlow:
    """On a CPU compiled loops over tets serve, where numba is installed; elsewhere passes.

    A stiffness that is keyed to k makes the moduli k times as large, and no tet stronger. How tets
    flow hangs on ratios alone, so that yield stress and hardening count 1/k as much instead.

    Args:
        elasticity: whose tets they are.
        constants: (5, M) shear modulus, yield stress and hardening in pascal, creep time in
            seconds, limit of the plastic strain, at a stiffness of 1.
    """

    def __init__(self, elasticity: Elasticity, constants: Tensor) -> None:
        #: (5, M), as given, but for what ``follow_stiffness`` writes.
        self.tets, self.constants = elasticity.tets, constants
        self._elasticity, self._strengths = elasticity, constants[1:3].clone()
        self.constants[1:3] /= elasticity.stiffness
        #: (10, M), written to.
        self.plastic = self.tets.template.new_empty(ROWS, len(self.tets))
        kind = FlowKernel if has_kernel(elasticity.material, self.tets.template) else TorchFlow
        #: Lets them flow.
        self.map: FlowKernel | TorchFlow = kind(self.tets, constants)
        self.set_plastic(None)

    def set_plastic(self, plastic: Tensor | None) -> None:
        """Gives the tets the rest shapes of a (10, M) plastic strain."""
        self.plastic.copy_(self.unstrained() if plastic is None else plastic)
        self.map.set_rest_shapes(self.plastic)

    def unstrained(self) -> Tensor:
        """The (10, M) plastic strain of tets that have not flowed."""
        plastic = torch.zeros_like(self.plastic)
        plastic[:9:4] = 1.0
        return plastic

    def follow_stiffness(self) -> None:
        """Takes yield stress and hardening over the stiffness of now."""
        if not self._elasticity.is_constant:
            self.constants[1:3] = self._strengths / self._elasticity.stiffness

    def flow(self, positions: Tensor, seconds: float) -> bool:
        """Lets them flow at (3, N) positions; whether any may have."""
        self.follow_stiffness()
        return self.map.flow(positions, seconds, self.plastic)
