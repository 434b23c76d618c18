# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit steps on tensors that stay in place, frames of equal ones, and the energy balance that
detects divergence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from ..compiled import runs_loops
from ..errors import InstabilityError, SceneError
from ..geometry.rigid_motion import rigid_velocity, slowed
from ..kernels.explicit_motion import work_done
from ..potentials import PrescribedPotential
from ..potentials.contact import accepted_moves
from ..scene.channel import ROUNDING
from ..scene.soft_body import burst_warning
from ..state import Energies, State
from ..system import System
from .contact_failures import DivergedStepError
from .integrator import Integrator, TimeStepper
from .mesh_contact_step import MeshContactStep
from .stability import EnergyRounding, impulse_times, velocity_retention

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
        # The mean time in the step at which loads act.
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
        #: The start of the last step, for contact, driving forces and prescribed energies.
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
        elif self._driving is not None or self._raising:
            self._began[0].copy_(positions)
        pins = self._system.moving_pins
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
        self._add_changes()

    @property
    def _changed(self) -> tuple[Tensor, ...]:
        """Return the tensors that a step changes."""
        return self.positions, self.velocities, self.work, self.raised

    def _set_stage(self, stage: int) -> None:
        for prescribed in self._prescribed:
            prescribed.act(stage)

    def _add_changes(self) -> None:
        """Add the energy that changes of prescribed parameters add in the step: of loads at the
        mean time at which they act, since they may jump. Springs to moving goals follow their way;
        in its middle the change is right to second order."""
        for prescribed in self._raising:
            if prescribed.is_counted:
                part_of_way = 0.5 if prescribed.part.is_sampled else 1.0 - self._centre
                at = self.positions
                if part_of_way < 1.0:
                    at = torch.lerp(self._began[0], at, part_of_way)
                self.raised += prescribed.energy_change(at)

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
        # As many in each interval of the channel, since power jumps from one to the next.
        per_frame = part.channel.per_frame if part.is_sampled else 1
        self._samples = per_frame * math.ceil(ENERGY_SAMPLES / per_frame)
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
            self._weight = _sample_weight(since, until, self._samples)

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
        positions, times the number of steps that the sample stands for."""
        before, after = self._ends
        if not self._is_recorded:
            # Most steps begin where the last one ended.
            is_next = self._end_time == (self._frame, self._since)
            before = after if is_next else self.part.at(self._frame, self._since)
            self._end_time = self._frame, self._until
            after = self.part.at(*self._end_time)
            self._ends = [before, after]
        return self._weight * self.part.change(before, after, positions)


def _sample_weight(since: float, until: float, samples: int) -> float:
    """Return the number of steps that this one stands for. Energy changes are sampled in the
    middle of each part of a frame; a step without such a middle stands for none.

    Args:
        since, until: the start and end of the step, as fractions of a frame.
        samples: the parts of a frame.
    """
    middles = _middles_before(until, samples) - _middles_before(since, samples)
    return middles / (samples * (until - since))


def _middles_before(time: float, samples: int) -> int:
    """Return how many parts of a frame have their middles before a fraction of it.

    Of middles exactly between two steps, one goes to the earlier and the next to the later step,
    which is right on average where power changes evenly.
    """
    number = time * samples + 0.5
    goes_to_earlier = round(number) % 2 == 1
    return int(number + (ROUNDING if goes_to_earlier else -ROUNDING))


class FixedStepIntegrator(Integrator):
    """A method of single steps of a given length."""

    #: The name in the interface.
    label: ClassVar[str]
    #: Whether its energy is bounded, so that growth tells that its steps are too long.
    has_bounded_energy: ClassVar[bool] = True

    @abstractmethod
    def make_step(self, system: System, step: float) -> ExplicitStep:
        """A step of ``step`` seconds."""


# The most repeats of diverged frames in a run, each with twice the substeps.
MAX_RETRIES = 6
# The most automatic substeps of a frame. Scenes that need more are for implicit steps.
MAX_SUBSTEPS = 100_000
# The most substeps of a frame with contact at first, relative to bodies at rest. Without this
# limit, eight cubes that blades crush in a cup go inside out (J = -1.3); with it, they stay above
# J = 0.1.
MAX_CONTACT_RATIO = 2
# The least substeps of a frame with contact. In one or two steps, a box at rest pressed with 98 %
# of its weight.
LEAST_CONTACT_SUBSTEPS = 16
# The most samples of positions within a frame. With 8, the trembling teeth of a landing disc seem
# to touch, and the frame is repeated with contact: 0.28 s instead of 0.05 s.
MAX_SAMPLES = 16
# The energy that a frame may gain, in units of the energy that moves: beyond the first ratio more
# substeps are taken; where their number is given, only beyond the second the run ends.
MAX_ENERGY_GAIN_RATIO, MAX_FIXED_ENERGY_GAIN_RATIO = 0.1, 1.0


class ExplicitStepper(TimeStepper):
    """A fixed-step integrator at work on a system.

    Args:
        integrator: the integrator of the steps.
        system: to be carried on.
        substeps: the steps a frame at the start.
        adapts: whether a diverged frame may take more.
        records_positions: whether positions are sampled through the last frame.
        contact: the contact of surfaces, if any.
        deformed_step: the function from (3, N) positions of deformed bodies to their longest step
            in seconds; None keeps the number of substeps.
    """

    def __init__(
        self,
        integrator: FixedStepIntegrator,
        system: System,
        substeps: int,
        adapts: bool,
        records_positions: bool = False,
        contact: MeshContactStep | None = None,
        deformed_step: Callable[[Tensor], float] | None = None,
    ) -> None:
        super().__init__(substeps, adapts)
        self._deformed_step = deformed_step
        self._records_positions = records_positions
        #: The interval in steps at which (3, N) positions and velocities within the last frame are
        #: kept; 0 keeps none.
        self.checkpoint_steps = 0
        self.checkpoints: list[tuple[Tensor, Tensor, Tensor | None]] = []
        #: (3, N) positions at the start and after each step of the last frame without contact,
        #: where a check observes the moves.
        self.step_positions: list[Tensor] = []
        #: The contact of surfaces, if any.
        self.contact = contact
        self.label = integrator.label
        self._integrator, self._system = integrator, system
        self._max_energy_gain_ratio = (
            MAX_ENERGY_GAIN_RATIO if adapts else MAX_FIXED_ENERGY_GAIN_RATIO
        )
        #: The most repeats of a diverged frame, each with twice the substeps.
        self.max_retries = MAX_RETRIES
        self._rounding = EnergyRounding(system)
        self._prepared: tuple[ExplicitStep, Callable[[], None]] | None = None
        self._softened = system.softened

    @property
    def most_work(self) -> str:
        # Before the most, a frame is tried with half as many, and a quarter, and so on.
        return f"{2 * self._max_substeps if self.adapts else self.substeps} substeps"

    @property
    def _most_with_contact(self) -> int:
        """The most substeps for contact at the start of a frame."""
        return self.substeps * (1 if self._deformed_step is None else MAX_CONTACT_RATIO)

    @property
    def _max_substeps(self) -> int:
        return self._most_with_contact << self.max_retries if self.adapts else self.substeps

    def advance(self, state: State) -> State:
        system = self._system
        before = system.energies(state)
        substeps = self._substeps(state)
        while True:
            after = self._stable_frame(before, replace(state, substeps=substeps))
            if after is not None:
                return after
            if 2 * substeps > self._max_substeps:
                break
            substeps *= 2
        cure = more_substeps(2 * substeps)
        if self.adapts:
            # They are automatic.
            cure = "Choose BDF2 or Implicit Euler"
        raise DivergedStepError(
            unstable_step_message(system, substeps, f" at frame {state.frame + 1}", cure)
        )

    def _stable_frame(self, before: Energies, start: State) -> State | None:
        """The state a frame later, if its steps do not diverge."""
        try:
            after, work, raised = self._frame(start)
        except DivergedStepError:
            return None
        excess = self._excess_energy(before, after, work, raised)
        if excess <= 0.0:
            return after
        if after.solver_statistics.limited_steps and math.isfinite(excess):
            # Surfaces that were kept apart, and not steps that are too long, have added energy.
            return self._without_surplus(after, excess)
        return None

    def _without_surplus(self, state: State, excess: float) -> State:
        """Return the state with ``excess`` joules less in the deformation of bodies."""
        mass, velocities = self._system.mass, state.velocities
        rigid = torch.zeros_like(velocities)
        for where in self._system.body_slices():
            at = state.positions[:, where]
            rigid[:, where] = rigid_velocity(mass[where], at, velocities[:, where]).at(at)
        deforming = torch.where(self._system.free, velocities - rigid, 0.0)
        return replace(state, velocities=velocities - deforming + slowed(mass, deforming, excess))

    def _substeps(self, state: State) -> int:
        """Return the initial number of substeps; bodies that plastic flow has flattened vibrate
        faster."""
        if not self.adapts:
            return state.substeps
        needed = self.substeps
        if state.plastic is not None:
            needed = math.ceil(self.substeps * self._system.plastic_flow.frequency_ratio)
        # With contact, the number depends on this frame only.
        others = state.substeps if self._deformed_step is None else self._contact_substeps(state)
        return min(max(others, needed), self._max_substeps)

    def _contact_substeps(self, state: State) -> int:
        """Return the number of substeps for contact: deformed bodies vibrate faster, and contacts
        are linearized again once surfaces have moved by the activation distance."""
        assert self.contact is not None and self._deformed_step is not None
        most, seconds = self._most_with_contact, self._system.frame_times.of(state.frame)
        speed = float(torch.linalg.vector_norm(state.velocities, dim=0).max())
        needed = max(
            LEAST_CONTACT_SUBSTEPS,
            math.ceil(seconds * speed / self.contact.max_activation_distance),
        )
        if needed < most:
            needed = max(needed, math.ceil(seconds / self._deformed_step(state.positions)))
        return min(needed, most)

    def _frame(self, start: State) -> tuple[State, float, float]:
        """Return the state a frame later, the work of moving pins, colliders, barriers and driving
        forces, and the energy added by changes of prescribed parameters."""
        seconds = self._system.frame_times.of(start.frame)
        substep, advance_step = self._prepare(seconds / start.substeps)
        flow = self._system.plastic_flow
        flow.plastic = start.plastic
        substep.begin(start.positions, start.velocities)
        if self.contact is not None:
            self.contact.begin(start)
        self.sampled_positions, self.sample_fractions = [start.positions], [0.0]
        self.checkpoints = []
        is_observed = self._records_positions and accepted_moves.are_observed()
        self.step_positions = [start.positions] if is_observed else []
        count, sample_count = start.substeps, MAX_SAMPLES if self._records_positions else 0
        for number in range(count):
            if self.checkpoint_steps and number and number % self.checkpoint_steps == 0:
                state = substep.positions.clone(), substep.velocities.clone()
                self.checkpoints.append((*state, flow.plastic))
            fractions = number / count, (number + 1) / count
            substep.prescribe(start.frame, *fractions)
            advance_step()
            if is_observed:
                self.step_positions.append(substep.positions.clone())
            flow.flow(substep.positions, substep.step)
            if (number + 1) * sample_count // count > number * sample_count // count:
                self.sampled_positions.append(substep.positions.clone())
                self.sample_fractions.append((number + 1) / count)
        positions, velocities = substep.positions.clone(), substep.velocities.clone()
        after = replace(
            start,
            positions=positions,
            velocities=velocities,
            frame=start.frame + 1,
            plastic=flow.plastic,
            energy_limit=None,
        )
        work = float(substep.work)
        if self.contact is not None:
            statistics, released = self.contact.finish(positions)
            colliders, work = self.contact.colliders, work + released
            clocks = self.contact.clocks.saved
            after = replace(after, colliders=colliders, clocks=clocks, solver_statistics=statistics)
        return after, work, float(substep.raised)

    def _excess_energy(self, before: Energies, state: State, work: float, raised: float) -> float:
        """Return the energy growth beyond the tolerance for motion and rounding, in joules; not
        above zero for stable steps, infinite if it is not finite."""
        after = self._system.energies(state)
        energy_growth = after.total - before.total - work - raised
        if not math.isfinite(energy_growth):
            return math.inf
        if not self._integrator.has_bounded_energy:
            return 0.0
        fallen = max(0.0, before.external + raised - after.external)
        moving = before.kinetic + before.elastic + before.ground + fallen + abs(work)
        rounding = self._rounding.joules(after, state.positions, state.substeps)
        allowed = self._max_energy_gain_ratio * (moving + self._system.smallest_energy)
        return energy_growth - allowed - rounding

    def _prepare(self, step: float) -> tuple[ExplicitStep, Callable[[], None]]:
        is_same = self._prepared is not None and self._softened == self._system.softened
        if self._prepared is not None and is_same and self._prepared[0].step != step:
            self._prepared[0].set_step(step)
            is_same = not self._prepared[0].positions.is_cuda
        # The recorded graph holds the materials and the step size of its recording.
        if self._prepared is None or not is_same:
            self._softened = self._system.softened
            substep = self._integrator.make_step(self._system, step)
            substep.contact = self.contact
            self._prepared = substep, substep.recorded()
        return self._prepared


def refuse_stiff_forces(system: System, label: str) -> None:
    """Refuse forces that are too stiff for explicit steps.

    Raises:
        SceneError: when a force of the scene is far too stiff for steps that solve nothing.
    """
    stiff = next((part for part in system.forces if part.is_stiff), None)
    if stiff is not None:
        raise SceneError(
            f"{system.names}: {stiff.label} is too stiff for {label}; choose Automatic or an "
            "implicit integrator, such as Implicit Euler."
        )


def refuse_contact(system: System, label: str) -> None:
    """Refuse contact and couplings between bodies.

    Raises:
        SceneError: when surfaces are to touch, bodies to hold each other, or a force of the scene
            is too stiff.
    """
    refuse_stiff_forces(system, label)
    if system.scene.couples_bodies:
        what = "attach bodies" if system.scene.contact is None else "let surfaces touch each other"
        raise SceneError(
            f"{system.names}: {label} cannot {what}; choose Automatic or Implicit Euler, or do "
            "without contact and attachments."
        )


def refuse_too_many(system: System, label: str, substeps: int) -> None:
    """Refuse an excessive number of steps a frame.

    Raises:
        InstabilityError: when frames would take longer than anyone waits.
    """
    if substeps > MAX_SUBSTEPS:
        raise InstabilityError(
            f"{system.names}: {label} needs {substeps} substeps a frame, more than "
            f"{MAX_SUBSTEPS}. Choose Automatic or Implicit Euler, lower the stiffness (Young's "
            "modulus), or use a coarser resolution."
        )


def more_substeps(least: int) -> str:
    """The cure for too few."""
    return (
        f"Let substeps be automatic (0 in the sidebar, None in a script) or set them to at least "
        f"{least}"
    )


def unstable_step_message(system: System, substeps: int, where: str, cure: str) -> str:
    """The message on steps that diverge."""
    return (
        f"{system.names}: {substeps} substeps a frame are too few{where}. {cure}, lower the "
        f"stiffness (Young's modulus), or use a coarser resolution.{burst_warning(system.bodies)}"
    )
