# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of the ground at the end of an explicit step, for vertices and embedded points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..kernels.obstacles import SweepTrace
from ..obstacles import EmbeddedBarrierStep, smallest_ratio
from ..system import System
from .ground_loops import (
    ContactGradients,
    MotionGradients,
    PointContacts,
    PointGradients,
    PointTrace,
    VertexContacts,
    change_velocities,
    contact_back,
)
from .ground_loops import point_contact_back as contact_points_back
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
    """The vertices that the ground corrects at the end of a step.

    Args:
        vertices: (K,) indices among all vertices.
        positions, velocities: (3, K) before the correction.
    """

    vertices: Tensor
    positions: Tensor
    velocities: Tensor


ContactType = TypeVar("ContactType", bound=GroundContact)


class GroundAdjoint(ABC, Generic[ContactType]):
    """The base of adjoints of the ground's corrections.

    Args:
        system: a system with a ground barrier.
        grads: the gradients by quantities that require grad, to add to.
        step: the step in seconds.
        span: the whole step.
        sums: arrays of gradients by the names of quantities, to add to.
    """

    def __init__(
        self,
        system: System,
        grads: dict[str, Tensor],
        step: float,
        span: Span,
        sums: dict[str, Any],
    ) -> None:
        self._grads, self._step, self._span, self._sums = grads, step, span, sums
        self._inverse_mass = system.inverse_mass
        state = system.rest_positions()
        #: (3, N) gradients by positions and velocities, as buffers.
        self.grad_state = torch.zeros_like(state), torch.zeros_like(state)

    def begin(self) -> None:
        """Reset the forces to their start, which is zero."""

    @abstractmethod
    def contact(self, positions: Tensor, velocities: Tensor) -> ContactType | None:
        """Return the contact at (3, N) positions and velocities at the end of a step; None without
        a correction."""

    @abstractmethod
    def change(self, contact: ContactType) -> Tensor:
        """Return the (3, K) change of velocities."""

    @abstractmethod
    def back(self, contact: ContactType, grad_positions: Tensor, grad_velocities: Tensor) -> None:
        """Replace the (3, N) gradients by positions and velocities after the contact by those
        before it."""

    @abstractmethod
    def grad_mobility(self) -> Tensor:
        """Return the (N,) gradient by step × impulse time / mass of vertices, summed over all
        contacts."""

    def leave(
        self, contact: ContactType, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]
    ) -> None:
        """Restore (3, N) positions and velocities before the contact, and the gradients by
        both."""
        self.back(contact, *gradients)
        for whole, part in zip(state, (contact.positions, contact.velocities), strict=True):
            whole.index_copy_(1, contact.vertices, part)

    def finish(self) -> None:
        """Add the accumulated sums to the gradients."""
        grad_times = self._step * self._inverse_mass * self.grad_mobility()
        self._span.grad_impulse.add_(grad_times)
        sums = {name: torch.as_tensor(total) for name, total in self._sums.items()}
        sums["height"] = sums["height"][0]
        sums["mass"] = -grad_times * self._span.impulse * self._inverse_mass
        for name in self._grads.keys() & sums.keys():
            self._grads[name] += sums[name]


class GroundReaction:
    """The reaction of the ground on K colliding vertices.

    Args:
        ground: the adjoint of the ground.
        contact: the contact of the vertices.
    """

    def __init__(self, ground: GroundAdjoint[ContactType], contact: ContactType) -> None:
        self._ground, self._ground_contact = ground, contact
        self.vertices = contact.vertices
        #: The (3, K) change of velocities.
        self.change = ground.change(contact)

    def back(self, grad_change: Tensor) -> tuple[Tensor, Tensor]:
        """Return (3, K) gradients by positions and velocities before it, from that by the change
        of velocities."""
        at, (grad_positions, grad_velocities) = self.vertices, self._ground.grad_state
        grad_positions.index_fill_(1, at, 0.0)
        grad_velocities.index_copy_(1, at, grad_change)
        self._ground.back(self._ground_contact, grad_positions, grad_velocities)
        changes = grad_positions.index_select(1, at), grad_velocities.index_select(1, at)
        return changes[0], changes[1].sub_(grad_change)


@dataclass(frozen=True)
class VertexGroundContact(GroundContact):
    """The contact of vertices with the ground.

    Args:
        rows: (K,) of the vertices among those of the ground.
    """

    rows: Tensor

    @property
    def before(self) -> tuple[Any, Any, Any]:
        """Return the rows, heights and velocities before the correction."""
        return self.rows.numpy(), self.positions[2].numpy(), self.velocities.numpy()


class VertexGroundAdjoint(GroundAdjoint[VertexGroundContact]):
    """The adjoint of ``BarrierStep``.

    Args:
        system: with a barrier under vertices.
        quantities: values by name, on autograd's tape or off it.
        grads, step, span: see ``GroundAdjoint``.
    """

    def __init__(
        self,
        system: System,
        quantities: Quantities,
        grads: dict[str, Tensor],
        step: float,
        span: Span,
    ) -> None:
        barrier = system.ground_barrier
        assert barrier is not None
        self._vertices, self._tops = barrier.vertices, barrier.height + barrier.distances
        mobility = (step * span.impulse * system.inverse_mass)[self._vertices].numpy()
        self._contacts = VertexContacts(
            self._vertices.numpy(),
            quantities["weights"].detach().numpy(),
            barrier.distances.numpy(),
            quantities["static"].detach().numpy(),
            quantities["kinetic"].detach().numpy(),
            mobility,
            barrier.height,
            smallest_ratio(barrier.distances.dtype),
            step,
        )
        weights, kinetic, grad_mobility = np.zeros((3, len(mobility)), mobility.dtype)
        self._out = ContactGradients(weights, kinetic, grad_mobility, np.zeros(1))
        super().__init__(system, grads, step, span, self._out._asdict())

    def contact(self, positions: Tensor, velocities: Tensor) -> VertexGroundContact | None:
        heights = positions[2].index_select(0, self._vertices)
        rows = torch.nonzero(heights < self._tops).flatten()
        if len(rows) == 0:
            return None
        at = self._vertices[rows]
        before = positions.index_select(1, at), velocities.index_select(1, at)
        return VertexGroundContact(at, *before, rows)

    def change(self, contact: VertexGroundContact) -> Tensor:
        changes = torch.empty_like(contact.velocities)
        change_velocities(self._contacts, *contact.before, changes.numpy())
        return changes

    def back(
        self, contact: VertexGroundContact, grad_positions: Tensor, grad_velocities: Tensor
    ) -> None:
        grad = grad_positions.numpy(), grad_velocities.numpy()
        contact_back(self._contacts, *contact.before, contact.vertices.numpy(), grad, self._out)

    def grad_mobility(self) -> Tensor:
        sums = torch.zeros_like(self._inverse_mass)
        return sums.index_add_(0, self._vertices, torch.as_tensor(self._out.mobility))


@dataclass(frozen=True)
class PointGroundContact(GroundContact):
    """The vertices of points that the ground pushed at the end of a step.

    Args:
        change: (3, K) of velocities.
        trace: of the forces.
    """

    change: Tensor
    trace: PointTrace


def embedded_step(system: System) -> EmbeddedBarrierStep | None:
    """Return the contact step of explicit steps with the ground at points; None without one."""
    steps = (step for step in system.obstacles.steps if isinstance(step, EmbeddedBarrierStep))
    return next(steps, None)


class PointGroundAdjoint(GroundAdjoint[PointGroundContact]):
    """The adjoint of ``EmbeddedBarrierStep``.

    When steps are repeated, it applies the ground and records each sweep.

    Args:
        step_end: of the ground.
        system: with a barrier under points.
        quantities: values by name, on autograd's tape or off it.
        grads, step, span: see ``GroundAdjoint``.
    """

    def __init__(
        self,
        step_end: EmbeddedBarrierStep,
        system: System,
        quantities: Quantities,
        grads: dict[str, Tensor],
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
            quantities["weights"].detach().numpy(),
            barrier.distances.numpy(),
            quantities["static"].detach().numpy(),
            quantities["kinetic"].detach().numpy(),
            compliance,
            (arrays.shares**2 * compliance[arrays.corners]).sum(1),
            step,
        )
        kind, count = compliance.dtype, len(arrays.corners)
        weights, static, kinetic, point_compliance = np.zeros((4, count), kind)
        grad_compliance = np.zeros_like(compliance)
        self._out = PointGradients(
            weights, static, kinetic, point_compliance, grad_compliance, np.zeros(1)
        )
        super().__init__(system, grads, step, span, self._out._asdict())
        self._grad_forces = np.zeros(count, kind), np.zeros((count, 2), kind)
        #: Points with gradients by the forces that the next step goes on from.
        self._later = np.empty(0, np.int32)
        self._trace = SweepTrace.of(count, kind)

    def begin(self) -> None:
        for part in self._grad_forces:
            part[self._later] = 0.0
        self._later = self._later[:0]

    def contact(self, positions: Tensor, velocities: Tensor) -> PointGroundContact | None:
        """See ``GroundAdjoint.contact``; corrects both as the step would."""
        before, times = (positions.clone(), velocities.clone()), self._span.impulse
        self._step_end.apply(positions, velocities, self._step, times, self._trace)
        trace = self._pushed()
        if len(trace.points) == 0:
            return None
        is_carrying = torch.zeros(positions.shape[1], dtype=torch.bool)
        is_carrying[torch.as_tensor(self._arrays.corners[trace.points])] = True
        at = torch.nonzero(is_carrying).flatten()
        first, speed = (part.index_select(1, at) for part in before)
        return PointGroundContact(at, first, speed, velocities.index_select(1, at) - speed, trace)

    def _pushed(self) -> PointTrace:
        """Return the trace of the last step, for points with any force on them."""
        arrays, room = self._arrays, self._trace
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

    def change(self, contact: PointGroundContact) -> Tensor:
        return contact.change

    def back(
        self, contact: PointGroundContact, grad_positions: Tensor, grad_velocities: Tensor
    ) -> None:
        grad = MotionGradients(grad_positions.numpy(), grad_velocities.numpy(), *self._grad_forces)
        trace, vertices = contact.trace, contact.vertices.numpy()
        contact_points_back(self._points, trace, vertices, self._later, self._out, grad)
        self._later = trace.points

    def grad_mobility(self) -> Tensor:
        points, out = self._points, self._out
        np.add.at(out.compliance, points.corners, points.shares**2 * out.point_compliance[:, None])
        return torch.as_tensor(out.compliance)
