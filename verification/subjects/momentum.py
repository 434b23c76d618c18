# SPDX-License-Identifier: GPL-3.0-or-later
"""Momentum and angular momentum of a free body."""

from __future__ import annotations

import numpy as np

from supple.core import Simulator

from .. import wobble
from ..check import Check, Subject, at_least, at_most
from ..expected import Method, methods

STRETCH, FRAMES = 0.2, 24
VELOCITY, SPIN = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
SUBSTEPS = (4, 8)
# Implicit steps are solved to 1e-10 m/s.
ROUNDING = 1e-9
# The slope is that of finite steps: it may be less by so much.
SLOPE = 0.1
DRIFT = "no theory; as measured once, rounded up"


def run() -> Subject:
    return Subject(
        title="Momentum and angular momentum",
        text="A free cube of six tets wobbles, flies and turns for a second. Every scheme keeps "
        "its momentum to rounding, since the forces add up to nothing. Symplectic Euler keeps the "
        "angular momentum about the origin too: x' × v' = (x + h v') × v' = x × v − "
        "h x × M⁻¹∇E(x), and the moments add up to nothing. Implicit steps give each body "
        "the rotation that its angular momentum lacks. The others lose or gain some, which "
        f"must fall at least with their order when the step is halved ({SLOPE:g} less is let pass, "
        "for steps are finite). XPBD's must fall with the first.",
        source="Conservation laws of a free body; the identity above.",
        checks=[check for method in methods() for check in _checks(method)],
    )


def _checks(method: Method) -> list[Check]:
    coarse = _changes(method, method.substeps(SUBSTEPS[0]))
    checks = [at_most(f"{method.label}: change of momentum, share", coarse[0], ROUNDING)]
    what = f"{method.label}: change of angular momentum"
    if method.expected.keeps_spin:
        return [*checks, at_most(f"{what}, share", coarse[1], ROUNDING)]
    if method.expected.kind == "adaptive":
        bound = method.expected.drift[1]
        return [
            *checks,
            at_most(f"{what}, share", coarse[1], bound, from_solver=True, reason=DRIFT),
        ]
    fine = _changes(method, SUBSTEPS[1])
    least = (method.expected.spin_order or method.expected.order) - SLOPE
    return [
        *checks,
        at_least(
            f"{what}, power of the step (share {coarse[1]:.1e} at {SUBSTEPS[0]} steps a frame)",
            float(np.log2(coarse[1] / fine[1])),
            least,
        ),
    ]


def _changes(method: Method, substeps: int | None) -> tuple[float, float]:
    """Return the relative changes of momentum and angular momentum in a second."""
    simulator = wobble.floating(wobble.stretched(STRETCH), method.exact(), substeps=substeps)
    wobble.set_moving(simulator, VELOCITY, SPIN)
    before = _momenta(simulator)
    for _ in simulator.run(FRAMES):
        pass
    after = _momenta(simulator)
    momentum, spin = (
        float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(after, before, strict=True)
    )
    return momentum, spin


def _momenta(simulator: Simulator) -> tuple[wobble.Vectors, wobble.Vectors]:
    positions = simulator.state.positions.numpy().T
    momenta = (simulator.system.mass * simulator.state.velocities).numpy().T
    return momenta.sum(axis=0), np.cross(positions, momenta).sum(axis=0)
