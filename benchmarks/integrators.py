# SPDX-License-Identifier: GPL-3.0-or-later
"""Every integrator on one scene, in its own steps: a monkey of 2.5 K tets falls half a metre.

All else is as nobody changed it; *Automatic* comes last. The ratios are to symplectic Euler in the
same process; ``step_ratio`` compares single steps.
"""

from __future__ import annotations

import statistics
from typing import Any

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import NAMES, integrator_named
from supple.core.materials import StableNeoHookean

from .monkey import surface

EDGE_LENGTH, YOUNG, POISSON = 0.232, 1e5, 0.45
HEIGHT, FRAMES, WARM_UPS = 0.5, 24, 2
# As a gelatine: tan δ = 0.03 at 5 Hz.
STIFFNESS_DAMPING = 1e-3
REFERENCE, AUTOMATIC = "symplectic_euler", "automatic"


def run() -> list[dict[str, Any]]:
    names = [REFERENCE, *(name for name in NAMES if name not in (AUTOMATIC, REFERENCE)), AUTOMATIC]
    rows = [_measure(name, 0.0) for name in names]
    rows += [_measure(name, STIFFNESS_DAMPING) for name in (REFERENCE, "implicit_euler")]
    first = rows[0]
    for row in rows:
        row["ratio"] = round(row["ms_a_frame"] / first["ms_a_frame"], 2)
        steps = row["ms_a_frame"] / row["steps_a_frame"]
        row["step_ratio"] = round(steps / (first["ms_a_frame"] / first["steps_a_frame"]), 2)
    return rows


def _measure(name: str, stiffness_damping: float) -> dict[str, Any]:
    body = SoftBody(
        surface(EDGE_LENGTH, HEIGHT),
        StableNeoHookean(YOUNG, POISSON),
        stiffness_damping=stiffness_damping,
    )
    ground = Ground()
    simulator = Simulator(Scene([body], ground=ground), integrator_named(name), device="cpu")
    # Loops that are not compiled yet are compiled by frames that do not count.
    list(Simulator(simulator.scene, integrator_named(name), device="cpu").run(WARM_UPS))
    reports = [frame.report for frame in simulator.run(FRAMES)]
    return {
        "integrator": NAMES[name],
        "inner_damping_s": stiffness_damping,
        "tets": len(simulator.system.meshes[0].tets),
        "friction": ground.friction,
        "steps_a_frame": round(statistics.mean(report.substeps for report in reports), 1),
        "ms_a_frame": round(1e3 * statistics.mean(report.seconds for report in reports), 2),
    }
