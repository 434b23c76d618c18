# SPDX-License-Identifier: GPL-3.0-or-later
"""The second-order backward difference: as stable as implicit Euler, and livelier."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ..scene.integrator_table import INTEGRATORS
from ..state import State
from ..system import System
from .implicit_stepper import ImplicitStepper, Prediction
from .integrator import Integrator
from .stability import decay, impulse_time


@dataclass(frozen=True)
class BDF2(Integrator):
    """x' = (4x − x₋₁)/3 + 2h/3 v', v' = (4v − v₋₁)/3 − 2h/3 M⁻¹ ∇E(x').

    With the damping α and e = e^(−αh), the velocities before count as e v and e² v₋₁, and forces
    by (1 − e)(3 − e)/2αh = 1 − (αh)²/3 + …: decay and terminal speed are exact, the order is 2.
    Its first step, and those of a frame that takes more steps than the one before or another time,
    begin with one of implicit Euler.

    Args:
        tolerance: a step has converged when a Newton step moves nothing faster than this, in m/s;
            None is 0.001, and where surfaces touch a fiftieth of the fastest motion if that
            is more.

    Source: Hairer and Wanner, "Solving Ordinary Differential Equations II", 2nd edition, chapter
    V.1.
    """

    tolerance: float | None = None

    def stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        return _BDF2Stepper(system, substeps, self.tolerance)

    def contact_free_stepper(self, system: System, least_substeps: int) -> ImplicitStepper:
        """One of a system whose contact it leaves to others, with so many steps a frame, or more
        where one does not converge."""
        stepper = _BDF2Stepper(system, None, self.tolerance, with_contact=False)
        stepper.substeps = least_substeps
        return stepper


class _BDF2Stepper(ImplicitStepper):
    label = INTEGRATORS["bdf2"].label

    def prediction(self, state: State, step: float) -> Prediction:
        rate = self._system.damping
        keep, impulse = decay(rate, step), impulse_time(rate, step)
        velocities = state.velocities * keep
        if state.previous is None:
            return Prediction(state.positions + step * velocities, step, impulse)
        positions_before, velocities_before = state.previous
        span = 2.0 / 3.0 * step
        coasting = (4.0 * velocities - velocities_before * keep * keep) / 3.0
        coasted = (4.0 * state.positions - positions_before) / 3.0 + span * coasting
        return Prediction(coasted, span, impulse * (3.0 - keep) / 3.0)

    def velocities(self, state: State, positions: Tensor, step: float) -> Tensor:
        if state.previous is None:
            return (positions - state.positions) / step
        base = (4.0 * state.positions - state.previous[0]) / 3.0
        return (positions - base) * (1.5 / step)

    def history(self, state: State) -> tuple[Tensor, Tensor] | None:
        return state.positions, state.velocities
