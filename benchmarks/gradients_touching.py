# SPDX-License-Identifier: GPL-3.0-or-later
"""A pass back through explicit steps beside the steps, where bodies touch something.

A monkey of 15 K tets lands on the ground, which meets its vertices or the points of the surface
that is seen; or a corner of a slab presses on another. The gradient is that of where the first
ends by Young's modulus. Each case after one that loads the loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from supple.core import Contact, ContactSurface, Ground, Scene, SoftBody, TetMesh
from supple.core.geometry.embedding import embed
from supple.core.materials import StableNeoHookean

from .gradients import EDGE_LENGTH
from .monkey import tetrahedra, triangles

FRAME_TIME = 1.0 / 24.0
YOUNG_PA, POISSON = 1e5, 0.45
ABOVE_GROUND, LANDING_M_PER_S = 0.002, 1.0
CELLS, SIZES = (16, 16, 4), (0.2, 0.2, 0.05)
CONTACT_DISTANCE, CLOSING_M_PER_S = 0.004, 0.3
# How much of a slab lies beside the other, of its width: some 280 pairs of what overlaps touch.
ASIDE_RATIO = 0.75
#: Integrators, frames of what lands, and seconds of what presses.
SCHEMES = {
    "symplectic Euler": ("SymplecticEuler", 6, 1.0 / 240.0),
    "midpoint": ("Midpoint", 1, 1.0 / 960.0),
}


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    cases: dict[str, Callable[[], dict[str, Any]]] = {}
    for name, (integrator, frames, seconds) in SCHEMES.items():
        landing, pressing = (integrator, frames, FRAME_TIME), (integrator, 1, seconds)
        cases[f"ground, {name}"] = partial(_measure, *landing, _on_vertices)
        cases[f"ground under a seen surface, {name}"] = partial(_measure, *landing, _on_points)
        cases[f"contact, {name}"] = partial(_measure, *pressing, _pressing)
    return cases


def _on_vertices(young: Any) -> Scene:
    mesh = tetrahedra(EDGE_LENGTH)
    lowest = float(mesh.vertices[:, 2].min())
    return Scene([_landing(mesh, young, lowest)], Ground())


def _on_points(young: Any) -> Scene:
    mesh, (points, corners) = tetrahedra(EDGE_LENGTH), triangles()
    lowest = float(points[:, 2].min())
    raised = points + np.array([0.0, 0.0, ABOVE_GROUND - lowest])
    seen = ContactSurface(raised, corners, embed(mesh, points))
    return Scene([_landing(mesh, young, lowest, seen_surface=seen)], Ground())


def _landing(mesh: TetMesh, young: Any, lowest: float, **members: Any) -> SoftBody:
    raised = mesh.vertices + np.array([0.0, 0.0, ABOVE_GROUND - lowest])
    return SoftBody(
        TetMesh(raised, mesh.tets, mesh.fill),
        StableNeoHookean(young, POISSON),
        velocity=(0.1, 0.0, -LANDING_M_PER_S),
        **members,
    )


def _pressing(young: Any) -> Scene:
    from supple.verification.meshes import block

    lower = block(CELLS, SIZES)
    aside = ASIDE_RATIO * SIZES[0]
    upper = block(CELLS, SIZES, (aside + 0.003, aside + 0.002, SIZES[2] + 0.95 * CONTACT_DISTANCE))
    bodies = [
        SoftBody(upper, StableNeoHookean(young, POISSON), velocity=(0.0, 0.0, -CLOSING_M_PER_S)),
        SoftBody(lower, StableNeoHookean(YOUNG_PA, POISSON)),
    ]
    return Scene(bodies, contact=Contact(distance=CONTACT_DISTANCE), gravity=(0.0, 0.0, 0.0))


def _measure(
    integrator: str, frames: int, frame_time: float, scene: Callable[[Any], Scene]
) -> dict[str, Any]:
    import torch

    from supple.core import integrators
    from supple.core.adjoint import simulate

    def run(count: int) -> dict[str, Any]:
        young = torch.tensor(YOUNG_PA, dtype=torch.float64, requires_grad=True)
        scheme = getattr(integrators, integrator)()
        case = scene(young)
        frames = simulate(case, scheme, frames=count, frame_time=frame_time)
        forward = sum(frame.report.seconds for frame in frames)
        loss = frames[-1].positions[0].square().mean()
        began = time.perf_counter()
        loss.backward()
        backward, last = time.perf_counter() - began, frames[-1].report
        statistics = last.solver_statistics if case.contact is not None else None
        return {
            "frames": count,
            "substeps": last.substeps,
            "contacts": None if statistics is None else statistics.contacts,
            "forward_seconds": forward,
            "backward_seconds": backward,
            "ratio": backward / forward,
        }

    run(1)
    return run(frames)
