# SPDX-License-Identifier: GPL-3.0-or-later
"""Symplectic Euler: the cheapest scheme that keeps the energy of an undamped body bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from ..errors import InstabilityError
from ..system import Energies, State, System
from .damping import decay
from .integrator import Integrator, Stepper
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

    def advance(self, state: State) -> State:
        system = self._system
        before = system.energies(state)
        substeps = state.substeps
        for _ in range(RETRIES + 1 if self.adapts else 1):
            after, work = _advance(system, replace(state, substeps=substeps), self._frame_time)
            if _is_stable(system, before, system.energies(after), work):
                return after
            substeps *= 2
        tried = substeps // 2
        raise InstabilityError(_too_long(system, tried, 2 * tried, frame=state.frame + 1))


def _advance(system: System, start: State, frame_time: float) -> tuple[State, float]:
    """The state a frame later and the work that moving pins did."""
    state = start.clone()
    positions, velocities = state.positions, state.velocities
    step = frame_time / start.substeps
    kick = step * system.inverse_mass
    keep = decay(system.damping, step)
    gradient = torch.zeros_like(positions)
    pins, work = system.moving_pins, torch.zeros((), device=system.device, dtype=system.dtype)
    for substep in range(start.substeps):
        gradient.zero_()
        system.add_gradient(positions, gradient)
        # Damping acts on the old velocity alone: at rest the ground then carries the whole weight.
        if keep is not None:
            velocities.mul_(keep)
        velocities.addcmul_(gradient, kick, value=-1.0)
        positions.add_(velocities, alpha=step)
        if system.ground_step is not None:
            system.ground_step.apply(positions, velocities, step)
        if pins is not None:
            # Pins have no inverse mass: so far they coasted at the velocity of the last step.
            positions[:, pins.vertices] -= step * velocities[:, pins.vertices]
            target = pins.positions(start.frame, (substep + 1) / start.substeps)
            moved = pins.lead(positions, velocities, target, step)
            work += (gradient[:, pins.vertices] * moved).sum()
    return replace(state, frame=start.frame + 1), float(work)


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
