# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps as long as an error allows, around any explicit integrator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..state import State
from ..system import System
from .explicit_integrators import ExplicitIntegrator, SymplecticEuler
from .explicit_stepper import MAX_SUBSTEPS, ExplicitStep, refuse_contact, refuse_too_many
from .integrator import Integrator, TimeStepper
from .stability import spectrum

# The next step, relative to the one that would just meet the tolerance.
SAFETY_FACTOR = 0.9
# The largest and the least ratio of a step to the one before.
MAX_GROWTH_RATIO, MIN_GROWTH_RATIO = 2.0, 0.2
# The shortest step, relative to a frame. If it does not meet the tolerance, no step will.
MIN_STEP_FRAME_RATIO = 1e-6


@dataclass(frozen=True)
class Adaptive(Integrator):
    """Step doubling: a step is accepted if it ends close to two steps of half its length.

    The two half steps are the result. For an integrator of order p the distance grows with the
    step to the power p + 1, which gives the length of the next step.

    Args:
        integrator: the integrator of the steps.
        tolerance: the largest distance of a vertex, in metres.

    Source: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    section II.4.

    Raises:
        SceneError: when the tolerance is not above 0.
    """

    integrator: ExplicitIntegrator = field(default_factory=SymplecticEuler)
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < math.inf:
            raise SceneError(
                f"The tolerance of adaptive steps must be above 0 m, not {self.tolerance:g}."
            )

    @property
    def label(self) -> str:
        """Return the name that users see."""
        return f"Adaptive {self.integrator.label}"

    def stepper(self, system: System, substeps: int | None) -> TimeStepper:
        return _AdaptiveStepper(self, system, substeps)


class _AdaptiveStepper(TimeStepper):
    """Begins a frame with the mean step of the last one, so that a checkpoint needs no more."""

    def __init__(self, settings: Adaptive, system: System, substeps: int | None) -> None:
        refuse_contact(system, settings.label)
        integrator, vibrations = settings.integrator, spectrum(system)
        longest = system.frame_times.longest
        needed = substeps or max(1, math.ceil(longest / integrator.default_step(vibrations)))
        refuse_too_many(system, settings.label, needed)
        super().__init__(needed, adapts=True)
        self.label = settings.label
        self._settings, self._system = settings, system
        self._max_step = min(longest, integrator.stability_limit(vibrations))
        self._whole = integrator.make_step(system, self._max_step)
        self._half = integrator.make_step(system, 0.5 * self._max_step)
        if system.has_obstacles:
            self._half.contact_impulse = torch.zeros_like(self._half.positions)

    @property
    def most_work(self) -> str:
        return f"{MAX_SUBSTEPS} tried steps"

    def advance(self, state: State) -> State:
        positions, velocities = state.positions, state.velocities
        flow = self._system.plastic_flow
        flow.plastic = state.plastic
        seconds = self._system.frame_times.of(state.frame)
        step, elapsed, count, tries = seconds / state.substeps, 0.0, 0, 0
        while elapsed < 1.0:
            tries += 1
            step = min(step, self._max_step)
            # The rest of a frame is shared among equal steps, not left to a sliver.
            rest = (1.0 - elapsed) * seconds
            fraction = 1.0 / max(1, math.ceil(rest / step * (1.0 - 1e-9)))
            step_taken = fraction * rest
            until = 1.0 if fraction == 1.0 else elapsed + step_taken / seconds
            error = self._try(positions, velocities, step_taken, state.frame, elapsed, until)
            if error <= self._settings.tolerance:
                positions = self._half.positions.clone()
                velocities = self._half.velocities.clone()
                flow.flow(positions, step_taken)
                elapsed, count = until, count + 1
            elif step_taken < MIN_STEP_FRAME_RATIO * seconds:
                tries = MAX_SUBSTEPS
            if tries == MAX_SUBSTEPS and elapsed < 1.0:
                raise InstabilityError(self._too_short_message(state.frame + 1, step_taken))
            step = step_taken * self._growth_ratio(error)
        return replace(
            state,
            positions=positions,
            velocities=velocities,
            frame=state.frame + 1,
            substeps=count,
            plastic=flow.plastic,
        )

    def _try(
        self,
        positions: Tensor,
        velocities: Tensor,
        step: float,
        frame: int,
        since: float,
        until: float,
    ) -> float:
        """The distance in metres between a step and two halves; infinite where one diverges."""
        whole, half, middle = self._whole, self._half, 0.5 * (since + until)
        whole.set_step(step)
        half.set_step(0.5 * step)
        for substep in (whole, half):
            substep.begin(positions, velocities)
        self._advance(whole, frame, since, until)
        self._advance(half, frame, since, middle)
        before = None if half.contact_impulse is None else half.contact_impulse.clone()
        self._advance(half, frame, middle, until)
        error = (whole.positions - half.positions).abs().max()
        if half.contact_impulse is not None and before is not None:
            # Landing in the second half, both end alike, but how deep they fell is not known.
            fallen = 0.5 * step * (half.contact_impulse - before).abs().max()
            error = torch.maximum(error, fallen)
        return math.inf if math.isnan(float(error)) else float(error)

    def _advance(self, substep: ExplicitStep, frame: int, since: float, until: float) -> None:
        substep.prescribe(frame, since, until)
        substep.advance()

    def _growth_ratio(self, error: float) -> float:
        """Return the ratio of the next step to this one, from the error of this one in metres."""
        if error == 0.0:
            return MAX_GROWTH_RATIO
        order = self._settings.integrator.order
        ratio = SAFETY_FACTOR * (self._settings.tolerance / error) ** (1.0 / (order + 1))
        return min(MAX_GROWTH_RATIO, max(MIN_GROWTH_RATIO, ratio))

    def _too_short_message(self, frame: int, step: float) -> str:
        return (
            f"{self._system.names}: frame {frame} needs steps below {step:.1g} s to stay within "
            f"{self._settings.tolerance:g} m. Raise the tolerance, lower the stiffness "
            "(Young's modulus), use a coarser resolution, or choose Implicit Euler."
        )
