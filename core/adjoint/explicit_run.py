# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through a run of explicit steps."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..integrators.explicit_integrator import ExplicitIntegrator
from ..integrators.explicit_step import ExplicitStep
from ..integrators.explicit_stepper import ExplicitStepper
from ..potentials.plastic_flow import ROWS
from ..simulator import begin_frame
from ..state import State
from ..system import System
from .ground_adjoint import GroundAdjoint, GroundReaction, PointGroundAdjoint, embedded_step
from .plastic_adjoint import CompiledPlasticAdjoint, PlasticAdjoint, plastic_adjoint
from .quantities import Quantities
from .step_adjoint import StepAdjoint, StepHistory, SymplecticAdjoint, stages_of


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
        first, reaction = accelerations[0], self._predicted(history)
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
        where it is needed.
        """
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

    def _predicted(self, history: StepHistory) -> GroundReaction | None:
        """Return the ground's reaction at the end of a step of symplectic Euler."""
        contact = self._ground_contact(history, 0)
        if contact is None or self.ground is None:
            return None
        return GroundReaction(self.ground, contact)

    def _add_reaction(self, reaction: GroundReaction, first: Tensor) -> Tensor:
        """Return a_0 + R; positions ended h σ R lower than by the stages."""
        at, change = reaction.vertices, reaction.change
        self.positions.index_add_(1, at, change, alpha=self._step)
        return first.index_add(1, at, change / self.span(1.0).impulse[at])

    def _reaction_back(
        self,
        reaction: GroundReaction,
        grad_pushed: Tensor,
        grad_place: Tensor,
        history: StepHistory,
        grad_first: Tensor,
    ) -> None:
        """From the (3, N) gradients by a_0 + R and by x' to those by x, v and a_0 of the
        prediction."""
        whole, at, first = self.span(1.0), reaction.vertices, history.accelerations[0]
        impulse, retention = whole.impulse[at], whole.retention[at]
        grad_reaction = grad_pushed.index_select(1, at)
        grad_change = (grad_reaction / impulse).sub_(
            grad_place.index_select(1, at), alpha=self._step
        )
        grad_before, grad_speed = reaction.back(grad_change)
        grad_speed.add_(grad_before, alpha=self._step)
        self.grad_positions.index_add_(1, at, grad_before)
        self.grad_velocities.index_add_(1, at, retention * grad_speed)
        grad_first.index_add_(1, at, impulse * grad_speed)
        if self._needs_accelerations:
            grad_impulse = grad_speed * first.index_select(1, at)
            grad_impulse.sub_(grad_reaction * reaction.change / impulse.square())
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
        self,
        system: System,
        stepper: ExplicitStepper,
        integrator: ExplicitIntegrator,
        frames: int,
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
        if embedded_step(system) is not None:
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
        back, step, flow = None, None, plastic_adjoint(self._system, quantities, grads)
        for frame, frame_upstream in zip(reversed(self._frames), reversed(upstream), strict=True):
            gradients = [
                carried + more for carried, more in zip(gradients, frame_upstream, strict=True)
            ]
            if not any(bool(part.any()) for part in (*gradients, flow.grad_plastic)):
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

    def _adjoint(
        self, seconds: float, flow: PlasticAdjoint | CompiledPlasticAdjoint
    ) -> StepAdjoint:
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
        flow: PlasticAdjoint | CompiledPlasticAdjoint,
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

    def __init__(self, ground: GroundAdjoint[Any] | None, stages: int) -> None:
        self._ground, self._stages = ground, stages
        self.histories: list[StepHistory] = []

    def accelerates(self, acceleration: Tensor) -> None:
        if len(self.histories[-1].accelerations) < self._stages:
            self.histories[-1].accelerations.append(acceleration.clone())

    def replaces_obstacles(self, positions: Tensor, velocities: Tensor) -> bool:
        if self._ground is not None:
            self.histories[-1].ground_contacts.append(self._ground.contact(positions, velocities))
        return isinstance(self._ground, PointGroundAdjoint)
