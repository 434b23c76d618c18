# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of the ground at the end of an explicit step, for vertices and embedded points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..kernels.obstacles import SweepTrace
from ..obstacles import BarrierStep, EmbeddedBarrierStep, smallest_ratio
from ..system import System
from .ground_loops import (
    MotionGradients,
    PointContacts,
    PointGradients,
    PointTrace,
    contact_back,
    trace_vertices,
)
from .quantities import Quantities


@dataclass(frozen=True)
class Span:
    """A part of a step, over which velocities become r v + σ a.

    Args:
        retention, impulse: (N,) r, and σ in seconds.
        grad_retention, grad_impulse: (N,) gradients by both, to add to.
    """

    retention: Tensor
    impulse: Tensor
    grad_retention: Tensor
    grad_impulse: Tensor

    def add(self, upstream: Tensor, velocities: Tensor, accelerations: Tensor) -> None:
        """Add the gradients by r and σ, from (3, N) gradients by r v + σ a."""
        self.grad_retention.add_((upstream * velocities).sum(0))
        self.grad_impulse.add_((upstream * accelerations).sum(0))

    def add_retention(self, upstream: Tensor, values: Tensor) -> None:
        """Add the gradient by r, from (3, N) gradients by r times values."""
        self.grad_retention.add_((upstream * values).sum(0))


@dataclass(frozen=True)
class GroundContact:
    """The vertices of points that the ground pushed at the end of a step.

    Args:
        vertices: (K,) indices among all vertices.
        positions, velocities: (3, K) before the correction.
        change: (3, K) of velocities.
        trace: of the forces.
    """

    vertices: Tensor
    positions: Tensor
    velocities: Tensor
    change: Tensor
    trace: PointTrace


def carries_forces(system: System) -> bool:
    """Whether a step's forces of the ground begin with those of the step before."""
    return any(isinstance(step, EmbeddedBarrierStep) for step in system.obstacles.steps)


class GroundAdjoint:
    """The adjoint of ``EmbeddedBarrierStep`` and ``BarrierStep``, whose vertices are points without
    others beside them.

    When steps are repeated, it applies the ground and records each sweep.

    Args:
        system: a system with a ground barrier.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by quantities that require grad, to add to.
        step: the step in seconds.
        span: the whole step.
    """

    def __init__(
        self,
        system: System,
        quantities: Quantities,
        grads: dict[str, Tensor],
        step: float,
        span: Span,
    ) -> None:
        barrier, step_end = system.ground_barrier, system.obstacles.steps[-1]
        assert barrier is not None and isinstance(step_end, (BarrierStep, EmbeddedBarrierStep))
        self._barrier, self._step_end = barrier, step_end
        self._grads, self._step, self._span = grads, step, span
        self._inverse_mass = system.inverse_mass
        count = len(barrier.points)
        self._has_friction = system.obstacles.ground_friction.act
        if isinstance(step_end, EmbeddedBarrierStep):
            assert step_end.arrays is not None
            corners, shares = step_end.arrays.corners, step_end.arrays.shares
        else:
            corners = np.repeat(barrier.vertices.numpy().astype(np.int32)[:, None], 4, axis=1)
            shares = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        compliance = (step * span.impulse * system.inverse_mass).numpy()
        self._points = PointContacts(
            corners,
            shares,
            quantities["weights"].detach().numpy(),
            barrier.distances.numpy(),
            quantities["static"].detach().numpy(),
            quantities["kinetic"].detach().numpy(),
            compliance,
            (shares**2 * compliance[corners]).sum(1),
            step,
        )
        weights, static, kinetic, point_compliance = np.zeros((4, count))
        self._out = PointGradients(
            weights, static, kinetic, point_compliance, np.zeros_like(compliance), np.zeros(1)
        )
        self._grad_forces = np.zeros(count), np.zeros((count, 2))
        #: Points with gradients by the forces that the next step goes on from.
        self._later = np.empty(0, np.int32)
        self._sweeps = SweepTrace.of(count if carries_forces(system) else 0, compliance.dtype)
        state = system.rest_positions()
        # (3, N) gradients by positions and velocities, as buffers.
        self._grad_state = torch.zeros_like(state), torch.zeros_like(state)

    def begin(self) -> None:
        """Reset the gradients by forces, which begin at zero."""
        for part in self._grad_forces:
            part[self._later] = 0.0
        self._later = self._later[:0]

    def contact(self, positions: Tensor, velocities: Tensor) -> GroundContact | None:
        """Correct (3, N) positions and velocities at the end of a step, and return the contact;
        None without one."""
        before, times = (positions.clone(), velocities.clone()), self._span.impulse
        trace: PointTrace | None
        if isinstance(self._step_end, EmbeddedBarrierStep):
            self._step_end.apply(positions, velocities, self._step, times, self._sweeps)
            trace = self._swept(self._step_end)
        else:
            self._step_end.apply(positions, velocities, self._step, times)
            trace = self._solved(*before)
        if trace is None or len(trace.points) == 0:
            return None
        is_carrying = torch.zeros(positions.shape[1], dtype=torch.bool)
        is_carrying[torch.as_tensor(self._points.corners[trace.points])] = True
        at = torch.nonzero(is_carrying).flatten()
        first, speed = (part.index_select(1, at) for part in before)
        return GroundContact(at, first, speed, velocities.index_select(1, at) - speed, trace)

    def _swept(self, step_end: EmbeddedBarrierStep) -> PointTrace:
        """Return the trace of the last step, for points with any force on them."""
        arrays, room = step_end.arrays, self._sweeps
        assert arrays is not None
        count, sweeps, growing, stops, sticks = room.counts.tolist()
        near, before = arrays.near[:count], room.normal[:sweeps, :count, 0]
        is_pushed = (before != 0.0).any(0) | (arrays.forces[near] != 0.0)
        rows = np.flatnonzero(is_pushed & (self._points.point_compliance[near] > 0.0))
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

    def _solved(self, positions: Tensor, velocities: Tensor) -> PointTrace | None:
        """Return the trace of vertices that were at (3, N) positions and velocities; None without
        one in contact."""
        barrier = self._barrier
        starts = (positions[2].index_select(0, barrier.vertices) - barrier.height).div_(
            barrier.distances
        )
        rows = torch.nonzero(starts < 1.0).flatten()
        if len(rows) == 0:
            return None
        near, stops = rows.numpy().astype(np.int32), 2 if self._has_friction else 0
        trace = PointTrace.for_vertices(near, stops)
        least = smallest_ratio(starts.dtype)
        trace_vertices(self._points, starts[rows].numpy(), velocities.numpy(), least, trace)
        return trace

    def leave(
        self, contact: GroundContact, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]
    ) -> None:
        """Restore (3, N) positions and velocities before the contact, and the gradients by
        both."""
        self._back(contact, *gradients)
        for whole, part in zip(state, (contact.positions, contact.velocities), strict=True):
            whole.index_copy_(1, contact.vertices, part)

    def change_back(self, contact: GroundContact, grad_change: Tensor) -> tuple[Tensor, Tensor]:
        """Return (3, K) gradients by positions and velocities before the contact, from that by the
        change of velocities."""
        at, (grad_positions, grad_velocities) = contact.vertices, self._grad_state
        grad_positions.index_fill_(1, at, 0.0)
        grad_velocities.index_copy_(1, at, grad_change)
        self._back(contact, grad_positions, grad_velocities)
        changes = grad_positions.index_select(1, at), grad_velocities.index_select(1, at)
        return changes[0], changes[1].sub_(grad_change)

    def _back(
        self, contact: GroundContact, grad_positions: Tensor, grad_velocities: Tensor
    ) -> None:
        """Replace the (3, N) gradients by positions and velocities after the contact by those
        before it."""
        grad = MotionGradients(grad_positions.numpy(), grad_velocities.numpy(), *self._grad_forces)
        trace, vertices = contact.trace, contact.vertices.numpy()
        contact_back(self._points, trace, vertices, self._later, self._out, grad)
        self._later = trace.points
        if not isinstance(self._step_end, EmbeddedBarrierStep):
            self.begin()

    def finish(self) -> None:
        """Add the accumulated sums to the gradients."""
        points, out = self._points, self._out
        np.add.at(out.compliance, points.corners, points.shares**2 * out.point_compliance[:, None])
        grad_times = self._step * self._inverse_mass * torch.as_tensor(out.compliance)
        self._span.grad_impulse.add_(grad_times)
        sums = {name: torch.as_tensor(total) for name, total in out._asdict().items()}
        sums["height"] = sums["height"][0]
        sums["mass"] = -grad_times * self._span.impulse * self._inverse_mass
        for name in self._grads.keys() & sums.keys():
            self._grads[name] += sums[name]
