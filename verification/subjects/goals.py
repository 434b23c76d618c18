# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that goals hold as a whole hangs and swings as a damped oscillator."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.core import Channel, Frame, Goals, Scene, Simulator, SoftBody
from supple.core.integrators import BDF2, SDIRK2, Integrator, RungeKutta4, SymplecticEuler
from supple.core.materials import StableNeoHookean

from ..check import Check, Curve, Panel, Subject, near, within
from ..meshes import block

Values = NDArray[np.float64]

FREQUENCY, RATIO, WEIGHTS = 2.0, 0.1, (1.0, 0.25)
GRAVITY, FRAME, FRAMES, EXACT = 9.81, 1.0 / 24.0, 12, 1e-3
METHODS: dict[str, tuple[Integrator, int]] = {
    "Symplectic Euler": (SymplecticEuler(), 400),
    "Runge–Kutta 4": (RungeKutta4(), 8),
    "BDF2": (BDF2(tolerance=1e-7), 40),
    "SDIRK2": (SDIRK2(tolerance=1e-7), 40),
}


def run() -> Subject:
    times = FRAME * np.arange(FRAMES + 1)
    paths = {
        (label, weight): _path(method, substeps, weight)
        for label, (method, substeps) in METHODS.items()
        for weight in WEIGHTS
    }
    checks = [_sag(weight) for weight in WEIGHTS]
    for (label, weight), path in paths.items():
        off = path - _fall(times, weight)
        depth = GRAVITY / _omega(weight) ** 2
        worst = float(off[np.abs(off).argmax()])
        what = f"{label}, weight {weight:g}: farthest from the oscillator in 0.5 s"
        checks.append(near(what, worst, 0.0, EXACT * depth, "m"))
    return Subject(
        title="Goals",
        text=f"A cube of 8 vertices is drawn to where they rest at {FREQUENCY:g} Hz, with a "
        f"damping ratio of {RATIO:g}, by weights of {WEIGHTS[0]:g} and {WEIGHTS[1]:g}. Gravity "
        "pulls it below them by g/wω². Let go there, it swings as a damped oscillator; the "
        f"tolerance is {EXACT:g} of that depth.",
        source="x'' = −g − 2ζ√w ω x' − wω² x, from rest.",
        checks=checks,
        panels=[_panel(times, paths)],
    )


def _omega(weight: float) -> float:
    return 2.0 * math.pi * FREQUENCY * math.sqrt(weight)


def _simulator(weight: float, *settings: object, **more: object) -> Simulator:
    mesh = block((1, 1, 1))
    goals = Goals(np.arange(8), Channel.constant(mesh.vertices), weight, FREQUENCY, RATIO)
    scene = Scene([SoftBody(mesh, StableNeoHookean(1e4, 0.3), goals=goals)])
    return Simulator(scene, *settings, frame_time=FRAME, device="cpu", **more)  # type: ignore[arg-type]


def _height(frame: Frame) -> float:
    return float(frame.positions[0][:, 2].mean()) - 0.5


def _sag(weight: float) -> Check:
    depth = -_height(_simulator(weight).settle())
    expected = GRAVITY / _omega(weight) ** 2
    return within(f"weight {weight:g}: depth at rest", depth, expected, EXACT, "m")


def _path(method: Integrator, substeps: int, weight: float) -> Values:
    frames = _simulator(weight, method, substeps=substeps).run(FRAMES)
    return np.array([0.0, *(_height(frame) for frame in frames)])


def _fall(times: Values, weight: float) -> Values:
    omega = _omega(weight)
    damped, decay = omega * math.sqrt(1.0 - RATIO**2), RATIO * omega
    swing = np.cos(damped * times) + decay / damped * np.sin(damped * times)
    fall: Values = -GRAVITY / omega**2 * (1.0 - np.exp(-decay * times) * swing)
    return fall


def _panel(times: Values, paths: dict[tuple[str, float], Values]) -> Panel:
    curves = [
        Curve(f"{label}, weight {weight:g}", times, path, label, "dots")
        for (label, weight), path in paths.items()
    ]
    fine = np.linspace(0.0, times[-1], 300)
    curves += [
        Curve(f"oscillator, weight {weight:g}", fine, _fall(fine, weight), "closed form", "dashes")
        for weight in WEIGHTS
    ]
    return Panel("let go on its goals", "seconds", "height, m", curves)
