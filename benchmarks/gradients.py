# SPDX-License-Identifier: GPL-3.0-or-later
"""A pass back through a simulation beside the simulation: a monkey of 15 K tets.

It lands and rests in implicit steps; in explicit ones, it falls and turns, pulled out of shape. The
gradient is that of where it ends by Young's modulus. Each case after one that loads the loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

EDGE_LENGTH, HEIGHT = 0.118, 0.06
#: Integrator and frames.
CASES = {
    "implicit Euler": ("ImplicitEuler", 24),
    "BDF2": ("BDF2", 24),
    "symplectic Euler": ("SymplecticEuler", 6),
    "midpoint": ("Midpoint", 1),
    "Runge-Kutta 4": ("RungeKutta4", 6),
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(_measure, *case) for name, case in CASES.items()}


def _measure(integrator: str, frames: int) -> dict[str, Any]:
    import torch

    from supple.core import Ground, Scene, SoftBody, TetMesh, integrators
    from supple.core.adjoint import simulate
    from supple.core.materials import StableNeoHookean

    from .monkey import tetrahedra

    mesh, scheme = tetrahedra(EDGE_LENGTH), getattr(integrators, integrator)()
    raised = mesh.vertices + np.array([0.0, 0.0, HEIGHT - mesh.vertices[:, 2].min()])
    is_explicit = isinstance(scheme, integrators.ExplicitIntegrator)

    def run(count: int) -> tuple[float, float, int]:
        young = torch.tensor(1e5, dtype=torch.float64, requires_grad=True)
        body = SoftBody(
            TetMesh(raised, mesh.tets, mesh.fill),
            StableNeoHookean(young, 0.45),
            velocity=(0.0, 0.0, -1.0),
            initial_positions=raised * np.array([1.1, 0.95, 1.0]) if is_explicit else None,
        )
        scene = Scene([body], ground=None if is_explicit else Ground())
        found = simulate(scene, scheme, frames=count)
        forward = sum(frame.report.seconds for frame in found)
        loss = found[-1].positions[0].square().mean()
        began = time.perf_counter()
        loss.backward()
        return forward, time.perf_counter() - began, found[-1].report.substeps

    run(1)
    forward, backward, substeps = run(frames)
    return {
        "tets": len(mesh.tets),
        "frames": frames,
        "substeps": substeps,
        "forward_seconds": forward,
        "backward_seconds": backward,
        "ratio": backward / forward,
    }
