# SPDX-License-Identifier: GPL-3.0-or-later
"""Alexander's two-stage method: as stable as implicit Euler, and as lively as steps can show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..scene.integrator_table import INTEGRATORS
from ..state import State
from ..system import System
from .implicit_stepper import ImplicitStepper
from .integrator import Integrator
from .stability import impulse_time
from .stages import Moment, Stage, Step

# γ of a method of second order that damps infinitely fast vibrations completely.
GAMMA = 1.0 - 1.0 / math.sqrt(2.0)
# The weight of the first stage in positions and velocities of the second, and in the accompanying
# explicit method for the accelerations of frames (Ascher, Ruuth and Spiteri).
SHARE, EXPLICIT_SHARE = (1.0 - GAMMA) / GAMMA, 0.5 / GAMMA


@dataclass(frozen=True)
class SDIRK2(Integrator):
    """Two stages of implicit Euler's kind: x₁ = x + γh v₁, and x' = x + h((1 − γ) v₁ + γ v').

    Forces count at the ends of both stages alone, so that a step needs nothing of those before it.
    An oscillation of ω keeps 1 − 0.0074 (ωh)⁴ of its amplitude a step, where ωh is small.

    Args:
        tolerance: a step has converged when a Newton step moves nothing faster than this, in m/s;
            None is 0.001, and where surfaces touch a 200th of the fastest motion if that
            is more.

    Sources: Alexander, "Diagonally implicit Runge–Kutta methods for stiff O.D.E.'s", SIAM Journal
    on Numerical Analysis 14(6), 1977; Ascher, Ruuth and Spiteri, "Implicit-explicit Runge–Kutta
    methods for time-dependent partial differential equations", Applied Numerical Mathematics 25,
    1997, section 2.6.
    """

    tolerance: float | None = None

    def stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        return _SDIRK2Stepper(system, substeps, self.tolerance)

    def contact_free_stepper(
        self, system: System, substeps: int | None, least: int = 1
    ) -> ImplicitStepper:
        """The method at work on a system whose contact it leaves to others.

        Args:
            substeps: steps a frame; None is ``least``, or more where one does not converge.
            least: steps a frame where ``substeps`` is None.
        """
        stepper = _SDIRK2Stepper(system, substeps, self.tolerance, with_contact=False)
        stepper.substeps = substeps or least
        return stepper


class _SDIRK2Stepper(ImplicitStepper):
    label = INTEGRATORS["sdirk2"].label
    resolves_impacts = True
    stage_count = 2

    def begin_step(self, state: State, seconds: float) -> Step:
        rate, h = self._system.damping, seconds
        span = GAMMA * h
        keep = 1.0 / (1.0 + span * rate)
        impulse = span * keep
        first = Stage(span, span, (1.0,), (1.0,), (span,), impulse, keep, rate)
        weights = 1.0 - SHARE, SHARE
        turned = h * (GAMMA - EXPLICIT_SHARE), h * EXPLICIT_SHARE
        second = Stage(h, span, weights, weights, turned, impulse, keep, rate)
        start = Moment(0.0, state.positions, state.velocities)
        # The mean velocity of bodies on the way.
        carried = state.velocities * impulse_time(rate, h) / h
        return Step(self._system, self.frames, h, (first, second), [start], carried)
