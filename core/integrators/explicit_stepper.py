# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of equal explicit steps, and the account of energy that tells when they diverge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ..errors import InstabilityError, SceneError
from ..state import Energies, State
from ..system import System
from .energy_rounding import EnergyRounding
from .integrator import Stepper
from .scheme import Scheme
from .substep import Substep

# What diverges is taken again with twice the substeps, at most this often in a run.
RETRIES = 6
# Of a frame, for which nobody asked: what needs more is for implicit steps.
MOST_SUBSTEPS = 100_000
# So many places on the way through a frame are kept for who asks, as substeps allow.
PLACES = 8
# The scheme's own energy error within a frame, in units of the energy that moves: beyond the first
# more substeps are taken; where their number is given, only a frame that doubles it ends the run.
TOLERATED, GIVEN_UP = 0.1, 1.0


class ExplicitStepper(Stepper):
    """A scheme at work on a system.

    Args:
        scheme: takes the steps.
        system: to be carried on.
        frame_time: seconds from one frame to the next.
        substeps: steps a frame at the start.
        adapts: whether a frame that diverges may take more.
        keeps_ways: whether places on the way through the last frame are kept.
    """

    def __init__(
        self,
        scheme: Scheme,
        system: System,
        frame_time: float,
        substeps: int,
        adapts: bool,
        keeps_ways: bool = False,
    ) -> None:
        super().__init__(substeps, adapts)
        self._keeps_ways = keeps_ways
        self.label = scheme.label
        self._scheme, self._system, self._frame_time = scheme, system, frame_time
        self._allowed = TOLERATED if adapts else GIVEN_UP
        self._rounding = EnergyRounding(system)
        self._prepared: tuple[Substep, Callable[[], None]] | None = None
        self._softened = system.softened

    @property
    def most_work(self) -> str:
        # Before the most, a frame is tried with half as many, and a quarter, and so on.
        return f"{2 * self._most_substeps if self.adapts else self.substeps} substeps"

    @property
    def _most_substeps(self) -> int:
        return self.substeps << RETRIES if self.adapts else self.substeps

    def advance(self, state: State) -> State:
        system = self._system
        before = system.energies(state)
        substeps = state.substeps
        while True:
            after, work, raised = self._frame(replace(state, substeps=substeps))
            if self._is_stable(before, after, work, raised):
                return after
            if 2 * substeps > self._most_substeps:
                break
            substeps *= 2
        raise InstabilityError(too_long(system, substeps, 2 * substeps, frame=state.frame + 1))

    def _frame(self, start: State) -> tuple[State, float, float]:
        """The state a frame later, the work that moving pins did, and what changes of gravity added
        to the energy."""
        substep, take = self._prepare(self._frame_time / start.substeps)
        substep.begin(start.positions, start.velocities)
        self.places, self.shares = [start.positions], [0.0]
        count, kept = start.substeps, PLACES if self._keeps_ways else 0
        for number in range(count):
            substep.prescribe(start.frame, number / count, (number + 1) / count)
            take()
            if (number + 1) * kept // count > number * kept // count:
                self.places.append(substep.positions.clone())
                self.shares.append((number + 1) / count)
        positions, velocities = substep.positions.clone(), substep.velocities.clone()
        after = replace(start, positions=positions, velocities=velocities, frame=start.frame + 1)
        return after, float(substep.work), float(substep.raised)

    def _is_stable(self, before: Energies, state: State, work: float, raised: float) -> bool:
        """Whether the energy is a number, and grew by no more than is allowed of what moves and
        what rounding makes."""
        after = self._system.energies(state)
        gained = after.total - before.total - work - raised
        keeps_energy = self._scheme.keeps_energy and not self._system.is_driven
        if not (math.isfinite(gained) and keeps_energy):
            return math.isfinite(gained)
        fallen = max(0.0, before.gravity + raised - after.gravity)
        moving = before.kinetic + before.elastic + before.ground + fallen + abs(work)
        rounding = self._rounding.joules(after, state.positions, state.substeps)
        return gained <= self._allowed * (moving + self._system.smallest_energy) + rounding

    def _prepare(self, step: float) -> tuple[Substep, Callable[[], None]]:
        # What is recorded holds the materials that were.
        is_same = self._softened == self._system.softened
        if self._prepared is None or self._prepared[0].step != step or not is_same:
            self._softened = self._system.softened
            substep = self._scheme.substep(self._system, step)
            self._prepared = substep, substep.recorded()
        return self._prepared


def refuse_contact(system: System, label: str) -> None:
    """
    Raises:
        SceneError: when surfaces are to touch, bodies to hold each other, or a force of the scene
            says so: they are far too stiff for steps that solve nothing.
    """
    stiff = next((part for part in system.forces if part.is_stiff), None)
    if stiff is not None:
        raise SceneError(
            f"{system.names}: {type(stiff).__name__} is too stiff for {label}; choose Automatic or "
            "an implicit integrator."
        )
    if system.scene.couples_bodies:
        what = "attach bodies" if system.scene.contact is None else "let surfaces touch each other"
        raise SceneError(
            f"{system.names}: {label} cannot {what}; choose Automatic or Implicit Euler, or do "
            "without contact and attachments."
        )


def refuse_too_many(system: System, label: str, substeps: int) -> None:
    """
    Raises:
        InstabilityError: when frames would take longer than anyone waits.
    """
    if substeps > MOST_SUBSTEPS:
        raise InstabilityError(
            f"{system.names}: {label} needs {substeps} substeps a frame, more than "
            f"{MOST_SUBSTEPS}. Choose Automatic or Implicit Euler, lower Young's modulus, or use a "
            "coarser resolution."
        )


def too_long(system: System, substeps: int, needed: int, frame: int | None = None) -> str:
    """What to say of steps that diverge."""
    where = "" if frame is None else f" at frame {frame}"
    return (
        f"{system.names}: {substeps} substeps a frame are too few{where}. Set substeps to 0 "
        f"(automatic) or to at least {needed}, lower Young's modulus, or use a coarser resolution."
    )
