# SPDX-License-Identifier: GPL-3.0-or-later
"""One explicit time step, on tensors that stay in place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from ..compiled import runs_loops
from ..kernels.explicit_motion import work_done
from ..potentials import PrescribedPotential
from ..scene.channel import ROUNDING
from ..system import System
from .integrator import Integrator
from .mesh_contact_step import MeshContactStep
from .stability import impulse_times, velocity_retention

# Libraries initialize in the first runs, which must not be recorded.
WARM_UPS = 3


class CapturedStep:
    """Replay ``step``; the recording itself runs it a few times.

    Args:
        step: a function of CUDA tensors that stay in place, which never reads their values.
    """

    def __init__(self, step: Callable[[], None]) -> None:
        # The graph uses the tensors of the step.
        self._step = step
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            step()

    def __call__(self) -> None:
        self._graph.replay()


# Expensive energy changes are sampled this often a frame, each in the middle of its part: 1 % off
# for a ball that is bent by a twelfth of a radian a frame; two samples are 3 % off.
ENERGY_SAMPLES = 3


class StepRecord(Protocol):
    """A record of steps. Its arguments change in place, so it has to copy them."""

    def accelerates(self, acceleration: Tensor) -> None:
        """Record the acceleration of a stage.

        Args:
            acceleration: (3, N) of a stage without contact, in m/s².
        """

    def replaces_obstacles(self, positions: Tensor, velocities: Tensor) -> bool:
        """Apply the obstacles to (3, N) positions and velocities, if the record does so, and
        return whether it did."""


class ExplicitStep(ABC):
    """The base of explicit steps: the state they change, moving pins, obstacles.

    Args:
        system: the system to simulate.
        step: the step in seconds.
        nodes: the time of each stage, relative to the step.
        weights: the weights of the stages at its end.
    """

    def __init__(
        self,
        system: System,
        step: float,
        nodes: tuple[float, ...] = (0.0,),
        weights: tuple[float, ...] = (1.0,),
    ) -> None:
        self._nodes, self._weights = nodes, weights
        # The mean time in the step at which prescribed energies act.
        self._centre = sum(w * node for w, node in zip(weights, nodes, strict=True))
        self._system = system
        #: (3, N) in metres and m/s.
        self.positions = system.rest_positions()
        self.velocities = torch.zeros_like(self.positions)
        #: (3, N) gradient of the energy at the start of the step, in newtons.
        self._gradient = torch.zeros_like(self.positions)
        #: (3, N) gradient of driving forces at the start of the step, in newtons; None without
        #: any.
        self._driving = torch.zeros_like(self.positions) if system.is_driven else None
        #: The work of moving pins and driving forces since the frame began, in joules.
        self.work = system.mass.new_zeros(())
        #: The energy added by changes of prescribed parameters since the frame began, in joules.
        self.raised = system.mass.new_zeros(())
        self._prescribed = [_StepParameters(part, len(nodes)) for part in system.prescribed]
        self._raising = [step for step in self._prescribed if not step.part.is_dissipative]
        #: (3, N) impulse of obstacles in the last step over mass, in m/s; None without a reader.
        self.contact_impulse: Tensor | None = None
        #: The record of steps, if any; integrators of one stage record no acceleration.
        self.record: StepRecord | None = None
        #: The contact of surfaces and the ground; None without contact.
        self.contact: MeshContactStep | None = None
        pins = system.moving_pins
        self._target = None if pins is None else pins.positions(0, 0.0)
        #: The start of the last step, for contact and driving forces.
        self._began = [part.clone() for part in self._changed]
        self.set_step(step)

    def recorded(self) -> Callable[[], None]:
        """Return ``advance`` at the present step size; on CUDA as one launch."""
        return CapturedStep(self.advance) if self.positions.is_cuda else self.advance

    def set_step(self, step: float) -> None:
        """Set the length of the following steps, in seconds."""
        self.step = step
        #: (N,) the retained part of velocities after the step, and the times over which forces
        #: change velocities, in seconds.
        self._retention = velocity_retention(self._system, step)
        self._impulse_times = impulse_times(self._system, step)

    def begin(self, positions: Tensor, velocities: Tensor) -> None:
        """Set the positions and velocities at the start of a frame."""
        self.positions.copy_(positions)
        self.velocities.copy_(velocities)
        self.work.zero_()
        self.raised.zero_()
        self._system.obstacles.begin()

    def prescribe(self, frame: int, since: float, until: float) -> None:
        """Prescribe the pin positions after the next step, and the prescribed energies in it.

        Args:
            frame: the index of the frame before.
            since, until: its start and end, as fractions of a frame.
        """
        pins = self._system.moving_pins
        if self.contact is not None:
            self.contact.prescribe(frame, since, until)
        if pins is not None and self._target is not None:
            if self.contact is None:
                self._target.copy_(pins.positions(frame, until))
            else:
                self._target.copy_(self.contact.clocks.pins())
        for prescribed in self._prescribed:
            prescribed.sample(frame, since, until, self._nodes)

    def advance(self) -> None:
        """Take the step. On CUDA this is recorded, so nothing in it may read values."""
        positions, velocities = self.positions, self.velocities
        if self.contact is not None:
            for began, now in zip(self._began, self._changed, strict=True):
                began.copy_(now)
        elif self._driving is not None:
            self._began[0].copy_(positions)
        pins = self._system.moving_pins
        self._add_change(self._centre)
        self._set_stage(0)
        if pins is None or self._target is None:
            self._move()
        else:
            moved = self._target - positions[:, pins.vertices]
            # No force moves pins: the integrator lets them coast to their targets.
            velocities[:, pins.vertices] = moved / self.step
            self._move()
            positions[:, pins.vertices] = self._target
            self.work += (self._gradient[:, pins.vertices] * moved).sum()
        if self._driving is not None:
            self.work -= _work_done(self._driving, self._began[0], positions)
        if self.contact_impulse is not None:
            self.contact_impulse.copy_(velocities)
        self._collide_with_obstacles(positions, velocities)
        if self.contact_impulse is not None:
            torch.sub(velocities, self.contact_impulse, out=self.contact_impulse)
        self._add_change(1.0 - self._centre)

    @property
    def _changed(self) -> tuple[Tensor, ...]:
        """Return the tensors that a step changes."""
        return self.positions, self.velocities, self.work, self.raised

    def _set_stage(self, stage: int) -> None:
        for prescribed in self._prescribed:
            prescribed.act(stage)

    def _add_change(self, fraction: float) -> None:
        """Add a fraction of the energy change that prescribed parameters cause in the step."""
        for prescribed in self._raising if fraction > 0.0 else ():
            if prescribed.is_counted:
                self.raised += fraction * prescribed.energy_change(self.positions)

    def _collide_with_obstacles(self, positions: Tensor, velocities: Tensor) -> None:
        if self.record is not None and self.record.replaces_obstacles(positions, velocities):
            return
        if self.contact is not None:
            times = self._impulse_times
            self.work += self.contact.apply(self._began[0], positions, velocities, self.step, times)
            return
        self._system.obstacles.collide(positions, velocities, self.step, self._impulse_times)

    @abstractmethod
    def _move(self) -> None:
        """Advance positions and velocities without contact, and leave the gradient of the
        start."""


def _work_done(forces: Tensor, before: Tensor, after: Tensor) -> float | Tensor:
    """In joules; see ``kernels.explicit_motion``."""
    if runs_loops(forces):
        return work_done(forces.numpy(), before.numpy(), after.numpy())
    return (forces * (after - before)).sum()


class _StepParameters:
    """The prescribed parameters of an energy during a step.

    Args:
        part: the energy of the parameters.
        stages: the number of stages of the step.
    """

    def __init__(self, part: PrescribedPotential, stages: int) -> None:
        self.part = part
        self._weight = 1.0
        self._frame, self._since, self._until = 0, 0.0, 0.0
        self._nodes: tuple[float, ...] = ()
        # A recorded step repeats the same operations on the same tensors: the parameters at each
        # stage, and at the start and the end of the step.
        self._is_recorded = part.parameters.is_cuda
        self._stages = [part.parameters.clone() for _ in range(stages if self._is_recorded else 0)]
        self._ends = [part.parameters.clone(), part.parameters.clone()]
        self._end_time: tuple[int, float] | None = None

    def sample(self, frame: int, since: float, until: float, nodes: tuple[float, ...]) -> None:
        """Sample the parameters of a step from ``since`` to ``until`` of a frame."""
        self._frame, self._since, self._until, self._nodes = frame, since, until, nodes
        if self._is_recorded:
            for stage, parameters in enumerate(self._stages):
                parameters.copy_(self.part.at(frame, self._fraction(stage)))
            if not self.part.is_dissipative:
                for parameters, time in zip(self._ends, (since, until), strict=True):
                    parameters.copy_(self.part.at(frame, time))
        elif self.part.is_sampled:
            self._weight = _sample_weight(since, until)

    def act(self, stage: int) -> None:
        """Set the parameters of the energy to those of a stage."""
        if self._is_recorded:
            self.part.act(self._stages[stage])
        else:
            self.part.go_to(self._frame, self._fraction(stage))

    def _fraction(self, stage: int) -> float:
        node = self._nodes[stage]
        return self._until if node == 1.0 else self._since + node * (self._until - self._since)

    @property
    def is_counted(self) -> bool:
        """Whether the energy change of this step is sampled, possibly for several steps."""
        return self._weight > 0.0

    def energy_change(self, positions: Tensor) -> Tensor:
        """Return the energy in joules that the step's change of the parameters adds at these
        positions, times the number of steps that the sample stands for.
        """
        before, after = self._ends
        if not self._is_recorded:
            # Most steps begin where the last one ended.
            is_next = self._end_time == (self._frame, self._since)
            before = after if is_next else self.part.at(self._frame, self._since)
            self._end_time = self._frame, self._until
            after = self.part.at(*self._end_time)
            self._ends = [before, after]
        return self._weight * self.part.change(before, after, positions)


def _sample_weight(since: float, until: float) -> float:
    """Return the number of steps that this one stands for. Energy changes are sampled in the
    middle of each part of a frame; a step without such a middle stands for none.

    Args:
        since, until: the start and end of the step, as fractions of a frame.
    """
    begun = int(since * ENERGY_SAMPLES + 0.5 + ROUNDING)
    middles = int(until * ENERGY_SAMPLES + 0.5 + ROUNDING) - begun
    return middles / (ENERGY_SAMPLES * (until - since))


class FixedStepIntegrator(Integrator):
    """A method of single steps of a given length."""

    #: The name in the interface.
    label: ClassVar[str]
    #: Whether its energy is bounded, so that growth tells that its steps are too long.
    has_bounded_energy: ClassVar[bool] = True

    @abstractmethod
    def make_step(self, system: System, step: float) -> ExplicitStep:
        """A step of ``step`` seconds."""
