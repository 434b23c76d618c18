# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground with vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..kernels.ground_adjoint import ByContacts, VertexContacts, change_velocities, meet_back
from ..obstacles.barrier_step import smallest_ratio
from ..system import System
from .ground_adjoint import GroundAdjoint, Meeting
from .quantities import Quantities
from .span import Span


@dataclass(frozen=True)
class VertexMeeting(Meeting):
    """
    Args:
        rows: (K,) of the vertices among those of the ground.
    """

    rows: Tensor

    @property
    def before(self) -> tuple[Any, Any, Any]:
        """Rows, heights and velocities."""
        return self.rows.numpy(), self.positions[2].numpy(), self.velocities.numpy()


class VertexGroundAdjoint(GroundAdjoint[VertexMeeting]):
    """Of ``BarrierStep``.

    Args:
        system: with a barrier under vertices.
        given: quantities.
        found, step, span: see ``GroundAdjoint``.
    """

    def __init__(
        self,
        system: System,
        given: Quantities,
        found: dict[str, Tensor],
        step: float,
        span: Span,
    ) -> None:
        barrier = system.ground_barrier
        assert barrier is not None
        self._vertices, self._tops = barrier.vertices, barrier.height + barrier.distances
        mobility = (step * span.impulse * system.inverse_mass)[self._vertices].numpy()
        self._contacts = VertexContacts(
            self._vertices.numpy(),
            given["weights"].detach().numpy(),
            barrier.distances.numpy(),
            given["static"].detach().numpy(),
            given["kinetic"].detach().numpy(),
            mobility,
            barrier.height,
            smallest_ratio(barrier.distances.dtype),
            step,
        )
        weights, kinetic, by_mobility = np.zeros((3, len(mobility)), mobility.dtype)
        self._out = ByContacts(weights, kinetic, by_mobility, np.zeros(1))
        super().__init__(system, found, step, span, self._out._asdict())

    def meeting(self, positions: Tensor, velocities: Tensor) -> VertexMeeting | None:
        heights = positions[2].index_select(0, self._vertices)
        rows = torch.nonzero(heights < self._tops).flatten()
        if len(rows) == 0:
            return None
        at = self._vertices[rows]
        before = positions.index_select(1, at), velocities.index_select(1, at)
        return VertexMeeting(at, *before, rows)

    def change(self, meeting: VertexMeeting) -> Tensor:
        found = torch.empty_like(meeting.velocities)
        change_velocities(self._contacts, *meeting.before, found.numpy())
        return found

    def back(self, meeting: VertexMeeting, by_positions: Tensor, by_velocities: Tensor) -> None:
        by = by_positions.numpy(), by_velocities.numpy()
        meet_back(self._contacts, *meeting.before, meeting.vertices.numpy(), by, self._out)

    def by_mobility(self) -> Tensor:
        found = torch.zeros_like(self._inverse_mass)
        return found.index_add_(0, self._vertices, torch.as_tensor(self._out.mobility))
