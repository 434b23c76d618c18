# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrators by name, and the one that chooses for the user."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import InstabilityError, SceneError
from ..state import State
from ..system import System
from .adaptive import Adaptive
from .bdf2 import BDF2
from .explicit_scheme import ExplicitScheme
from .implicit_euler import ImplicitEuler
from .implicit_stepper import ImplicitStepper
from .integrator import Integrator, Stepper
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

# Seconds of an explicit step, and of an implicit frame: fixed cost, and cost a tet. Measured on two
# cores by ``python3 dev.py bench implicit_frame time_against_tets``; only their ratio counts.
EXPLICIT_STEP = (5e-5, 1.3e-8)
IMPLICIT_FRAME = (5e-3, 3e-6)
# So much longer a frame may take that keeps its wobble.
WORTH = 2.0


@dataclass(frozen=True)
class Automatic(Integrator):
    """Symplectic Euler where its many steps take no longer than ``WORTH`` implicit ones, as they do
    for soft and coarse bodies; implicit Euler elsewhere, and from the first frame on that explicit
    steps do not manage.

    At one step a frame, implicit Euler takes most of the energy out of a bounce.
    """

    def stepper(self, system: System, frame_time: float, substeps: int | None) -> Stepper:
        if system.scene.couples_bodies:
            return ImplicitEuler().stepper(system, frame_time, substeps)
        if system.obstacles.need_explicit_steps:
            return SymplecticEuler().stepper(system, frame_time, substeps)
        try:
            explicit = SymplecticEuler().stepper(system, frame_time, substeps)
        except InstabilityError:
            return ImplicitEuler().stepper(system, frame_time, substeps)
        if substeps is not None:
            return explicit
        if self._is_quicker(system, explicit.substeps):
            return _AutomaticStepper(explicit, system, frame_time)
        return ImplicitEuler().stepper(system, frame_time, substeps)

    def _is_quicker(self, system: System, substeps: int) -> bool:
        tets = sum(len(mesh.tets) for mesh in system.meshes)
        step, frame = (fixed + each * tets for fixed, each in (EXPLICIT_STEP, IMPLICIT_FRAME))
        return substeps * step <= WORTH * frame


class _AutomaticStepper(Stepper):
    """Explicit steps until a frame has no use for them, and implicit ones from there on."""

    def __init__(self, explicit: Stepper, system: System, frame_time: float) -> None:
        super().__init__(explicit.substeps, adapts=True)
        self._current, self._system, self._frame_time = explicit, system, frame_time

    @property
    def label(self) -> str:  # type: ignore[override]
        return self._current.label

    @property
    def most_work(self) -> str:
        return self._current.most_work

    def advance(self, state: State) -> State:
        if not state.gave_up:
            try:
                return self._current.advance(state)
            except InstabilityError as error:
                return self._advance_implicitly(replace(state, gave_up=True), error)
        return self._advance_implicitly(state, None)

    def _advance_implicitly(self, state: State, error: InstabilityError | None) -> State:
        if not isinstance(self._current, ImplicitStepper):
            self._current = ImplicitEuler().stepper(self._system, self._frame_time, None)
        try:
            return self._current.advance(state)
        except SceneError:
            # Where tets are inside out, the Neo-Hookean model knows explicit steps alone.
            if error is None:
                raise
            raise error from None


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
