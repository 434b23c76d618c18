# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of explicit steps, and of a run of them."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..integrators.explicit_integrators import ExplicitIntegrator, Midpoint, RungeKutta4
from ..integrators.explicit_stepper import ExplicitStep, ExplicitStepper
from ..integrators.stability import decay, impulse_time
from ..potentials.plastic_flow import ROWS
from ..simulator import begin_frame
from ..state import State
from ..system import System
from .force_adjoint import ForceAdjoint, PlasticAdjoint
from .force_loops import RestProducts
from .ground_adjoint import GroundAdjoint, GroundContact, Span, carries_forces
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
    one stage."""
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
        self.ground: GroundAdjoint | None = None
        if system.ground_barrier is not None:
            self.ground = GroundAdjoint(system, quantities, grads, seconds, self.span(1.0))

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

    def _ground_contact(self, history: StepHistory, index: int) -> GroundContact | None:
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


class RungeKuttaAdjoint(StepAdjoint):
    """The adjoint of a Runge–Kutta step with stages i at times n h with weights w,

        v_i = r_i v + σ_i (a_0 + R) + n h ρ (a_{i−1} − a_0),   x_i = x + n h v_{i−1},
        x' = x + h Σ w v_i − h σ R,   v' = r v + σ a_0 + h Σ w τ (a_i − a_0),

    r and σ of the time n h, ρ of that since the stage before, τ of that to the end. R is the
    predicted acceleration by the ground: R = (v‴ − v″)/σ, if the ground changes the velocity v″ at
    the end of a step of symplectic Euler to v‴.
    """

    def _move_back(self, history: StepHistory, frame: int, since: float, until: float) -> None:
        step, whole, began = self._step, self.span(1.0), history.velocities
        accelerations = self._accelerations(history)
        # At the end of a step of symplectic Euler.
        first, reaction = accelerations[0], self._ground_contact(history, 0)
        pushed = first if reaction is None else self._add_reaction(reaction, first)
        stages = self._stages(began, accelerations, pushed)
        for weight, stage in zip(self._weights, stages, strict=True):
            if weight:
                self.positions.sub_(stage, alpha=weight * step)
        grad_place, grad_speed = self.grad_positions, self.grad_velocities
        self.grad_velocities = whole.retention * grad_speed
        grad_first = whole.impulse * grad_speed
        if self._needs_accelerations:
            whole.add(grad_speed, began, first)
        gradients, time = (grad_place, grad_speed, grad_first), (frame, since, until)
        grad_pushed = self._stages_back(began, accelerations, pushed, stages, gradients, time)
        grad_first += grad_pushed
        if reaction is not None:
            self._reaction_back(reaction, grad_pushed, grad_place, history, grad_first)
        out = self.grad_positions, self.grad_velocities
        self._accelerate_back(self.positions, began, first, grad_first, (frame, since), out)

    def _stages_back(
        self,
        began: Tensor,
        accelerations: list[Tensor],
        pushed: Tensor,
        stages: list[Tensor],
        gradients: tuple[Tensor, Tensor, Tensor],
        time: tuple[int, float, float],
    ) -> Tensor:
        """Through the stages, to the gradient by a_0 + R.

        Args:
            gradients: the gradients by x', by v' and by a_0; the last is added to.
            time: the frame, and when in it the step begins and ends.
        """
        step, (grad_place, grad_speed, grad_first) = self._step, gradients
        grad_pushed = torch.zeros_like(grad_first)
        grad_stage: Tensor | None = None
        grad_surplus: Tensor | None = None
        frame, since, until = time
        for i in reversed(range(1, len(stages))):
            node, weight, first = self._nodes[i], self._weights[i], accelerations[0]
            span, rest = self.span(node), self.span(1.0 - node)
            before = self.span(node - self._nodes[i - 1])
            grad_own = (weight * step * rest.retention) * grad_speed
            grad_own = grad_own if grad_surplus is None else grad_own.add_(grad_surplus)
            grad_first -= grad_own
            ended = grad_place * (weight * step)
            grad_stage = ended if grad_stage is None else grad_stage.add_(ended)
            at = torch.add(self.positions, stages[i - 1], alpha=node * step)
            grad_at, when = torch.zeros_like(at), (frame, since + node * (until - since))
            acceleration = accelerations[i] if self._needs_accelerations else None
            self._accelerate_back(
                at, stages[i], acceleration, grad_own, when, (grad_at, grad_stage)
            )
            self.grad_positions = self.grad_positions + grad_at
            self.grad_velocities.addcmul_(span.retention, grad_stage)
            grad_pushed.addcmul_(span.impulse, grad_stage)
            if acceleration is not None:
                span.add(grad_stage, began, pushed)
                rest.add_retention(weight * step * grad_speed, acceleration - first)
                before.add_retention(node * step * grad_stage, accelerations[i - 1] - first)
            if i > 1:
                grad_surplus = (node * step * before.retention) * grad_stage
            grad_stage = grad_at.mul_(node * step)
        assert grad_stage is not None
        self.grad_velocities += grad_stage
        if self._weights[0]:
            self.grad_velocities.add_(grad_place, alpha=self._weights[0] * step)
        return grad_pushed

    def _stages(self, began: Tensor, accelerations: list[Tensor], pushed: Tensor) -> list[Tensor]:
        """(3, N) velocities of each."""
        stages = [began]
        for i in range(1, len(self._nodes)):
            node = self._nodes[i]
            span, before = self.span(node), self.span(node - self._nodes[i - 1])
            stage = (span.retention * began).addcmul_(span.impulse, pushed)
            if i > 1:
                surplus = accelerations[i - 1] - accelerations[0]
                stage.addcmul_(before.retention, surplus, value=node * self._step)
            stages.append(stage)
        return stages

    def _accelerations(self, history: StepHistory) -> list[Tensor]:
        """Return the accelerations of each stage; that of the last from the end of the step,
        where it is needed."""
        accelerations = history.accelerations
        if not self._needs_accelerations:
            return accelerations
        whole, first = self.span(1.0), accelerations[0]
        left = self.velocities - whole.retention * history.velocities - whole.impulse * first
        parts = list(zip(self._nodes, self._weights, strict=True))
        for (node, weight), acceleration in zip(parts[1:-1], accelerations[1:], strict=True):
            left.addcmul_(
                self.span(1.0 - node).retention, acceleration - first, value=-weight * self._step
            )
        node, weight = parts[-1]
        return [
            *accelerations,
            first + left / (weight * self._step * self.span(1.0 - node).retention),
        ]

    def _add_reaction(self, contact: GroundContact, first: Tensor) -> Tensor:
        """Return a_0 + R; positions ended h σ R lower than by the stages."""
        at, change = contact.vertices, contact.change
        self.positions.index_add_(1, at, change, alpha=self._step)
        return first.index_add(1, at, change / self.span(1.0).impulse[at])

    def _reaction_back(
        self,
        contact: GroundContact,
        grad_pushed: Tensor,
        grad_place: Tensor,
        history: StepHistory,
        grad_first: Tensor,
    ) -> None:
        """From the (3, N) gradients by a_0 + R and by x' to those by x, v and a_0 of the
        prediction."""
        assert self.ground is not None
        whole, at, first = self.span(1.0), contact.vertices, history.accelerations[0]
        impulse, retention = whole.impulse[at], whole.retention[at]
        grad_reaction = grad_pushed.index_select(1, at)
        grad_change = (grad_reaction / impulse).sub_(
            grad_place.index_select(1, at), alpha=self._step
        )
        grad_before, grad_speed = self.ground.change_back(contact, grad_change)
        grad_speed.add_(grad_before, alpha=self._step)
        self.grad_positions.index_add_(1, at, grad_before)
        self.grad_velocities.index_add_(1, at, retention * grad_speed)
        grad_first.index_add_(1, at, impulse * grad_speed)
        if self._needs_accelerations:
            grad_impulse = grad_speed * first.index_select(1, at)
            grad_impulse.sub_(grad_reaction * contact.change / impulse.square())
            whole.grad_impulse.index_add_(0, at, grad_impulse.sum(0))
            grad_retention = grad_speed * history.velocities.index_select(1, at)
            whole.grad_retention.index_add_(0, at, grad_retention.sum(0))


@dataclass(frozen=True)
class _Frame:
    """A frame of explicit steps.

    Args:
        before: the state that it began at.
        steps: the number of steps.
        checkpoints: positions, velocities and plastic strains at regular intervals of steps.
    """

    before: State
    steps: int
    checkpoints: list[tuple[Tensor, Tensor, Tensor | None]]


class ExplicitRun:
    """Records the frames of a run, and goes back through them.

    The run leaves some √n of its n steps as checkpoints. From one to the next steps are taken again
    and leave velocities and accelerations, from which each is taken back (Griewank, "Achieving
    logarithmic growth of temporal and spatial complexity in reverse automatic differentiation",
    Optimization Methods and Software 1, 1992, has the schemes of more levels).

    Args:
        system: that is carried on.
        stepper: carries it on.
        integrator: the integrator of the steps.
        frames: the number of frames to come.
    """

    def __init__(
        self, system: System, stepper: ExplicitStepper, integrator: ExplicitIntegrator, frames: int
    ) -> None:
        self._system, self._integrator = system, integrator
        self._stepper, self._frames = stepper, list[_Frame]()
        # Least together: checkpoints, and of each step velocities, accelerations and strains.
        strains = ROWS * system.plastic_flow.count
        checkpoint = 6 * len(system.mass) + strains
        step_floats = 3 * len(system.mass) * len(stages_of(integrator)[0]) + strains
        self._length = max(
            1, round(math.sqrt(frames * stepper.substeps * checkpoint / step_floats))
        )
        if carries_forces(system):
            # The forces at the points of a surface depend on the previous steps of the frame.
            self._length = sys.maxsize
        stepper.checkpoint_steps = self._length

    def record(self, before: State, after: State) -> None:
        """Record the frame that the stepper has just ended."""
        self._frames.append(_Frame(before, after.substeps, self._stepper.checkpoints))

    def pull_back(
        self, upstream: list[tuple[Tensor, Tensor]], quantities: Quantities
    ) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad.

        Args:
            upstream: of each frame the (3, N) gradients by its positions and velocities.
            quantities: leaves of autograd's tape.
        """
        grads = {
            name: torch.zeros_like(value)
            for name, value in quantities.items()
            if value.requires_grad
        }
        gradients = [torch.zeros_like(self._system.rest_positions()) for _ in range(2)]
        back, step, flow = None, None, PlasticAdjoint(self._system, quantities, grads)
        for frame, frame_upstream in zip(reversed(self._frames), reversed(upstream), strict=True):
            gradients = [
                carried + more for carried, more in zip(gradients, frame_upstream, strict=True)
            ]
            if not any(bool(part.any()) for part in (*gradients, *flow.grad_plastic.values())):
                continue
            seconds = self._system.frame_times.of(frame.before.frame) / frame.steps
            if back is None or step is None or step.step != seconds:
                if back is not None:
                    back.finish()
                step = self._integrator.make_step(self._system, seconds)
                back = self._adjoint(seconds, flow)
            gradients = self._frame_back(frame, gradients, step, back, flow)
        if back is not None:
            back.finish()
        flow.finish()
        for name, carried in zip(("positions", "velocities"), gradients, strict=True):
            if name in grads:
                grads[name] += carried
        return grads

    def _adjoint(self, seconds: float, flow: PlasticAdjoint) -> StepAdjoint:
        is_single = len(stages_of(self._integrator)[0]) == 1
        kind = SymplecticAdjoint if is_single else RungeKuttaAdjoint
        quantities, grads, products = flow.quantities, flow.grads, flow.products
        return kind(self._system, self._integrator, seconds, quantities, grads, products)

    def _frame_back(
        self,
        frame: _Frame,
        gradients: list[Tensor],
        step: ExplicitStep,
        back: StepAdjoint,
        flow: PlasticAdjoint,
    ) -> list[Tensor]:
        """The gradients by the state that the frame began at."""
        before, count = frame.before, frame.steps
        starts = [(before.positions, before.velocities, before.plastic), *frame.checkpoints]
        tets = self._system.plastic_flow
        begin_frame(self._system, before)
        for index in reversed(range(len(starts))):
            numbers = range(count)[index * self._length :][: self._length]
            positions, velocities, plastic = starts[index]
            step.begin(positions, velocities)
            tets.plastic = plastic
            strains: list[Tensor | None] = []
            record = _Record(back.ground, len(stages_of(self._integrator)[0]) - 1)
            step.record = record
            for number in numbers:
                record.histories.append(StepHistory(step.velocities.clone()))
                step.prescribe(before.frame, number / count, (number + 1) / count)
                strains.append(tets.plastic)
                step.advance()
                tets.flow(step.positions, step.step)
            back.begin((step.positions, step.velocities), (gradients[0], gradients[1]))
            for number in reversed(numbers):
                times, strain = (number / count, (number + 1) / count), strains.pop()
                if flow:
                    back.grad_positions += flow.enter(back.positions, strain, step.step)
                back.back(record.histories.pop(), before.frame, *times)
                if flow:
                    flow.leave()
            flow.settle()
            gradients = [back.grad_positions, back.grad_velocities]
        return gradients


class _Record:
    """Takes down the histories of steps.

    Args:
        ground: adjoint of the ground; None where the scene has no ground.
        stages: number of stages whose accelerations are recorded.
    """

    def __init__(self, ground: GroundAdjoint | None, stages: int) -> None:
        self._ground, self._stages = ground, stages
        self.histories: list[StepHistory] = []

    def accelerates(self, acceleration: Tensor) -> None:
        if len(self.histories[-1].accelerations) < self._stages:
            self.histories[-1].accelerations.append(acceleration.clone())

    def replaces_obstacles(self, positions: Tensor, velocities: Tensor) -> bool:
        if self._ground is None:
            return False
        self.histories[-1].ground_contacts.append(self._ground.contact(positions, velocities))
        return True
