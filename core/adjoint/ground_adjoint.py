# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from ..system import System
from .span import Span


@dataclass(frozen=True)
class Meeting:
    """The vertices that the ground corrects at the end of a step.

    Args:
        vertices: (K,) of all.
        positions, velocities: (3, K) before it does.
    """

    vertices: Tensor
    positions: Tensor
    velocities: Tensor


Met = TypeVar("Met", bound=Meeting)


class GroundAdjoint(ABC, Generic[Met]):
    """What goes back through the ground's corrections shares.

    Args:
        system: with a barrier.
        found: the gradients by quantities that require grad, which grow.
        step: in seconds.
        span: all of it.
        sums: arrays of gradients by the names of quantities, which grow on the way.
    """

    def __init__(
        self,
        system: System,
        found: dict[str, Tensor],
        step: float,
        span: Span,
        sums: dict[str, Any],
    ) -> None:
        self._found, self._step, self._span, self._sums = found, step, span, sums
        self._inverse_mass = system.inverse_mass
        state = system.rest_positions()
        #: (3, N) gradients by positions and velocities, to work with.
        self.by_state = torch.zeros_like(state), torch.zeros_like(state)

    def begin(self) -> None:
        """Goes to where forces begin: what follows goes on from none."""

    @abstractmethod
    def meeting(self, positions: Tensor, velocities: Tensor) -> Met | None:
        """Of (3, N) positions and velocities at the end of a step; None where nothing is pushed."""

    @abstractmethod
    def change(self, meeting: Met) -> Tensor:
        """(3, K) of velocities."""

    @abstractmethod
    def back(self, meeting: Met, by_positions: Tensor, by_velocities: Tensor) -> None:
        """From the (3, N) gradients by positions and velocities after it to those before it."""

    @abstractmethod
    def by_mobility(self) -> Tensor:
        """(N,) gradient by step × impulse time / mass of vertices, all meetings together."""

    def leave(
        self, meeting: Met, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]
    ) -> None:
        """Goes to before it, with (3, N) positions and velocities and the gradients by both."""
        self.back(meeting, *gradients)
        for whole, part in zip(state, (meeting.positions, meeting.velocities), strict=True):
            whole.index_copy_(1, meeting.vertices, part)

    def finish(self) -> None:
        """Adds to the gradients found what has been summed up on the way."""
        by_times = self._step * self._inverse_mass * self.by_mobility()
        self._span.by_impulse.add_(by_times)
        sums = {name: torch.as_tensor(own) for name, own in self._sums.items()}
        sums["height"] = sums["height"][0]
        sums["mass"] = -by_times * self._span.impulse * self._inverse_mass
        for name in self._found.keys() & sums.keys():
            self._found[name] += sums[name]


class GroundReaction:
    """What the ground did to K vertices that met it.

    Args:
        ground: that they met.
        meeting: of the vertices.
    """

    def __init__(self, ground: GroundAdjoint[Met], meeting: Met) -> None:
        self._ground, self._meeting = ground, meeting
        self.vertices = meeting.vertices
        #: (3, K) of velocities.
        self.change = ground.change(meeting)

    def back(self, by_change: Tensor) -> tuple[Tensor, Tensor]:
        """(3, K) gradients by positions and velocities before it, from that by the change of
        velocities."""
        at, (by_positions, by_velocities) = self.vertices, self._ground.by_state
        by_positions.index_fill_(1, at, 0.0)
        by_velocities.index_copy_(1, at, by_change)
        self._ground.back(self._meeting, by_positions, by_velocities)
        found = by_positions.index_select(1, at), by_velocities.index_select(1, at)
        return found[0], found[1].sub_(by_change)
