# SPDX-License-Identifier: GPL-3.0-or-later
"""Expectations from theory for each material and each integrator. Whoever adds one, adds a line
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from supple.core.integrators import NAMES, Integrator, integrator_named
from supple.core.materials import MODEL_TABLE, MODELS, Material

#: (n + 1, 2) position and velocity over ω, from rest at 1, over n steps of hω = z.
Oscillation = Callable[[float, int], NDArray[np.float64]]
# The integrators of which none is a method of its own.
CHOICES = ("automatic",)


@dataclass(frozen=True, eq=False)
class Expectation:
    """The theory of an integrator.

    Args:
        kind: ``explicit`` and ``implicit`` ones take the substeps they are told, ``adaptive`` ones
            choose them by the error.
        order: of the global error in the step; 0 for one that goes to the motion of another energy.
        linear: whether it simulates the linear model.
        oscillation: what the scheme makes of x'' = −ω² x; None where it cannot be written down.
        fall: (h, n) → how much farther than t²/2 a body falls in n steps at an acceleration of 1.
        energy: of an undamped wobble: ``bounded``, ``falls``, ``grows`` or ``kept``.
        keeps_spin: whether angular momentum is kept to rounding.
        exactly: settings with which every step is solved to rounding.
        error_setting: of an adaptive one, the name of its tolerance.
        drift: of an adaptive one, the shares of energy and of spin that may go in a wobble. No
            theory says how much: it is what was measured once, rounded up.
        fall_error: of an adaptive one, (tolerance, t, g) → how far off t²/2 g it may fall.
        spin_order: of the change of angular momentum in the step, where it is not ``order``.
        extra_tolerance: by subject, the share that a figure may be off beyond what others may.
        ground: the responses of the ground that it can step.
        creep: of a body that friction holds, in its diagonals a second.
        recovers_from: inverted starts, ``random`` and ``mirrored``, that a body comes back from.
        stiffness_damping: whether it damps bodies by their stiffness, where they can ask for it.
    """

    kind: Literal["explicit", "implicit", "adaptive"]
    order: int
    energy: Literal["bounded", "falls", "grows", "kept"]
    oscillation: Oscillation | None = None
    fall: Callable[[float, int], float] = lambda h, n: 0.0
    keeps_spin: bool = False
    exactly: Mapping[str, Any] = field(default_factory=dict)
    error_setting: str = "tolerance"
    drift: tuple[float, float] = (0.0, 0.0)
    fall_error: Callable[[float, float, float], float] = lambda tolerance, t, g: 0.0
    spin_order: int | None = None
    extra_tolerance: Mapping[str, float] = field(default_factory=dict)
    ground: tuple[str, ...] = ("barrier", "projection")
    creep: float = 1e-9
    recovers_from: tuple[str, ...] = ("random", "mirrored")
    stiffness_damping: bool = True
    linear: bool = True


@dataclass(frozen=True, eq=False)
class Method:
    """An integrator and what is expected of it."""

    name: str
    label: str
    expected: Expectation

    def usual(self) -> Integrator:
        """As a user gets it."""
        return integrator_named(self.name)

    def exact(self) -> Integrator:
        """With every step solved to rounding, so that only the scheme's own error is left."""
        return replace(self.usual(), **self.expected.exactly)  # type: ignore[type-var]

    def with_tolerance(self, tolerance: float) -> Integrator:
        """An adaptive one with another tolerance."""
        setting = {self.expected.error_setting: tolerance}
        return replace(self.usual(), **setting)  # type: ignore[type-var]

    def share(self, strict: float, subject: str) -> float:
        """Return the allowed relative error of a figure."""
        return max(strict, self.expected.extra_tolerance.get(subject, 0.0))

    def fall_error(self, seconds: float, gravity: float) -> float:
        """Return the allowed distance from the parabola of a fall, in metres."""
        tolerance = getattr(self.usual(), self.expected.error_setting, 0.0)
        return self.expected.fall_error(tolerance, seconds, gravity)

    def substeps(self, count: int | None) -> int | None:
        """A number of substeps, for those that can be told one."""
        return None if self.expected.kind == "adaptive" else count


def methods(names: Mapping[str, str] = NAMES) -> Iterator[Method]:
    """Every integrator that is a method of its own.

    Raises:
        LookupError: when one has been added and nothing is expected of it.
    """
    for name, label in names.items():
        if name in CHOICES:
            continue
        if name not in INTEGRATORS:
            raise LookupError(
                f"verification/expected.py expects nothing of the integrator {name!r}; add its "
                "order and what it keeps."
            )
        yield Method(name, label, INTEGRATORS[name])


def _one_step(matrix: Callable[[float], Any]) -> Oscillation:
    def oscillate(z: float, n: int) -> NDArray[np.float64]:
        step, states = np.array(matrix(z)), [np.array([1.0, 0.0])]
        for _ in range(n):
            states.append(step @ states[-1])
        return np.array(states)

    return oscillate


def _runge_kutta(order: int) -> Oscillation:
    """Return the oscillation of an explicit method with as many stages as its order: the
    exponential series, cut off.
    """
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])

    def matrix(z: float) -> NDArray[np.float64]:
        powers = (np.linalg.matrix_power(z * turn, k) / math.factorial(k) for k in range(order + 1))
        return np.sum(list(powers), axis=0)

    return _one_step(matrix)


_implicit_euler = _one_step(
    lambda z: np.array([[1.0, z], [-z, 1.0]]) / (1.0 + z * z),
)


def _sdirk2_step(z: float) -> NDArray[np.float64]:
    """(1 + (1 − 2γ) zA)(1 − γzA)⁻², γ = 1 − 1/√2."""
    gamma = 1.0 - math.sqrt(0.5)
    turn, one = z * np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(2)
    solve = np.linalg.inv(one - gamma * turn)
    return np.asarray((one + (1.0 - 2.0 * gamma) * turn) @ solve @ solve)


_sdirk2 = _one_step(_sdirk2_step)


def _bdf2(z: float, n: int) -> NDArray[np.float64]:
    """3 y' − 4 y + y₋₁ = 2 z A y', after a first step of implicit Euler."""
    states = list(_implicit_euler(z, 1))
    solve = np.linalg.inv(3.0 * np.eye(2) - 2.0 * z * np.array([[0.0, 1.0], [-1.0, 0.0]]))
    for _ in range(n - 1):
        states.append(solve @ (4.0 * states[-1] - states[-2]))
    return np.array(states)


def _euler_fall(h: float, n: int) -> float:
    """h² n (n + 1)/2 in all."""
    return 0.5 * h * h * n


def _adaptive_euler_fall(tolerance: float, t: float, g: float) -> float:
    """A step h and its halves end g h²/4 apart, which is also how far the halves fall too far. So
    h ≤ 2 √(tolerance/g), and t/h steps add up to this at most."""
    return 0.5 * t * math.sqrt(tolerance * g)


#: By the names of ``supple.core.integrators.NAMES``.
INTEGRATORS = {
    "symplectic_euler": Expectation(
        "explicit",
        1,
        "bounded",
        _one_step(lambda z: [[1.0 - z * z, z], [-z, 1.0]]),
        _euler_fall,
        keeps_spin=True,
    ),
    "midpoint": Expectation("explicit", 2, "grows", _runge_kutta(2)),
    "runge_kutta4": Expectation("explicit", 4, "kept", _runge_kutta(4)),
    "implicit_euler": Expectation(
        "implicit",
        1,
        "falls",
        _implicit_euler,
        _euler_fall,
        exactly={"tolerance": 1e-10},
        ground=("barrier",),
        creep=1e-4,
        keeps_spin=True,
    ),
    # Its first step, of implicit Euler, falls h²/2 too far; e' = (4 e − e₋₁)/3 passes that on.
    "bdf2": Expectation(
        "implicit",
        2,
        "falls",
        _bdf2,
        lambda h, n: 0.75 * h * h * (1.0 - 3.0**-n),
        exactly={"tolerance": 1e-10},
        ground=("barrier",),
        creep=1e-4,
        keeps_spin=True,
    ),
    "sdirk2": Expectation(
        "implicit",
        2,
        "falls",
        _sdirk2,
        exactly={"tolerance": 1e-10},
        ground=("barrier",),
        creep=1e-4,
        keeps_spin=True,
        # It decays by its stability function, not by the exponential.
        extra_tolerance={"decay": 1e-4},
    ),
    "adaptive_symplectic_euler": Expectation(
        "adaptive",
        1,
        "kept",
        keeps_spin=True,
        drift=(0.2, 0.0),
        fall_error=_adaptive_euler_fall,
        extra_tolerance={"damping": 0.04},
    ),
    # At rest its steps grow until one is off by the tolerance, which shows.
    "adaptive_midpoint": Expectation(
        "adaptive", 2, "kept", drift=(0.02, 1e-5), extra_tolerance={"rest": 0.01}
    ),
    "adaptive_runge_kutta4": Expectation("adaptive", 4, "kept", drift=(1e-3, 1e-5)),
    # Its Neo-Hookean energy has no logarithm, and its multipliers start from zero in every step.
    "xpbd": Expectation(
        "explicit",
        0,
        "falls",
        fall=_euler_fall,
        spin_order=1,
        stiffness_damping=False,
        linear=False,
    ),
}


@dataclass(frozen=True, eq=False)
class Range:
    """The range of a material.

    Args:
        stretches: (ν → shortest, longest) between which a bar pulled along its axis has one stable
            equilibrium.
        turns_freely: whether a rotation costs no energy.
        recovers: whether a body comes back from any inverted start.
        refused: whether implicit steps refuse a body that starts inside out.
    """

    stretches: Callable[[float], tuple[float, float]] = lambda poisson: (0.5, 3.0)
    turns_freely: bool = True
    recovers: bool = False
    refused: bool = False


#: By the names of ``supple.core.materials.MODELS``.
MATERIALS = {
    "stable_neo_hookean": Range(recovers=True),
    "neo_hookean": Range(refused=True),
    "corotated_linear": Range(),
    # Gives way below 1/√3, and its sides meet where s² = 1 + 1/ν.
    "st_venant_kirchhoff": Range(lambda poisson: (0.7, 0.9 * math.sqrt(1.0 + 1.0 / poisson))),
    "as_rigid_as_possible": Range(),
    "linear": Range(turns_freely=False),
}


@dataclass(frozen=True, eq=False)
class Model:
    """A material and what is expected of it."""

    name: str
    kind: type[Material]
    expected: Range

    @property
    def label(self) -> str:
        return MODEL_TABLE[self.name].label


def models(kinds: Mapping[str, type[Material]] = MODELS) -> Iterator[Model]:
    """Every material.

    Raises:
        LookupError: when one has been added and nothing is expected of it.
    """
    for name, kind in kinds.items():
        if name not in MATERIALS:
            raise LookupError(
                f"verification/expected.py expects nothing of the material {name!r}; add the "
                "stretches that it is made for."
            )
        yield Model(name, kind, MATERIALS[name])
