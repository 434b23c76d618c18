# SPDX-License-Identifier: GPL-3.0-or-later
"""The error of every scheme against its step."""

from __future__ import annotations

import numpy as np

from .. import wobble
from ..check import Check, Curve, Panel, Subject, at_least, near
from ..expected import Method, methods

STRETCH, SECONDS = 0.2, 0.5
STEPS = (32, 64, 128, 256)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
# The slope is that of finite steps: it differs a little from the order.
SLOPE = 0.1
Errors = dict[float, float]


def run() -> Subject:
    exact = wobble.exact_end(wobble.floating(wobble.stretched(STRETCH)), SECONDS)
    found = [method for method in methods() if method.expected.order > 0]
    fixed = [method for method in found if method.expected.kind != "adaptive"]
    adaptive = [method for method in found if method.expected.kind == "adaptive"]
    by_step = {m: {SECONDS / n: _error(m, exact, substeps=n) for n in STEPS} for m in fixed}
    by_tolerance = {m: {t: _error(m, exact, tolerance=t) for t in TOLERANCES} for m in adaptive}
    return Subject(
        title="Order of convergence",
        text=f"A free cube of six tets, stretched by {STRETCH:.0%}, wobbles for {SECONDS} s: how "
        "far is the vertex that is farthest off, for ever shorter steps? The slope of the error in "
        "double logarithms must be the order of the scheme. Adaptive schemes are asked for ever "
        "smaller tolerances instead: their error must fall at least as the tolerance to the power "
        "p/(p + 1). XPBD is left out: shorter steps bring it to the motion of a slightly different "
        "Neo-Hookean energy.",
        source="The same forces integrated by Dormand and Prince's method of order 8 "
        "(`scipy.integrate.solve_ivp`) to 1e-13; Hairer, Nørsett and Wanner, “Solving Ordinary "
        "Differential Equations I”, chapter II.",
        checks=[
            *(_order_check(method, errors) for method, errors in by_step.items()),
            *(_tolerance_check(method, errors) for method, errors in by_tolerance.items()),
        ],
        panels=[
            _panel("dashes: the order", "step (s)", by_step),
            *([_panel("", "tolerance", by_tolerance)] if adaptive else []),
        ],
    )


def _error(
    method: Method,
    exact: wobble.Vectors,
    *,
    substeps: int | None = None,
    tolerance: float | None = None,
) -> float:
    integrator = method.exact() if tolerance is None else method.of_error(tolerance)
    simulator = wobble.floating(
        wobble.stretched(STRETCH), integrator, frame_time=SECONDS, substeps=substeps
    )
    (last,) = simulator.run(1)
    return float(np.abs(last.positions[0].numpy().T - exact).max())


def _slope(errors: Errors) -> float:
    return float(np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0])


def _order_check(method: Method, errors: Errors) -> Check:
    return near(f"{method.label}: order", _slope(errors), method.expected.order, SLOPE)


def _tolerance_check(method: Method, errors: Errors) -> Check:
    order = method.expected.order
    least = order / (order + 1) - SLOPE
    return at_least(f"{method.label}: exponent of the tolerance", _slope(errors), least)


def _panel(title: str, x: str, found: dict[Method, Errors]) -> Panel:
    curves = []
    for method, errors in found.items():
        ways, apart = np.array(list(errors)), np.array(list(errors.values()))
        curves.append(Curve(method.label, ways, apart, method.label, "dotted line"))
        if method.expected.kind != "adaptive":
            line = apart[-1] * (ways / ways[-1]) ** method.expected.order
            curves.append(Curve("", ways, line, method.label, "dashes"))
    return Panel(title, x, "error (m)", curves, "xy")
