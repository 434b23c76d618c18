# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of stepping a system through time."""

from .adaptive import Adaptive
from .automatic import Automatic
from .bdf2 import BDF2
from .choice import NAMES, integrator_named
from .explicit_integrator import ExplicitIntegrator
from .fixed_step_integrator import FixedStepIntegrator
from .implicit_euler import ImplicitEuler
from .integrator import Integrator, TimeStepper
from .runge_kutta import Midpoint, RungeKutta4
from .sdirk2 import SDIRK2
from .symplectic_euler import SymplecticEuler
from .xpbd import XPBD

__all__ = [
    "BDF2",
    "NAMES",
    "SDIRK2",
    "XPBD",
    "Adaptive",
    "Automatic",
    "ExplicitIntegrator",
    "FixedStepIntegrator",
    "ImplicitEuler",
    "Integrator",
    "Midpoint",
    "RungeKutta4",
    "SymplecticEuler",
    "TimeStepper",
    "integrator_named",
]
