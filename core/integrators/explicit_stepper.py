# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of equal explicit steps, and the energy balance that detects divergence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..geometry.rigid_motion import rigid_velocity, slowed
from ..potentials.contact import accepted_moves
from ..scene.soft_body import burst_warning
from ..state import Energies, State
from ..system import System
from .contact_failures import DivergedStepError
from .explicit_step import ExplicitStep, FixedStepIntegrator
from .integrator import TimeStepper
from .mesh_contact_step import MeshContactStep
from .stability import EnergyRounding

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
        return replace(
            state,
            velocities=velocities - deforming + slowed(mass, deforming, excess),
        )

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
