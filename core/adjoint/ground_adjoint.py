# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the ground that ends an explicit step: of vertices, and of points that share
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..kernels.obstacle_points import SweepTrace
from ..obstacles.barrier_step import EmbeddedBarrierStep, smallest_ratio
from ..system import System
from .ground_loops import (
    ByContacts,
    ByMotion,
    ByPoints,
    PointContacts,
    PointTrace,
    VertexContacts,
    change_velocities,
    meet_back,
)
from .ground_loops import points_meet_back as meet_points_back
from .quantities import Quantities
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


@dataclass(frozen=True)
class PointMeeting(Meeting):
    """The vertices of points that the ground pushed at the end of a step.

    Args:
        change: (3, K) of velocities.
        trace: of the forces.
    """

    change: Tensor
    trace: PointTrace


def embedded_step(system: System) -> EmbeddedBarrierStep | None:
    """How explicit steps of a system meet the ground with points, if they do."""
    steps = (own for own in system.obstacles.steps if isinstance(own, EmbeddedBarrierStep))
    return next(steps, None)


class PointGroundAdjoint(GroundAdjoint[PointMeeting]):
    """Of ``EmbeddedBarrierStep``, whose forces go on from one step to the next in a frame.

    Where steps are taken again, it lets the ground act, and takes down each sweep.

    Args:
        step_end: of the ground.
        system: with a barrier under points.
        given: quantities.
        found, step, span: see ``GroundAdjoint``.
    """

    def __init__(
        self,
        step_end: EmbeddedBarrierStep,
        system: System,
        given: Quantities,
        found: dict[str, Tensor],
        step: float,
        span: Span,
    ) -> None:
        arrays, barrier = step_end.arrays, system.ground_barrier
        assert arrays is not None and barrier is not None
        self._step_end, self._arrays = step_end, arrays
        compliance = (step * span.impulse * system.inverse_mass).numpy()
        self._points = PointContacts(
            arrays.corners,
            arrays.shares,
            given["weights"].detach().numpy(),
            barrier.distances.numpy(),
            given["static"].detach().numpy(),
            given["kinetic"].detach().numpy(),
            compliance,
            (arrays.shares**2 * compliance[arrays.corners]).sum(1),
            step,
        )
        kind, count = compliance.dtype, len(arrays.corners)
        weights, static, kinetic, own = np.zeros((4, count), kind)
        by_compliance = np.zeros_like(compliance)
        self._out = ByPoints(weights, static, kinetic, own, by_compliance, np.zeros(1))
        super().__init__(system, found, step, span, self._out._asdict())
        self._by_forces = np.zeros(count, kind), np.zeros((count, 2), kind)
        #: Points with gradients by the forces that the next step goes on from.
        self._later = np.empty(0, np.int32)
        self._trace = SweepTrace.of(count, kind)

    def begin(self) -> None:
        for part in self._by_forces:
            part[self._later] = 0.0
        self._later = self._later[:0]

    def meeting(self, positions: Tensor, velocities: Tensor) -> PointMeeting | None:
        """See ``GroundAdjoint.meeting``; corrects both as the step would."""
        before, times = (positions.clone(), velocities.clone()), self._span.impulse
        self._step_end.apply(positions, velocities, self._step, times, self._trace)
        trace = self._pushed()
        if len(trace.points) == 0:
            return None
        is_carrying = torch.zeros(positions.shape[1], dtype=torch.bool)
        is_carrying[torch.as_tensor(self._arrays.corners[trace.points])] = True
        at = torch.nonzero(is_carrying).flatten()
        first, speed = (part.index_select(1, at) for part in before)
        return PointMeeting(at, first, speed, velocities.index_select(1, at) - speed, trace)

    def _pushed(self) -> PointTrace:
        """What the last step did, of the points that there was any force on."""
        arrays, room = self._arrays, self._trace
        count, sweeps, growing, stops, sticks = room.counts.tolist()
        near, before = arrays.near[:count], room.normal[:sweeps, :count, 0]
        is_pushed = (before != 0.0).any(0) | (arrays.forces[near] != 0.0)
        rows = np.flatnonzero(is_pushed & (self._points.own[near] > 0.0))
        return PointTrace(
            near[rows],
            room.normal[:sweeps].take(rows, axis=1),
            room.friction[:stops].take(rows, axis=1),
            sweeps - growing,
            sticks,
            room.slides[rows],
            arrays.forces[near[rows]],
            arrays.friction_forces[near[rows]],
        )

    def change(self, meeting: PointMeeting) -> Tensor:
        return meeting.change

    def back(self, meeting: PointMeeting, by_positions: Tensor, by_velocities: Tensor) -> None:
        by = ByMotion(by_positions.numpy(), by_velocities.numpy(), *self._by_forces)
        trace, vertices = meeting.trace, meeting.vertices.numpy()
        meet_points_back(self._points, trace, vertices, self._later, self._out, by)
        self._later = trace.points

    def by_mobility(self) -> Tensor:
        points, out = self._points, self._out
        np.add.at(out.compliance, points.corners, points.shares**2 * out.own[:, None])
        return torch.as_tensor(out.compliance)
