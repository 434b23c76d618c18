# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit Euler at one step a frame: a monkey falls half a metre and comes to rest.

What a frame takes and how many Newton iterations, converged to 1 mm/s; and where the time goes.
The monkey is a surface, as add-on and scripts take it: the visible mesh meets the ground.
With the settings that nobody changed, friction of the ground among them, and without friction; and
what *Automatic* takes instead. Each case runs in a process of its own.

    python -m benchmarks.implicit_frame CASE    one of them, as JSON
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from .printed import printed

FRAMES = 72
HEIGHT = 0.5
# Edge length in metres, Young's modulus in pascal, Poisson's ratio.
BODIES = {
    "15 K tets": (0.118, 1e5, 0.45),
    "2.5 K tets": (0.232, 1e5, 0.45),
    "15 K tets, E = 1e7 Pa, ν = 0.49": (0.118, 1e7, 0.49),
}
#: Those, and the friction of the ground where it is not the default one.
CASES: dict[str, tuple[float, float, float, float | None]] = {
    **{name: (*body, None) for name, body in BODIES.items()},
    **{f"{name}, no friction": (*body, 0.0) for name, body in BODIES.items()},
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(printed, "implicit_frame", name) for name in CASES}


def _measure(
    edge_length: float, young: float, poisson: float, friction: float | None
) -> dict[str, Any]:
    from supple.core import Ground, Scene, Simulator, SoftBody
    from supple.core.integrators import Automatic, ImplicitEuler
    from supple.core.materials import StableNeoHookean

    from .monkey import surface

    body = SoftBody(surface(edge_length, HEIGHT), StableNeoHookean(young, poisson))
    ground = Ground() if friction is None else Ground(friction=friction)
    scene = Scene([body], ground=ground)

    def simulator() -> Simulator:
        return Simulator(scene, ImplicitEuler(), device="cpu")

    automatic = Simulator(scene, Automatic(), device="cpu")
    # All others take the tets that it was filled with.
    scene = automatic.scene
    # Loads the compiled loops.
    list(Simulator(scene, Automatic(), device="cpu").run(FRAMES))
    chosen = [frame.report for frame in automatic.run(FRAMES)]
    next(simulator().run(1))  # loads the compiled loops
    reports = [frame.report for frame in simulator().run(FRAMES)]
    seconds = [report.seconds for report in reports]
    iterations = [report.solver_statistics.iterations for report in reports]
    with _timed_parts() as parts:
        for _ in simulator().run(FRAMES):
            pass
    return {
        "tets": len(automatic.system.meshes[0].tets),
        "friction": ground.friction,
        "frames": FRAMES,
        "mean_ms": round(1e3 * statistics.mean(seconds), 2),
        "median_ms": round(1e3 * statistics.median(seconds), 2),
        "longest_ms": round(1e3 * max(seconds), 2),
        "newton_iterations": round(statistics.mean(iterations), 2),
        "most_newton_iterations": max(iterations),
        "linear_iterations_a_newton_iteration": round(
            sum(report.solver_statistics.linear_iterations for report in reports) / sum(iterations),
            1,
        ),
        "factorizations": sum(report.solver_statistics.factorizations for report in reports),
        "frames_not_converged": sum(not report.solver_statistics.converged for report in reports),
        "frames_with_more_steps": sum(report.substeps > 1 for report in reports),
        "automatic": {
            "integrator": (most := statistics.mode(report.integrator for report in chosen)),
            "steps_a_frame": statistics.median(
                report.substeps for report in chosen if report.integrator == most
            ),
            "others": sum(report.integrator != most for report in chosen),
            "mean_ms": round(1e3 * statistics.mean(report.seconds for report in chosen), 2),
        },
        "profile_ms_a_frame": {
            name: round(1e3 * total / FRAMES, 2) for name, total in parts.items()
        },
    }


@contextmanager
def _timed_parts() -> Iterator[dict[str, float]]:
    """Seconds spent in the parts of a frame, none of which contains another."""
    from supple.core.assembly.block_matrix import BlockMatrix
    from supple.core.integrators.implicit_stepper import ImplicitStepper
    from supple.core.kernels.elasticity import HessianKernel
    from supple.core.linear_solvers.conjugate_gradients import ConjugateGradients
    from supple.core.minimizers.incremental_potential import IncrementalPotential
    from supple.core.simulator import Simulator

    parts = {
        "Hessians of the tets": (HessianKernel, "blocks"),
        "their sum": (BlockMatrix, "add_elements"),
        "preconditioner": (ConjugateGradients, "prepare"),
        "conjugate gradients": (ConjugateGradients, "solve"),
        "energies": (IncrementalPotential, "energy"),
        "gradients": (IncrementalPotential, "gradient"),
        "report": (Simulator, "frame"),
        "all of the step": (ImplicitStepper, "advance"),
    }
    seconds: dict[str, float] = defaultdict(float)
    originals = {name: getattr(*where) for name, where in parts.items()}
    for name, (owner, method) in parts.items():
        setattr(owner, method, _timed(originals[name], name, seconds))
    yield seconds
    for name, (owner, method) in parts.items():
        setattr(owner, method, originals[name])
    inside = sum(
        value for name, value in seconds.items() if name not in ("report", "all of the step")
    )
    seconds["what is left"] = seconds.pop("all of the step") - inside


def _timed(function: Callable[..., Any], name: str, seconds: dict[str, float]) -> Any:
    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - began

    return timed


if __name__ == "__main__":
    print(json.dumps(_measure(*CASES[sys.argv[1]])))
