# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..kernels.ground_adjoint import ByContacts, VertexContacts, change_velocities, meet_back
from ..obstacles.barrier_step import smallest_ratio
from ..potentials import GroundBarrier
from ..system import System
from .quantities import Quantities
from .span import Span


@dataclass(frozen=True)
class Meeting:
    """The vertices that the ground corrects at the end of a step.

    Args:
        rows: (K,) of them among the ground's points.
        vertices: (K,) of them among all.
        positions, velocities: (3, K) before it does.
    """

    rows: Tensor
    vertices: Tensor
    positions: Tensor
    velocities: Tensor


class GroundAdjoint:
    """Of ``BarrierStep``.

    Args:
        system: with a barrier under vertices.
        given: quantities.
        found: the gradients by those that require grad, which grow.
        step: in seconds.
        span: all of it.
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
        self._barrier: GroundBarrier = barrier
        self._found, self._step, self._span = found, step, span
        self._tops, at = barrier.height + barrier.distances, barrier.vertices
        #: (S,) 1/kg.
        self._inverse_mass = system.inverse_mass[at]
        mobility = step * span.impulse[at] * self._inverse_mass
        self.contacts = VertexContacts(
            at.numpy(),
            given["weights"].detach().numpy(),
            barrier.distances.numpy(),
            given["static"].detach().numpy(),
            given["kinetic"].detach().numpy(),
            mobility.numpy(),
            barrier.height,
            smallest_ratio(mobility.dtype),
            step,
        )
        weights, kinetic, by_mobility = np.zeros((3, len(mobility)), mobility.numpy().dtype)
        self.out = ByContacts(weights, kinetic, by_mobility, np.zeros(1))

    def meeting(self, positions: Tensor, velocities: Tensor) -> Meeting | None:
        """Of (3, N) positions and velocities at the end of a step; None where nothing touches."""
        heights = positions[2].index_select(0, self._barrier.vertices)
        rows = torch.nonzero(heights < self._tops).flatten()
        if len(rows) == 0:
            return None
        at = self._barrier.vertices[rows]
        return Meeting(rows, at, positions.index_select(1, at), velocities.index_select(1, at))

    def response(self, meeting: Meeting) -> Response:
        """What the ground does then."""
        return Response(self, meeting)

    def begin(self) -> None:
        """Goes to where forces begin: here all steps begin without."""

    def finish(self) -> None:
        """Adds to the gradients found what has been summed up on the way."""
        at, times = self._barrier.vertices, self._span.impulse
        by_mobility = torch.as_tensor(self.out.mobility)
        # The mobility is step × impulse time / mass.
        by_times = self._step * self._inverse_mass * by_mobility
        self._span.by_impulse.index_add_(0, at, by_times)
        sums = {name: torch.as_tensor(getattr(self.out, name)) for name in ("weights", "kinetic")}
        sums["height"] = torch.as_tensor(self.out.height[0])
        for name in self._found.keys() & sums.keys():
            self._found[name] += sums[name]
        if "mass" in self._found:
            self._found["mass"].index_add_(0, at, -by_times * times[at] * self._inverse_mass)


class Response:
    """What the ground does to vertices that meet it.

    Args:
        ground: that it meets.
        meeting: of the vertices.
    """

    def __init__(self, ground: GroundAdjoint, meeting: Meeting) -> None:
        self._ground, self.meeting = ground, meeting
        own = meeting
        self._before = own.rows.numpy(), own.positions[2].numpy(), own.velocities.numpy()

    @cached_property
    def change(self) -> Tensor:
        """(3, K) of velocities."""
        found = torch.empty_like(self.meeting.velocities)
        change_velocities(self._ground.contacts, *self._before, found.numpy())
        return found

    def leave(self, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]) -> None:
        """Goes to before it, with (3, N) positions and velocities and the gradients by both."""
        own, at = self.meeting, self.meeting.vertices
        by = gradients[0].numpy(), gradients[1].numpy()
        meet_back(self._ground.contacts, *self._before, at.numpy(), by, self._ground.out)
        for whole, part in zip(state, (own.positions, own.velocities), strict=True):
            whole.index_copy_(1, at, part)

    def back(self, by_change: Tensor) -> tuple[Tensor, Tensor]:
        """(3, K) gradients by positions and velocities before it, from that by the change of
        velocities."""
        found = torch.zeros_like(by_change), by_change.clone()
        by = found[0].numpy(), found[1].numpy()
        at = np.arange(by_change.shape[1])
        meet_back(self._ground.contacts, *self._before, at, by, self._ground.out)
        return found[0], found[1].sub_(by_change)
