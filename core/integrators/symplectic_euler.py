# SPDX-License-Identifier: GPL-3.0-or-later
"""Symplectic Euler: the cheapest scheme that keeps the energy of an undamped body bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from ..errors import InstabilityError
from ..system import Energies, State, System
from .captured_substep import CapturedSubstep
from .damping import decay
from .integrator import Integrator, Stepper
from .motion import move
from .stability import critical_step

# Automatic steps use this fraction of the critical step at rest: compressed tets are stiffer.
SAFETY = 0.5
# A frame that diverges is taken again with twice the substeps, at most this often.
RETRIES = 6
# The scheme's own energy error within a frame, in units of the energy that moves.
ENERGY_TOLERANCE = 0.1


@dataclass(frozen=True)
class SymplecticEuler(Integrator):
    """v ← e^(−damping h) v − h M⁻¹ ∇E(x), x ← x + h v, then contact with the ground."""

    def stepper(self, system: System, frame_time: float, substeps: int | None) -> ExplicitStepper:
        limit = critical_step(system)
        if substeps is None:
            needed = max(1, math.ceil(frame_time / (SAFETY * limit)))
            return ExplicitStepper(system, frame_time, needed, adapts=True)
        if frame_time / substeps > limit:
            raise InstabilityError(_too_long(system, substeps, math.ceil(frame_time / limit)))
        return ExplicitStepper(system, frame_time, substeps, adapts=False)


class ExplicitStepper(Stepper):
    """Symplectic Euler at work on a system."""

    label = "Symplectic Euler"

    def __init__(self, system: System, frame_time: float, substeps: int, adapts: bool) -> None:
        super().__init__(substeps, adapts)
        self._system, self._frame_time = system, frame_time
        self._substep: Substep | None = None

    def advance(self, state: State) -> State:
        system = self._system
        before = system.energies(state)
        substeps = state.substeps
        for _ in range(RETRIES + 1 if self.adapts else 1):
            after, work = self._frame(replace(state, substeps=substeps))
            if _is_stable(system, before, system.energies(after), work):
                return after
            substeps *= 2
        tried = substeps // 2
        raise InstabilityError(_too_long(system, tried, 2 * tried, frame=state.frame + 1))

    def _frame(self, start: State) -> tuple[State, float]:
        """The state a frame later and the work that moving pins did."""
        substep = self._substep_of(self._frame_time / start.substeps)
        substep.begin(start)
        for number in range(start.substeps):
            substep.lead_pins(start.frame, (number + 1) / start.substeps)
            substep.run()
        positions, velocities = substep.positions.clone(), substep.velocities.clone()
        after = replace(start, positions=positions, velocities=velocities, frame=start.frame + 1)
        return after, float(substep.work)

    def _substep_of(self, step: float) -> Substep:
        if self._substep is None or self._substep.step != step:
            self._substep = Substep(self._system, step)
        return self._substep


class Substep:
    """A step of the scheme, on tensors that stay in place.

    Args:
        system: to be carried on.
        step: in seconds.
    """

    def __init__(self, system: System, step: float) -> None:
        self._system, self.step = system, step
        self._kick = step * system.inverse_mass
        keep = decay(system.damping, step)
        self._keep = torch.ones_like(self._kick) * (1.0 if keep is None else keep)
        #: (3, N) in metres and m/s.
        self.positions = system.rest_positions()
        self.velocities = torch.zeros_like(self.positions)
        self._gradient = torch.zeros_like(self.positions)
        #: Done by moving pins since the frame began, in joules.
        self.work = system.mass.new_zeros(())
        pins = system.moving_pins
        self._target = None if pins is None else pins.positions(0, 0.0)
        #: Takes the step.
        self.run: Callable[[], None] = self._take
        if self.positions.is_cuda:
            self.run = CapturedSubstep(self._take)

    def begin(self, state: State) -> None:
        """Goes to where a frame starts."""
        self.positions.copy_(state.positions)
        self.velocities.copy_(state.velocities)
        self.work.zero_()

    def lead_pins(self, frame: int, fraction: float) -> None:
        """Says where moving pins are to be after the next step."""
        if self._system.moving_pins is not None and self._target is not None:
            self._target.copy_(self._system.moving_pins.positions(frame, fraction))

    def _take(self) -> None:
        # On CUDA this is recorded: nothing in it may look at values.
        system, step, gradient = self._system, self.step, self._gradient
        positions, velocities = self.positions, self.velocities
        gradient.zero_()
        system.add_gradient(positions, gradient)
        # Damping acts on the old velocity alone: at rest the ground then carries the whole weight.
        move(positions, velocities, gradient, self._kick, self._keep, step)
        system.meet_obstacles(positions, velocities, step)
        pins = system.moving_pins
        if pins is not None and self._target is not None:
            # Pins have no inverse mass: so far they coasted at the velocity of the last step.
            positions[:, pins.vertices] -= step * velocities[:, pins.vertices]
            moved = pins.lead(positions, velocities, self._target, step)
            self.work += (gradient[:, pins.vertices] * moved).sum()


def _is_stable(system: System, before: Energies, after: Energies, work: float) -> bool:
    """Whether the energy grew by no more than the scheme's own error."""
    gained = after.total - before.total - work
    if not math.isfinite(gained):
        return False
    fallen = max(0.0, before.gravity - after.gravity)
    moving = before.kinetic + before.elastic + before.ground + fallen + abs(work)
    return gained <= ENERGY_TOLERANCE * (moving + system.smallest_energy)


def _too_long(system: System, substeps: int, needed: int, frame: int | None = None) -> str:
    names = ", ".join(body.name for body in system.bodies)
    where = "" if frame is None else f" at frame {frame}"
    return (
        f"{names}: {substeps} substeps a frame are too few{where}. Set substeps to 0 (automatic) "
        f"or to at least {needed}, lower Young's modulus, or use a coarser resolution."
    )
