# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of stepping a system through time."""

from .bdf2 import BDF2
from .choice import NAMES, Automatic, integrator_named
from .implicit_euler import ImplicitEuler
from .integrator import Integrator, Stepper
from .symplectic_euler import SymplecticEuler

__all__ = [
    "BDF2",
    "NAMES",
    "Automatic",
    "ImplicitEuler",
    "Integrator",
    "Stepper",
    "SymplecticEuler",
    "integrator_named",
]
