# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of equal explicit steps, and the account of energy that tells when they diverge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import InstabilityError
from ..system import Energies, State, System
from .integrator import Stepper
from .substep import Substep

if TYPE_CHECKING:
    from .explicit_scheme import ExplicitScheme

# A frame that diverges is taken again with twice the substeps, at most this often.
RETRIES = 6
# The scheme's own energy error within a frame, in units of the energy that moves.
ENERGY_TOLERANCE = 0.1


class ExplicitStepper(Stepper):
    """An explicit scheme at work on a system.

    Args:
        scheme: takes the steps.
        system: to be carried on.
        frame_time: seconds from one frame to the next.
        substeps: steps a frame at the start.
        adapts: whether a frame that diverges may take more.
    """

    def __init__(
        self,
        scheme: ExplicitScheme,
        system: System,
        frame_time: float,
        substeps: int,
        adapts: bool,
    ) -> None:
        super().__init__(substeps, adapts)
        self.label = scheme.label
        self._scheme, self._system, self._frame_time = scheme, system, frame_time
        self._prepared: tuple[Substep, Callable[[], None]] | None = None

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
        raise InstabilityError(too_long(system, tried, 2 * tried, frame=state.frame + 1))

    def _frame(self, start: State) -> tuple[State, float]:
        """The state a frame later and the work that moving pins did."""
        substep, take = self._prepare(self._frame_time / start.substeps)
        substep.begin(start.positions, start.velocities)
        for number in range(start.substeps):
            substep.lead_pins(start.frame, (number + 1) / start.substeps)
            take()
        positions, velocities = substep.positions.clone(), substep.velocities.clone()
        after = replace(start, positions=positions, velocities=velocities, frame=start.frame + 1)
        return after, float(substep.work)

    def _prepare(self, step: float) -> tuple[Substep, Callable[[], None]]:
        if self._prepared is None or self._prepared[0].step != step:
            substep = self._scheme.substep(self._system, step)
            self._prepared = substep, substep.recorded()
        return self._prepared


def _is_stable(system: System, before: Energies, after: Energies, work: float) -> bool:
    """Whether the energy grew by no more than the scheme's own error."""
    gained = after.total - before.total - work
    if not math.isfinite(gained):
        return False
    fallen = max(0.0, before.gravity - after.gravity)
    moving = before.kinetic + before.elastic + before.ground + fallen + abs(work)
    return gained <= ENERGY_TOLERANCE * (moving + system.smallest_energy)


def too_long(system: System, substeps: int, needed: int, frame: int | None = None) -> str:
    """What to say of steps that diverge."""
    where = "" if frame is None else f" at frame {frame}"
    return (
        f"{system.names}: {substeps} substeps a frame are too few{where}. Set substeps to 0 "
        f"(automatic) or to at least {needed}, lower Young's modulus, or use a coarser resolution."
    )
