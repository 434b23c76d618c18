# SPDX-License-Identifier: GPL-3.0-or-later
"""Verify the energy of an undamped body over ten seconds."""

from __future__ import annotations

import numpy as np

from supple.core import SoftBody

from .. import wobble
from ..check import Check, Curve, Panel, Subject, at_least, at_most, near
from ..expected import Method, methods

SECONDS, FRAME, SUBSTEPS = 10, 1.0 / 24.0, 2
STEP = FRAME / SUBSTEPS
FRAMES = SECONDS * 24
AMPLITUDE, STRETCH = 0.05, 0.1
# Of the recursion, which is followed to rounding and the implicit solver's tolerance.
EXACT = 1e-7
# A bounded error is as large in the last second as in the first, but for its beat.
BEAT = 1.3
BOUNDED = (
    "theory says that the error is bounded, not where; this is 1.3 times that of the first second"
)
DRIFT = "no theory; as measured once, rounded up"
Energies = wobble.Vectors


def run() -> Subject:
    modes, all_methods = wobble.modes(), list(methods())
    vibrations = {
        method: _energies(wobble.vibrating(modes[0], AMPLITUDE), method)
        for method in all_methods
        if method.expected.linear
    }
    wobbles = {method: _energies(wobble.stretched(STRETCH), method) for method in all_methods}
    checks = []
    for method, energies in vibrations.items():
        checks += _mode_checks(method, energies, modes[0].frequency)
    for method in all_methods:
        checks += _wobble_checks(method, wobbles[method], modes[-1].frequency)
    return Subject(
        title=f"Energy over {SECONDS} seconds",
        text="A free, undamped cube of six tets. *One mode:* linear elasticity, started in its "
        f"slowest mode (ω = {modes[0].frequency:.3g}/s, hω = {STEP * modes[0].frequency:.2g}); the "
        "scheme's recursion for x'' = −ω² x gives the energy at every frame. *A wobble:* "
        f"Stable Neo-Hookean, stretched by {STRETCH:.0%}, so that all modes take part. There "
        "theory says less. Symplectic Euler's error stays bounded. Implicit Euler and BDF2 never "
        "rise above the start. Midpoint gains and Runge–Kutta 4 changes no faster than they do in "
        f"the fastest mode (hω = {STEP * modes[-1].frequency:.2g}). Theory says nothing about "
        "adaptive steps here. Their bounds are their first measured values, rounded up.",
        source="The recursions, stepped in `verification/expected.py`; Hairer, Lubich and Wanner, "
        "“Geometric Numerical Integration”, 2nd edition, chapters I and IX.",
        checks=checks,
        panels=[
            Panel(
                "one mode: dots every half second, lines the recursion",
                "time (s)",
                "energy / start",
                _mode_curves(vibrations, modes[0].frequency),
            ),
            Panel(
                "a wobble",
                "time (s)",
                "energy / start",
                [
                    Curve(method.label, _times(), energies, method.label)
                    for method, energies in wobbles.items()
                ],
            ),
        ],
    )


def _energies(body: SoftBody, method: Method) -> Energies:
    """(frames + 1,) energies over that at the start."""
    substeps = method.substeps(SUBSTEPS)
    simulator = wobble.floating(body, method.exact(), frame_time=FRAME, substeps=substeps)
    start = simulator.frame().report.energies.total
    totals = [start, *(frame.report.energies.total for frame in simulator.run(FRAMES))]
    return np.array(totals) / start


def _times() -> Energies:
    return np.arange(FRAMES + 1) * FRAME


def _recursion(method: Method, frequency: float) -> Energies | None:
    """Return the (frames + 1,) energies that the scheme gives a single mode."""
    if method.expected.oscillation is None:
        return None
    states = method.expected.oscillation(STEP * frequency, FRAMES * SUBSTEPS)
    energies: Energies = (states**2).sum(axis=1)[::SUBSTEPS]
    return energies


def _mode_checks(method: Method, energies: Energies, frequency: float) -> list[Check]:
    what = f"{method.label}, one mode: energy"
    expected = _recursion(method, frequency)
    if expected is None:
        return []
    worst = np.abs(energies - expected).argmax()
    return [
        near(f"{what} after {SECONDS} s", energies[-1], expected[-1], EXACT),
        near(f"{what} where it is farthest off", energies[worst], expected[worst], EXACT),
    ]


def _wobble_checks(method: Method, energies: Energies, fastest: float) -> list[Check]:
    what, change = f"{method.label}, wobble", np.abs(energies - 1.0)
    recursion = _recursion(method, fastest)
    if method.expected.energy == "bounded":
        first, last = change[:24].max(), change[-24:].max()
        claim = f"{what}: error in the last second"
        return [at_most(claim, last, BEAT * first, from_solver=True, reason=BOUNDED)]
    if method.expected.energy == "falls":
        rise = (energies - 1.0).max()
        return [at_most(f"{what}: highest above the start", rise, 1e-9)]
    if recursion is None:
        claim, most = f"{what}: largest change", method.expected.drift[0]
        return [at_most(claim, change.max(), most, from_solver=True, reason=DRIFT)]
    bound = float(np.abs(recursion - 1.0).max())
    if method.expected.energy == "grows":
        return [
            at_least(f"{what}: energy after {SECONDS} s", energies[-1], 1.0),
            at_most(f"{what}: gained after {SECONDS} s", energies[-1] - 1.0, bound),
        ]
    return [at_most(f"{what}: largest change", change.max(), bound)]


def _mode_curves(vibrations: dict[Method, Energies], frequency: float) -> list[Curve]:
    curves = []
    for method, energies in vibrations.items():
        expected = _recursion(method, frequency)
        shown = slice(None, None, 12)
        curves.append(Curve("", _times()[shown], energies[shown], method.label, "dots"))
        if expected is not None:
            curves.append(Curve(method.label, _times(), expected, method.label))
    return curves
