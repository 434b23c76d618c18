# SPDX-License-Identifier: GPL-3.0-or-later
"""A pass back through a simulation beside the simulation: a monkey of 15 K tets.

It lands and rests in implicit steps; in explicit ones, it falls and turns, pulled out of shape. The
gradient is that of where it ends by Young's modulus, or by its rest shape. Each case after one that
loads the loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

EDGE_LENGTH, HEIGHT = 0.118, 0.06
VISCOSITY_PA_S = 100.0
# Pulled as far as it is, the whole monkey flows in almost every step.
YIELD_STRESS_PA, HARDENING_PA, CREEP_TIME_S = 2e3, 1e4, 0.1


@dataclass(frozen=True)
class Case:
    """A case whose gradients are timed.

    Args:
        is_for_rest: whether the gradient is by that, and not by Young's modulus.
    """

    integrator: str
    frames: int
    is_viscous: bool = False
    is_plastic: bool = False
    is_for_rest: bool = False


CASES = {
    "implicit Euler": Case("ImplicitEuler", 24),
    "BDF2": Case("BDF2", 24),
    "symplectic Euler": Case("SymplecticEuler", 6),
    "midpoint": Case("Midpoint", 1),
    "Runge-Kutta 4": Case("RungeKutta4", 6),
    "by the rest shape": Case("SymplecticEuler", 6, is_for_rest=True),
    "viscous": Case("SymplecticEuler", 6, is_viscous=True),
    "viscous, by the rest shape": Case("SymplecticEuler", 6, is_viscous=True, is_for_rest=True),
    "plastic flow": Case("SymplecticEuler", 2, is_plastic=True),
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {name: partial(_measure, case) for name, case in CASES.items()}


def _measure(case: Case) -> dict[str, Any]:
    import torch

    from supple.core import Ground, Plasticity, Scene, SoftBody, TetMesh, integrators
    from supple.core.adjoint import simulate
    from supple.core.materials import StableNeoHookean

    from .monkey import tetrahedra

    mesh, scheme = tetrahedra(EDGE_LENGTH), getattr(integrators, case.integrator)()
    raised = mesh.vertices + np.array([0.0, 0.0, HEIGHT - mesh.vertices[:, 2].min()])
    is_explicit = isinstance(scheme, integrators.ExplicitIntegrator)
    clay = Plasticity(YIELD_STRESS_PA, HARDENING_PA, CREEP_TIME_S) if case.is_plastic else None

    def run(count: int) -> tuple[float, float, int]:
        young: Any = torch.tensor(1e5, dtype=torch.float64, requires_grad=True)
        rest: Any = raised
        if case.is_for_rest:
            young, rest = 1e5, torch.tensor(raised, requires_grad=True)
        body = SoftBody(
            TetMesh(rest, mesh.tets, mesh.fill),
            StableNeoHookean(young, 0.45),
            velocity=(0.0, 0.0, -1.0),
            viscosity=VISCOSITY_PA_S if case.is_viscous else 0.0,
            plasticity=clay,
            initial_positions=raised * np.array([1.1, 0.95, 1.0]) if is_explicit else None,
        )
        scene = Scene([body], ground=None if is_explicit else Ground())
        frames = simulate(scene, scheme, frames=count)
        forward = sum(frame.report.seconds for frame in frames)
        loss = frames[-1].positions[0].square().mean()
        began = time.perf_counter()
        loss.backward()
        return forward, time.perf_counter() - began, frames[-1].report.substeps

    run(1)
    forward, backward, substeps = run(case.frames)
    return {
        "tets": len(mesh.tets),
        "frames": case.frames,
        "substeps": substeps,
        "forward_seconds": forward,
        "backward_seconds": backward,
        "ratio": backward / forward,
    }
