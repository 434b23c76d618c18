# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit integrators: implicit Euler, BDF2 and SDIRK2, stable at any stiffness and step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..scene.integrator_table import INTEGRATORS
from ..state import State
from ..system import System
from .implicit_stepper import ImplicitStepper
from .integrator import Integrator
from .stability import decay, impulse_time
from .stages import Moment, Stage, Step


@dataclass(frozen=True)
class ImplicitIntegrator(Integrator):
    """The base of implicit integrators.

    Args:
        tolerance: a step has converged when a Newton step moves nothing faster than this, in m/s;
            None is 0.001, and where surfaces touch a 200th of the fastest motion if that
            is more.
    """

    tolerance: float | None = None
    #: The class of the method at work.
    stepper_type: ClassVar[type[ImplicitStepper]]

    def stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        return self.stepper_type(system, substeps, self.tolerance)


class _EulerStepper(ImplicitStepper):
    label = INTEGRATORS["implicit_euler"].label

    def begin_step(self, state: State, seconds: float) -> Step:
        return self.damped_step(state, seconds)


@dataclass(frozen=True)
class ImplicitEuler(ImplicitIntegrator):
    """M (v' − e^(−αh) v) = −∇E(x') (1 − e^(−αh))/α, x' = x + h v', α the damping.

    Source: Martin et al., "Example-Based Elastic Materials", ACM Transactions on Graphics 30(4),
    2011, section 4, writes it as a minimisation.
    """

    stepper_type = _EulerStepper


class _BDF2Stepper(ImplicitStepper):
    label = INTEGRATORS["bdf2"].label

    def begin_step(self, state: State, seconds: float) -> Step:
        if state.previous is None:
            return self.damped_step(state, seconds)
        rate, h = self._system.damping, seconds
        keep, impulse = decay(rate, h), impulse_time(rate, h)
        velocities = state.velocities * keep
        positions_before, velocities_before = state.previous
        moments = [
            Moment(0.0, state.positions, velocities),
            Moment(-h, positions_before, velocities_before * keep * keep),
        ]
        span, weights = 2.0 / 3.0 * h, (4.0 / 3.0, -1.0 / 3.0)
        impulse = impulse * (3.0 - keep) / 3.0
        # Friction by the velocity is 1.5 times as stiff: sliding bodies would be 3 % too slow.
        stage = Stage(
            h, span, weights, weights, (2.0 * span, -span), impulse, slides_from_start=True
        )
        return Step(self._system, self.frames, h, (stage,), moments, velocities)

    def history(self, state: State) -> tuple[Tensor, Tensor] | None:
        return state.positions, state.velocities


@dataclass(frozen=True)
class BDF2(ImplicitIntegrator):
    """x' = (4x − x₋₁)/3 + 2h/3 v', v' = (4v − v₋₁)/3 − 2h/3 M⁻¹ ∇E(x').

    With the damping α and e = e^(−αh), the velocities before count as e v and e² v₋₁, and forces
    by (1 − e)(3 − e)/2αh = 1 − (αh)²/3 + …: decay and terminal speed are exact, the order is 2.
    Its first step, and those of a frame that takes more steps than the one before or another time,
    begin with one of implicit Euler.

    Source: Hairer and Wanner, "Solving Ordinary Differential Equations II", 2nd edition, chapter
    V.1.
    """

    stepper_type = _BDF2Stepper


# γ of a method of second order that damps infinitely fast vibrations completely.
GAMMA = 1.0 - 1.0 / math.sqrt(2.0)
# The weight of the first stage in positions and velocities of the second, and in the accompanying
# explicit method for the accelerations of frames (Ascher, Ruuth and Spiteri).
SHARE, EXPLICIT_SHARE = (1.0 - GAMMA) / GAMMA, 0.5 / GAMMA


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


@dataclass(frozen=True)
class SDIRK2(ImplicitIntegrator):
    """Two stages of implicit Euler's kind: x₁ = x + γh v₁, and x' = x + h((1 − γ) v₁ + γ v').

    Forces count at the ends of both stages alone, so that a step needs nothing of those before it.
    An oscillation of ω keeps 1 − 0.0074 (ωh)⁴ of its amplitude a step, where ωh is small.

    Sources: Alexander, "Diagonally implicit Runge–Kutta methods for stiff O.D.E.'s", SIAM Journal
    on Numerical Analysis 14(6), 1977; Ascher, Ruuth and Spiteri, "Implicit-explicit Runge–Kutta
    methods for time-dependent partial differential equations", Applied Numerical Mathematics 25,
    1997, section 2.6.
    """

    stepper_type = _SDIRK2Stepper

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
