# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of explicit steps, one after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ..integrators.explicit_integrator import ExplicitIntegrator
from ..integrators.runge_kutta import Midpoint, RungeKutta4
from ..integrators.stability import decay, impulse_time
from ..system import System
from .force_adjoint import ForceAdjoint
from .force_loops import RestProducts
from .ground_adjoint import (
    GroundAdjoint,
    GroundContact,
    PointGroundAdjoint,
    Span,
    VertexGroundAdjoint,
    embedded_step,
)
from .quantities import Quantities


@dataclass
class StepHistory:
    """The record of a step that is needed on the way back; other values follow from its end.

    Args:
        velocities: (3, N) that it began with.
        accelerations: (3, N) of its stages but the last, in m/s².
        ground_contacts: contacts with the ground, if any: the predicted one of several stages,
            then the one at the end.
    """

    velocities: Tensor
    accelerations: list[Tensor] = field(default_factory=list)
    ground_contacts: list[GroundContact | None] = field(default_factory=list)


def stages_of(integrator: ExplicitIntegrator) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the time of each stage in the step, and its weight at the end; symplectic Euler has
    one stage.
    """
    if isinstance(integrator, (Midpoint, RungeKutta4)):
        return integrator.NODES, integrator.WEIGHTS
    return (0.0,), (1.0,)


class StepAdjoint(ABC):
    """Goes back through steps of equal length: from where they ended to where they began, and from
    the gradients by the one to those by the other.

    Args:
        system: that was carried on.
        integrator: the integrator of the steps.
        seconds: of a step.
        quantities: values by name, on autograd's tape or off it.
        grads: the gradients by those that require grad, which grow.
        flowing: products by the rest shapes of tets that flow, taken at the end of each step.
    """

    def __init__(
        self,
        system: System,
        integrator: ExplicitIntegrator,
        seconds: float,
        quantities: Quantities,
        grads: dict[str, Tensor],
        flowing: dict[int, RestProducts],
    ) -> None:
        self._system, self._step, self._quantities, self._grads = system, seconds, quantities, grads
        self._nodes, self._weights = stages_of(integrator)
        self._forces = ForceAdjoint(system, quantities, grads, flowing)
        self._negative_inverse_mass = -system.inverse_mass
        #: The spans by the fraction of a step.
        self._spans: dict[float, Span] = {}
        self._is_damping_wanted = "damping" in grads
        self._needs_accelerations = self._is_damping_wanted or "mass" in grads
        #: (3, N) at the end of the step that is next, and gradients by them.
        self.positions = self.velocities = torch.empty(0)
        self.grad_positions = self.grad_velocities = torch.empty(0)
        #: Adjoint of the ground; None where the scene has no ground.
        self.ground: GroundAdjoint[Any] | None = None
        if system.ground_barrier is not None:
            on_points, step_parts = embedded_step(system), (seconds, self.span(1.0))
            if on_points is None:
                self.ground = VertexGroundAdjoint(system, quantities, grads, *step_parts)
            else:
                self.ground = PointGroundAdjoint(on_points, system, quantities, grads, *step_parts)

    def span(self, fraction: float) -> Span:
        """Return the span of a fraction of a step."""
        if fraction not in self._spans:
            retention, impulse = self._span_values(fraction, self._quantities["damping"].detach())
            sums = torch.zeros_like(retention), torch.zeros_like(impulse)
            self._spans[fraction] = Span(retention, impulse, *sums)
        return self._spans[fraction]

    def _span_values(self, fraction: float, rate: Tensor) -> tuple[Tensor, Tensor]:
        seconds = fraction * self._step
        retention = torch.where(self._system.free, decay(rate, seconds), 1.0)
        return retention, impulse_time(rate, seconds) + torch.zeros_like(retention)

    def begin(self, state: tuple[Tensor, Tensor], gradients: tuple[Tensor, Tensor]) -> None:
        """Goes to (3, N) positions and velocities where a step ended, with gradients by them."""
        self.positions, self.velocities = (part.clone() for part in state)
        self.grad_positions, self.grad_velocities = gradients
        if self.ground is not None:
            self.ground.begin()

    def back(self, history: StepHistory, frame: int, since: float, until: float) -> None:
        """Through the step that went from ``since`` to ``until`` of a frame."""
        pins, began = self._system.moving_pins, history.velocities
        contact = self._ground_contact(history, -1)
        if contact is not None and self.ground is not None:
            state = self.positions, self.velocities
            gradients = self.grad_positions, self.grad_velocities
            self.ground.leave(contact, state, gradients)
        ended = self.velocities
        if pins is not None:
            began[:, pins.vertices] = ended[:, pins.vertices]
            grad_target = self.grad_positions[:, pins.vertices]
            self.grad_positions[:, pins.vertices] = 0.0
        self._move_back(history, frame, since, until)
        self.velocities = began
        if pins is None:
            return
        grad_target += self.grad_velocities[:, pins.vertices] / self._step
        self.grad_positions[:, pins.vertices] -= self.grad_velocities[:, pins.vertices] / self._step
        self.grad_velocities[:, pins.vertices] = 0.0
        if "pins" in self._grads:
            path = self._quantities["pins"]
            with torch.enable_grad():
                target = pins.path.with_samples(path).at(frame, until)
                self._grads["pins"] += torch.autograd.grad(target, path, grad_target)[0]

    def finish(self) -> None:
        """Add the accumulated sums to the gradients."""
        self._forces.finish()
        if self.ground is not None:
            self.ground.finish()
        if not self._is_damping_wanted:
            return
        rate = self._quantities["damping"]
        for fraction, span in self._spans.items():
            with torch.enable_grad():
                values = self._span_values(fraction, rate)
                sums = span.grad_retention, span.grad_impulse
                self._grads["damping"] += torch.autograd.grad(values, rate, sums)[0]

    def _ground_contact(self, history: StepHistory, index: int) -> Any:
        """With the ground; None where nothing is near, and later forces began without any."""
        if self.ground is None:
            return None
        if history.ground_contacts[index] is None:
            self.ground.begin()
        return history.ground_contacts[index]

    @abstractmethod
    def _move_back(self, history: StepHistory, frame: int, since: float, until: float) -> None:
        """Go back to the positions at the start of the step, with its velocities given, and to the
        gradients by both, without the ground and pins."""

    def _accelerate_back(
        self,
        positions: Tensor,
        velocities: Tensor,
        acceleration: Tensor | None,
        upstream: Tensor,
        time: tuple[int, float],
        out: tuple[Tensor, Tensor],
    ) -> None:
        """Propagate the (3, N) gradient by an acceleration to the state and the parameters of its
        forces.

        Args:
            acceleration: in m/s²; None without a gradient by masses.
            out: (3, N) gradients by positions and by velocities, which grow.
        """
        factor = self._negative_inverse_mass
        self._forces.back(positions, velocities, factor * upstream, time, out)
        if "mass" in self._grads and acceleration is not None:
            self._grads["mass"] += factor * (acceleration * upstream).sum(0)


class SymplecticAdjoint(StepAdjoint):
    """The adjoint of x' = x + h v', v' = r v + σ a(x, v)."""

    def _move_back(self, history: StepHistory, frame: int, since: float, until: float) -> None:
        whole, began = self.span(1.0), history.velocities
        grad_end = self.grad_velocities.add_(self.grad_positions, alpha=self._step)
        acceleration = None
        if self._needs_accelerations:
            acceleration = (self.velocities - whole.retention * began) / whole.impulse
            whole.add(grad_end, began, acceleration)
        self.positions.sub_(self.velocities, alpha=self._step)
        upstream = whole.impulse * grad_end
        grad_end *= whole.retention
        out = self.grad_positions, grad_end
        self._accelerate_back(self.positions, began, acceleration, upstream, (frame, since), out)
