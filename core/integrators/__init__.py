# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways of stepping a system through time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import SceneError
from ..scene.integrator_table import INTEGRATORS
from .adaptive import Adaptive
from .automatic import Automatic
from .explicit_integrators import ExplicitIntegrator, Midpoint, RungeKutta4, SymplecticEuler
from .explicit_stepper import FixedStepIntegrator
from .implicit_integrators import BDF2, SDIRK2, ImplicitEuler
from .integrator import Integrator, TimeStepper
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

#: The name of each integrator in the interface.
NAMES = {name: row.label for name, row in INTEGRATORS.items()}


def integrator_named(name: str, tolerance: float = Adaptive.tolerance) -> Integrator:
    """Return the integrator of one of the ``NAMES``; adaptive ones get a tolerance in metres.

    Raises:
        SceneError: when there is none of that name.
    """
    if name not in INTEGRATORS:
        raise SceneError(f"The integrator must be one of {', '.join(NAMES)}, not {name!r}.")
    row = INTEGRATORS[name]
    module, kind = row.where.split(".")
    integrator: Any = getattr(import_module(f".{module}", __package__), kind)()
    return Adaptive(integrator, tolerance) if row.is_adaptive else integrator
