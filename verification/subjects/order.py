# SPDX-License-Identifier: GPL-3.0-or-later
"""The error of every scheme against its step."""

from __future__ import annotations

import numpy as np

from .. import wobble
from ..check import Check, Curve, Panel, Subject, within
from ..expected import Method, methods

STRETCH, SECONDS = 0.2, 0.5
STEPS = (64, 128, 256, 512)
# Steps are whole parts of what is left of a frame, so that single errors jump.
TOLERANCES = tuple(float(t) for t in np.logspace(-4.0, -7.0, 13))
# As a share: the slope is that of finite steps, and differs a little from the order.
SLOPE = 0.05
Errors = dict[float, float]


def run() -> Subject:
    exact = wobble.exact_end(wobble.stretched(STRETCH), SECONDS)
    with_order = [method for method in methods() if method.expected.order > 0]
    fixed = [method for method in with_order if method.expected.kind != "adaptive"]
    adaptive = [method for method in with_order if method.expected.kind == "adaptive"]
    step_errors = {m: {SECONDS / n: _error(m, exact, substeps=n) for n in STEPS} for m in fixed}
    tolerance_errors = {m: {t: _error(m, exact, tolerance=t) for t in TOLERANCES} for m in adaptive}
    return Subject(
        title="Order of convergence",
        text=f"A free cube of six tets, stretched by {STRETCH:.0%}, wobbles for {SECONDS} s. The "
        "error is that of the worst vertex, for shorter and shorter steps. The slope of the error "
        "in double logarithms must be the order of the scheme. Adaptive schemes are asked for "
        f"{len(TOLERANCES)} ever smaller tolerances instead, from {TOLERANCES[0]:g} to "
        f"{TOLERANCES[-1]:g} m: each bounds the error of a step, which goes with its power p + 1. "
        "The error at the end must fall as the tolerance to the power p/(p + 1). XPBD is "
        "left out: shorter steps lead it to the motion of a different Neo-Hookean energy.",
        source="The forces of `verification/laws.py`, which shares no code with the solver, "
        "integrated by Dormand and Prince's method of order 8 (`scipy.integrate.solve_ivp`) to "
        "1e-13. Hairer, Nørsett and Wanner, “Solving Ordinary Differential Equations I”, "
        "chapter II.",
        checks=[
            *(_order_check(method, errors) for method, errors in step_errors.items()),
            *(_tolerance_check(method, errors) for method, errors in tolerance_errors.items()),
        ],
        panels=[
            _panel("dashes: the order", "step (s)", step_errors),
            *([_panel("", "tolerance", tolerance_errors)] if adaptive else []),
        ],
    )


def _error(
    method: Method,
    exact: wobble.Vectors,
    *,
    substeps: int | None = None,
    tolerance: float | None = None,
) -> float:
    integrator = method.exact() if tolerance is None else method.with_tolerance(tolerance)
    simulator = wobble.floating(
        wobble.stretched(STRETCH), integrator, frame_time=SECONDS, substeps=substeps
    )
    (last,) = simulator.run(1)
    return float(np.abs(last.positions[0].numpy() - exact).max())


def _slope(errors: Errors) -> float:
    return float(np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0])


def _order_check(method: Method, errors: Errors) -> Check:
    return within(f"{method.label}: order", _slope(errors), method.expected.order, SLOPE)


def _tolerance_check(method: Method, errors: Errors) -> Check:
    order = method.expected.order
    what = f"{method.label}: exponent of the tolerance"
    return within(what, _slope(errors), order / (order + 1), SLOPE)


def _panel(title: str, x: str, method_errors: dict[Method, Errors]) -> Panel:
    curves = []
    for method, errors in method_errors.items():
        ways, apart = np.array(list(errors)), np.array(list(errors.values()))
        curves.append(Curve(method.label, ways, apart, method.label, "dotted line"))
        if method.expected.kind != "adaptive":
            line = apart[-1] * (ways / ways[-1]) ** method.expected.order
            curves.append(Curve("", ways, line, method.label, "dashes"))
    return Panel(title, x, "error (m)", curves, "xy")
