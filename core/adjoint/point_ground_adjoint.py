# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how explicit steps meet the ground with points that vertices share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels.point_ground_adjoint import ByMotion, ByPoints, meet_back
from ..kernels.point_ground_sweeps import (
    PointContacts,
    PointMotion,
    PointSweeps,
    PointTrace,
    meet_again,
    traced,
    vertices_of,
)
from ..obstacles.barrier_step import smallest_ratio
from ..obstacles.embedded_barrier_step import EmbeddedBarrierStep
from ..obstacles.point_arrays import PointArrays
from ..potentials import GroundBarrier
from ..system import System
from .quantities import Quantities
from .span import Span

Values = NDArray[np.float64]


@dataclass(frozen=True)
class PointMeeting:
    """Points that the ground pushed at the end of a step.

    Args:
        vertices: (n,) of those that were near it.
        positions, velocities: (3, n) before it did.
        change: (3, n) of velocities.
        trace: of the forces.
    """

    vertices: Tensor
    positions: Tensor
    velocities: Tensor
    change: Tensor
    trace: PointTrace


def embedded_step(system: System) -> EmbeddedBarrierStep | None:
    """How explicit steps of a system meet the ground with points, if they do."""
    steps = (own for own in system.obstacles.steps if isinstance(own, EmbeddedBarrierStep))
    return next(steps, None)


class PointGroundAdjoint:
    """Of ``EmbeddedBarrierStep``, whose forces go on from one step to the next in a frame.

    Where steps are taken again, it is what meets the ground, and keeps each sweep.

    Args:
        step_end: of the ground.
        system: with a barrier under points.
        given: quantities.
        found: the gradients by those that require grad, which grow.
        step: in seconds.
        span: all of it.
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
        assert step_end.arrays is not None and system.ground_barrier is not None
        self._step_end, self._arrays, self._found = step_end, step_end.arrays, found
        self._inverse_mass, self._span, self._step = system.inverse_mass, span, step
        compliance = (step * span.impulse * system.inverse_mass).numpy()
        self._points = _contacts(step_end.arrays, system.ground_barrier, given, compliance, step)
        kind, counts = compliance.dtype, (len(self._points.own), len(compliance))
        state = system.rest_positions()
        #: (3, N) gradients by positions and velocities, to work with.
        self.by_state = torch.zeros_like(state), torch.zeros_like(state)
        weights, static, kinetic, own = np.zeros((4, counts[0]), kind)
        by_compliance = np.zeros(counts[1], kind)
        self._out = ByPoints(weights, static, kinetic, own, by_compliance, np.zeros(1))
        self._by_forces = np.zeros(counts[0], kind), np.zeros((counts[0], 2), kind)
        #: Points with gradients by the forces that the next step goes on from.
        self._later = np.empty(0, np.int32)
        self._sweeps = PointSweeps.of(0, kind)

    def begin(self) -> None:
        """Goes to where forces begin: what follows goes on from none."""
        for part in self._by_forces:
            part[self._later] = 0.0
        self._later = self._later[:0]

    def meeting(self, positions: Tensor, velocities: Tensor) -> PointMeeting | None:
        """Of (3, N) positions and velocities at the end of a step, which it corrects as the step
        would; None where nothing is pushed."""
        arrays = self._arrays
        near, *forces = self._step_end.near(positions)
        if len(near) == 0:
            return None
        at = torch.as_tensor(vertices_of(arrays.corners, near, positions.shape[1]))
        before = positions.index_select(1, at), velocities.index_select(1, at)
        if len(near) > len(self._sweeps.pushed):
            self._sweeps = PointSweeps.of(2 * len(near), arrays.shares.dtype)
        motion = PointMotion(positions[2].numpy(), velocities.numpy(), near, *forces)
        meet_again(self._points, motion, self._sweeps)
        arrays.forces[near], arrays.friction_forces[near] = forces
        if self._sweeps.counts[3] == 0:
            return None
        change = velocities.index_select(1, at).sub_(before[1])
        # Vertices moved on by their old velocity; take back what friction stopped.
        positions[:2].index_add_(1, at, change[:2], alpha=self._points.step)
        return PointMeeting(at, *before, change, traced(motion, self._sweeps))

    def response(self, meeting: PointMeeting) -> PointResponse:
        """What the ground did then."""
        return PointResponse(self, meeting)

    def back(self, meeting: PointMeeting, by_positions: Tensor, by_velocities: Tensor) -> None:
        """From the (3, N) gradients by positions and velocities after it to those before it."""
        by = ByMotion(by_positions.numpy(), by_velocities.numpy(), *self._by_forces)
        trace, vertices = meeting.trace, meeting.vertices.numpy()
        meet_back(self._points, trace, vertices, self._later, self._out, by)
        self._later = trace.points

    def finish(self) -> None:
        """Adds to the gradients found what has been summed up on the way."""
        points, out = self._points, self._out
        np.add.at(out.compliance, points.corners, points.shares**2 * out.own[:, None])
        # The compliance is step × impulse time / mass.
        by_times = self._step * self._inverse_mass * torch.as_tensor(out.compliance)
        self._span.by_impulse.add_(by_times)
        sums = {
            name: torch.as_tensor(getattr(out, name)) for name in ("weights", "static", "kinetic")
        }
        sums["mass"] = -by_times * self._span.impulse * self._inverse_mass
        sums["height"] = torch.as_tensor(out.height[0])
        for name in self._found.keys() & sums.keys():
            self._found[name] += sums[name]


class PointResponse:
    """What the ground did to points that met it: ``Response`` for points that share vertices.

    Args:
        ground: that they met.
        meeting: of the points.
    """

    def __init__(self, ground: PointGroundAdjoint, meeting: PointMeeting) -> None:
        self._ground, self.meeting = ground, meeting
        #: (3, n) of velocities.
        self.change = meeting.change

    def leave(self, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]) -> None:
        """Goes to before it, with (3, N) positions and velocities and the gradients by both."""
        own = self.meeting
        self._ground.back(own, *gradients)
        for whole, part in zip(state, (own.positions, own.velocities), strict=True):
            whole.index_copy_(1, own.vertices, part)

    def back(self, by_change: Tensor) -> tuple[Tensor, Tensor]:
        """(3, n) gradients by positions and velocities before it, from that by the change of
        velocities."""
        at, (by_positions, by_velocities) = self.meeting.vertices, self._ground.by_state
        by_positions.index_fill_(1, at, 0.0)
        by_velocities.index_copy_(1, at, by_change)
        self._ground.back(self.meeting, by_positions, by_velocities)
        found = by_positions.index_select(1, at), by_velocities.index_select(1, at)
        return found[0], found[1].sub_(by_change)


def _contacts(
    arrays: PointArrays, barrier: GroundBarrier, given: Quantities, compliance: Values, step: float
) -> PointContacts:
    corners, shares = arrays.corners, arrays.shares
    return PointContacts(
        corners,
        shares,
        given["weights"].detach().numpy(),
        barrier.distances.numpy(),
        given["static"].detach().numpy(),
        given["kinetic"].detach().numpy(),
        compliance,
        (shares**2 * compliance[corners]).sum(1),
        barrier.height,
        smallest_ratio(barrier.distances.dtype),
        step,
    )
