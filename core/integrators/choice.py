# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrators by name."""

from __future__ import annotations

from ..errors import SceneError
from .adaptive import Adaptive
from .automatic import Automatic
from .bdf2 import BDF2
from .explicit_scheme import ExplicitScheme
from .implicit_euler import ImplicitEuler
from .integrator import Integrator
from .runge_kutta import Midpoint, RungeKutta4
from .symplectic_euler import SymplecticEuler
from .xpbd import XPBD

_EXPLICIT: dict[str, type[ExplicitScheme]] = {
    "symplectic_euler": SymplecticEuler,
    "midpoint": Midpoint,
    "runge_kutta4": RungeKutta4,
}

#: What a user calls each integrator.
NAMES = {
    "automatic": "Automatic",
    "implicit_euler": "Implicit Euler",
    "bdf2": "BDF2",
    **{name: scheme.label for name, scheme in _EXPLICIT.items()},
    **{f"adaptive_{name}": Adaptive(scheme()).label for name, scheme in _EXPLICIT.items()},
    "xpbd": XPBD.label,
}


def integrator_named(name: str, tolerance: float = Adaptive.tolerance) -> Integrator:
    """One of ``NAMES``, adaptive ones with a tolerance in metres.

    Raises:
        SceneError: when there is none of that name.
    """
    whole: dict[str, type[Integrator]] = {
        "automatic": Automatic,
        "implicit_euler": ImplicitEuler,
        "bdf2": BDF2,
        **_EXPLICIT,
        "xpbd": XPBD,
    }
    if name in whole:
        return whole[name]()
    scheme = _EXPLICIT.get(name.removeprefix("adaptive_"))
    if scheme is None:
        raise SceneError(f"The integrator must be one of {', '.join(NAMES)}, not {name!r}.")
    return Adaptive(scheme(), tolerance)
