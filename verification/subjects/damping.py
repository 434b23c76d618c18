# SPDX-License-Identifier: GPL-3.0-or-later
"""Velocities and vibrations decay at the rate that was asked for."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from supple.core import Scene, Simulator, SoftBody

from .. import wobble
from ..check import Check, Curve, Panel, Subject, within
from ..expected import Method, methods
from ..meshes import block

RATE, SECONDS, SUBSTEPS = 0.7, 1.0, (1, 10)
# Far slower and far faster than a step of a frame, and after so many frames.
FALL_RATES, FALL_FRAMES = (0.7, 24.0, 100.0), 12
GRAVITY = 9.81
# Of the slowest mode, and over so many of its periods.
RATIO, PERIODS, FRAMES_A_PERIOD, STEPS_A_FRAME = 0.02, 2, 24, 8
#: The field of SoftBody, where this version has one.
FIELD = "stiffness_damping"


def run() -> Subject:
    checks = [check for method in methods() for check in _mass_checks(method)]
    checks += [_fall_check(method, rate) for method in methods() for rate in FALL_RATES]
    offered = FIELD in {f.name for f in fields(SoftBody)}
    damped = [m for m in methods() if m.expected.stiffness_damping] if offered else []
    decays = {method: _decay(method) for method in damped}
    checks += [_stiffness_check(method, *decay) for method, decay in decays.items()]
    return Subject(
        title="Damping",
        text=f"*By mass:* a free body with a damping of {RATE}/s must have e^(−{RATE}) of its "
        "velocity after a second, whatever the step. One that falls must have the speed "
        f"g/α (1 − e^(−αt)) after {FALL_FRAMES} frames: with much damping, the terminal speed g/α."
        + (
            f" *By stiffness:* the slowest mode of a linear cube, with β for a damping ratio of "
            f"{RATIO}, must lose energy. The rate is βω² beyond what the scheme loses without β."
            if offered
            else ""
        ),
        source="v' = g − α v; for x'' = −ω² x − βω² x', the ratio is βω/2.",
        checks=checks,
        panels=[_panel(decays)] if decays else [],
    )


def _mass_checks(method: Method) -> list[Check]:
    checks = []
    counts = SUBSTEPS if method.expected.kind != "adaptive" else (None,)
    for substeps in counts:
        body = SoftBody(block(), damping=RATE, velocity=(1.0, 0.0, 0.0))
        body = replace(body, material=wobble.stretched(0.0).material)
        simulator = wobble.floating(body, method.usual(), substeps=substeps)
        *_, last = simulator.run(round(24 * SECONDS))
        left = float(last.velocities[0][:, 0].mean())
        what = f"{method.label}, {substeps or 'adaptive'} steps a frame: velocity after 1 s"
        share = method.share(1e-9, "decay")
        checks.append(within(what, left, math.exp(-RATE * SECONDS), share, "m/s"))
    return checks


def _fall_check(method: Method, rate: float) -> Check:
    body = replace(wobble.stretched(0.0), damping=rate)
    simulator = Simulator(Scene([body]), method.usual(), device="cpu")
    *_, last = simulator.run(FALL_FRAMES)
    speed = -float(last.velocities[0][:, 2].mean())
    exact = -GRAVITY / rate * math.expm1(-rate * last.time)
    what = f"{method.label}, α = {rate:g}/s: speed after falling for {FALL_FRAMES} frames"
    return within(what, speed, exact, method.share(1e-9, "decay"), "m/s")


def _decay(method: Method) -> tuple[wobble.Vectors, wobble.Vectors, float]:
    """Energies over that at the start, with and without β, and the frequency of the mode."""
    mode = wobble.modes()[0]
    settings: dict[str, Any] = {FIELD: 2.0 * RATIO / mode.frequency}
    body = wobble.vibrating(mode, 0.05)
    damped = _energies(method, replace(body, **settings), mode.frequency)
    return damped, _energies(method, body, mode.frequency), mode.frequency


def _energies(method: Method, body: SoftBody, frequency: float) -> wobble.Vectors:
    frame = 2.0 * math.pi / frequency / FRAMES_A_PERIOD
    substeps = method.substeps(STEPS_A_FRAME)
    simulator = wobble.floating(body, method.exact(), frame_time=frame, substeps=substeps)
    start = simulator.frame().report.energies.total
    frames = simulator.run(PERIODS * FRAMES_A_PERIOD)
    return np.array([start, *(f.report.energies.total for f in frames)]) / start


def _stiffness_check(
    method: Method, damped: wobble.Vectors, free: wobble.Vectors, frequency: float
) -> Check:
    seconds = PERIODS * 2.0 * math.pi / frequency
    ratio = -math.log(damped[-1] / free[-1]) / (2.0 * frequency * seconds)
    return within(
        f"{method.label}: damping ratio by stiffness", ratio, RATIO, method.share(0.03, "damping")
    )


def _panel(decays: dict[Method, tuple[wobble.Vectors, wobble.Vectors, float]]) -> Panel:
    time = np.arange(PERIODS * FRAMES_A_PERIOD + 1) / FRAMES_A_PERIOD
    curves = [
        Curve(method.label, time, damped / free, method.label)
        for method, (damped, free, _) in decays.items()
    ]
    expected = np.exp(-4.0 * math.pi * RATIO * time)
    curves.append(Curve("e^(−βω²t)", time, expected, "closed form", "dashes"))
    return Panel("damping by stiffness", "periods", "energy over that without", curves)
