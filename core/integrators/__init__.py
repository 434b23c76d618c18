# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of stepping a system through time."""

from .adaptive import Adaptive
from .automatic import Automatic
from .bdf2 import BDF2
from .choice import NAMES, integrator_named
from .explicit_scheme import ExplicitScheme
from .implicit_euler import ImplicitEuler
from .integrator import Integrator, Stepper
from .runge_kutta import Midpoint, RungeKutta4
from .scheme import Scheme
from .symplectic_euler import SymplecticEuler
from .xpbd import XPBD

__all__ = [
    "BDF2",
    "NAMES",
    "XPBD",
    "Adaptive",
    "Automatic",
    "ExplicitScheme",
    "ImplicitEuler",
    "Integrator",
    "Midpoint",
    "RungeKutta4",
    "Scheme",
    "Stepper",
    "SymplecticEuler",
    "integrator_named",
]
