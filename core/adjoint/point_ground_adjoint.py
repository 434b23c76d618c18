# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground with points that vertices share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..kernels.embedded_obstacle_barrier import SweepTrace
from ..kernels.point_ground_adjoint import (
    ByMotion,
    ByPoints,
    PointContacts,
    PointTrace,
    meet_back,
)
from ..obstacles.embedded_barrier_step import EmbeddedBarrierStep
from ..system import System
from .ground_adjoint import GroundAdjoint, Meeting
from .quantities import Quantities
from .span import Span


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
        meet_back(self._points, trace, vertices, self._later, self._out, by)
        self._later = trace.points

    def by_mobility(self) -> Tensor:
        points, out = self._points, self._out
        np.add.at(out.compliance, points.corners, points.shares**2 * out.own[:, None])
        return torch.as_tensor(out.compliance)
