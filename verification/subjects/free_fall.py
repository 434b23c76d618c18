# SPDX-License-Identifier: GPL-3.0-or-later
"""Every scheme falls as its own recursion says."""

from __future__ import annotations

import numpy as np

from supple.core import Scene, Simulator, SoftBody
from supple.core.materials import StableNeoHookean

from ..check import Check, Subject, at_most, near
from ..expected import Method, methods
from ..meshes import block

GRAVITY, FRAMES, SUBSTEPS = 9.81, 24, 7
FRAME = 1.0 / 24.0
VELOCITY = (1.0, 0.0, 2.0)
# In metres: rounding, and what implicit steps are solved to.
EXACT = 1e-9


def run() -> Subject:
    return Subject(
        title="Free fall",
        text=f"A body is thrown and falls for {FRAMES} frames, {SUBSTEPS} steps each. Every vertex "
        "must lie where the scheme's own recursion puts it. Euler schemes fall g h² n (n + 1)/2, "
        "BDF2 g t²/2 and what its first step adds, Runge–Kutta schemes the parabola. The steps of "
        "adaptive symplectic Euler are at most 2 √(tolerance/g) long, and each falls g h²/4 too "
        "far: ½ t √(tolerance × g) in all.",
        source="The recursions, summed (`verification/expected.py`).",
        checks=[_check(method) for method in methods()],
    )


def _check(method: Method) -> Check:
    mesh = block()
    body = SoftBody(mesh, StableNeoHookean(1e3, 0.3), velocity=VELOCITY)
    scene = Scene([body], gravity=(0.0, 0.0, -GRAVITY))
    substeps = method.substeps(SUBSTEPS)
    *_, last = Simulator(
        scene, method.exact(), frame_time=FRAME, substeps=substeps, device="cpu"
    ).run(FRAMES)
    moved = last.positions[0].numpy() - mesh.vertices
    fallen = VELOCITY[2] * last.time - moved[:, 2].mean()
    spread = np.ptp(moved, axis=0).max()
    if substeps is None:
        bound = method.fall_error(last.time, GRAVITY) + EXACT
        off = abs(fallen - 0.5 * GRAVITY * last.time**2) + spread
        return at_most(f"{method.label}: off the parabola", off, bound, "m")
    steps, h = FRAMES * substeps, FRAME / substeps
    expected = GRAVITY * (0.5 * last.time**2 + method.expected.fall(h, steps))
    # What one vertex falls more than another counts as error too.
    return near(f"{method.label}: fall in {last.time:g} s", fallen + spread, expected, EXACT, "m")
