# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit Euler: stable at any stiffness and step; takes energy out of fast motion."""

from __future__ import annotations

from dataclasses import dataclass

from ..scene.integrator_table import INTEGRATORS
from ..state import State
from ..system import System
from .implicit_stepper import ImplicitStepper
from .integrator import Integrator
from .stages import Step


@dataclass(frozen=True)
class ImplicitEuler(Integrator):
    """M (v' − e^(−αh) v) = −∇E(x') (1 − e^(−αh))/α, x' = x + h v', α the damping.

    Args:
        tolerance: a step has converged when a Newton step moves nothing faster than this, in m/s;
            None is 0.001, and where surfaces touch a 200th of the fastest motion if that
            is more.

    Source: Martin et al., "Example-Based Elastic Materials", ACM Transactions on Graphics 30(4),
    2011, section 4, writes it as a minimisation.
    """

    tolerance: float | None = None

    def stepper(self, system: System, substeps: int | None) -> ImplicitStepper:
        return _EulerStepper(system, substeps, self.tolerance)


class _EulerStepper(ImplicitStepper):
    label = INTEGRATORS["implicit_euler"].label

    def begin_step(self, state: State, seconds: float) -> Step:
        return self.damped_step(state, seconds)
