# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit Euler: stable at any stiffness and step; takes energy out of fast motion."""

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
class ImplicitEuler(Integrator):
    """M (v' − e^(−αh) v) = −∇E(x') (1 − e^(−αh))/α, x' = x + h v', α the damping.

    Args:
        tolerance: a step has converged when a Newton step moves nothing faster than this, in m/s;
            None is 0.001, and where surfaces touch a fiftieth of the fastest motion if that
            is more.

    Source: Martin et al., "Example-Based Elastic Materials", ACM Transactions on Graphics 30(4),
    2011, section 4, writes it as a minimisation.
    """

    tolerance: float | None = None

    def stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        return _EulerStepper(system, substeps, self.tolerance)

    def contact_free_stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        """``stepper`` of a system whose contact it leaves to others."""
        return _EulerStepper(system, substeps, self.tolerance, with_contact=False)


class _EulerStepper(ImplicitStepper):
    label = INTEGRATORS["implicit_euler"].label

    def prediction(self, state: State, step: float) -> Prediction:
        rate = self._system.damping
        velocities = state.velocities * decay(rate, step)
        return Prediction(state.positions + step * velocities, step, impulse_time(rate, step))

    def velocities(self, state: State, positions: Tensor, step: float) -> Tensor:
        return (positions - state.positions) / step
