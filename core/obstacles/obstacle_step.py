# SPDX-License-Identifier: GPL-3.0-or-later
"""How an explicit step meets an obstacle: after it, vertex by vertex.

Each vertex touches an obstacle on its own, so its contact can be solved for the end of the step
while elasticity stays explicit. Obstacles then never limit the time step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import is_compiled
from ..kernels import obstacle_contact as contact
from ..scene.friction import Coefficients


class ObstacleStep(ABC):
    """Corrects the vertices that an explicit step has brought to an obstacle.

    Args:
        vertices: (S,) indices of free vertices.
        friction: (S,) tensors, of the vertices on the obstacle.
    """

    def __init__(self, vertices: Tensor, friction: Coefficients) -> None:
        self._vertices, self._friction = vertices, friction

    def apply(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        """Changes positions and velocities, both (3, N), at the end of a step of ``step`` s.

        A force over mass changes a velocity over the (N,) ``impulse_times``, in seconds.
        """
        # On CUDA, finding out whether any vertex touches would cost a wait for the device.
        if positions.is_cuda or not is_compiled():
            self._apply_passes(positions, velocities, step, impulse_times)
        else:
            contact.choose_threads(len(self._vertices))
            self._loop(positions.numpy(), velocities.numpy(), step, impulse_times.numpy())

    def _apply_passes(
        self, positions: Tensor, velocities: Tensor, step: float, impulse_times: Tensor
    ) -> None:
        vertices = self._vertices
        before, times = velocities[:, vertices], impulse_times[vertices]
        placed, normal, change = self._respond(positions[:, vertices], before, step, times)
        sliding = before - (before * normal).sum(0) * normal
        speed = torch.linalg.vector_norm(sliding, dim=0)
        stopped = stopped_share(speed, change.clamp(min=0.0), self._friction) * sliding
        velocities[:, vertices] = before + change * normal - stopped
        # A vertex moved on by its old tangential velocity; take back what friction stopped.
        positions[:, vertices] = placed - step * stopped

    @abstractmethod
    def _loop(
        self,
        positions: NDArray[Any],
        velocities: NDArray[Any],
        step: float,
        impulse_times: NDArray[Any],
    ) -> None:
        """``apply`` as a compiled loop."""

    @abstractmethod
    def _respond(
        self, points: Tensor, velocity: Tensor, step: float, impulse_times: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """What contact without friction does.

        Args:
            points, velocity: (3, S) at the end of the step.
            step: in seconds.
            impulse_times: (S,) in seconds.

        Returns:
            (3, S) points after contact, (3, S) outward normals of the obstacle, and the (S,)
            change of the velocity along them, in m/s; zero away from it.
        """


def stopped_share(speed: Tensor, change: Tensor, friction: Coefficients) -> Tensor:
    """(S,) what ``kernels.obstacle_contact.stopped_share`` is of one vertex."""
    # The smallest positive divisor keeps a vertex at rest from becoming 0 / 0.
    slowed = friction.kinetic * change / speed.clamp(min=torch.finfo(speed.dtype).tiny)
    return torch.where(speed <= friction.static * change, torch.ones_like(speed), slowed)
