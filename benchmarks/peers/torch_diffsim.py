# SPDX-License-Identifier: GPL-3.0-or-later
"""torch-diffsim: explicit, differentiable, in PyTorch; in single precision, as it makes meshes."""

from __future__ import annotations

import diffsim
import numpy as np
import torch
from torch import Tensor

from ..drop import FRAME_RATE, GRAVITY, Drop, Positions
from .peer import PeerInstabilityError

# Its ground is y = 0.
AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# It cuts speeds off at 50 m/s, which hides that they blow up; nothing falls a tenth as fast.
TOP_SPEED = 49.0


class _Frictionless(diffsim.SemiImplicitSolver):
    """Its ground has a coefficient of friction of its own; this one leaves sliding alone."""

    def _handle_ground_collision(
        self,
        positions: Tensor,
        velocities: Tensor,
        ground_height: float = 0.0,
        restitution: float = 0.0,
    ) -> tuple[Tensor, Tensor]:
        sliding = velocities[:, [0, 2]]
        positions, velocities = super()._handle_ground_collision(
            positions, velocities, ground_height, restitution
        )
        velocities[:, [0, 2]] = sliding
        return positions, velocities


class TorchDiffsim:
    def __init__(self, drop: Drop) -> None:
        self.work: dict[str, int] = {}
        self._rest = torch.as_tensor(drop.mesh.vertices @ AXES.T, dtype=torch.float32)
        self._mesh = diffsim.TetrahedralMesh(self._rest, torch.as_tensor(drop.mesh.tets).long())
        self._material = diffsim.StableNeoHookean(drop.young, drop.poisson)
        self._masses = torch.as_tensor(drop.masses, dtype=torch.float32)

    def start(self, steps: int) -> None:
        self._positions = self._rest
        self._velocities = torch.zeros_like(self._rest)
        self._solver = _Frictionless(
            dt=1.0 / FRAME_RATE, gravity=-GRAVITY, damping=1.0, substeps=steps
        )

    def frame(self) -> Positions:
        try:
            self._positions, self._velocities = self._solver.step(
                self._mesh, self._material, self._positions, self._velocities, self._masses
            )
        except FloatingPointError as error:
            raise PeerInstabilityError(str(error)) from error
        if self._velocities.norm(dim=1).max() > TOP_SPEED:
            raise PeerInstabilityError("The limit on speeds was reached.")
        return self._positions.double().numpy() @ AXES
