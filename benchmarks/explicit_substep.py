# SPDX-License-Identifier: GPL-3.0-or-later
"""One explicit substep of a falling monkey, beside torch-diffsim on the same mesh.

Both integrate the same stable Neo-Hookean body by symplectic Euler with a ground in reach of the
solver but not of the body; the largest difference of their positions shows that it is the same.
"""

from __future__ import annotations

from typing import Any

import diffsim
import torch
from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.materials import StableNeoHookean

from .monkey import tetrahedra
from .timing import in_turns

SUBSTEPS = 40
STEP = 1e-4
EDGE_LENGTHS = {"4 K": 0.1865, "15 K": 0.117, "50 K": 0.0775}
HEIGHT = 10.0


def run() -> list[dict[str, Any]]:
    return [
        _compare(name, edge, dtype)
        for name, edge in EDGE_LENGTHS.items()
        for dtype in (torch.float32, torch.float64)
    ]


def _compare(name: str, edge_length: float, dtype: torch.dtype) -> dict[str, Any]:
    mesh = tetrahedra(edge_length)
    mesh = TetMesh(mesh.vertices + [0.0, HEIGHT, HEIGHT], mesh.tets)
    # Not at rest, so that all forces are at work.
    start = torch.as_tensor(mesh.vertices) * torch.tensor([1.02, 1.0, 0.99], dtype=torch.float64)
    ours, theirs = _supple(mesh, start, dtype), _diffsim(mesh, start, dtype)
    difference = float((ours() - theirs()).abs().max())
    seconds = in_turns({"supple": ours, "torch-diffsim": theirs}, rounds=15)
    return {
        "tets": len(mesh.tets),
        "vertices": len(mesh.vertices),
        "precision": str(dtype).removeprefix("torch."),
        "supple_ms": round(1e3 * seconds["supple"] / SUBSTEPS, 4),
        "torch_diffsim_ms": round(1e3 * seconds["torch-diffsim"] / SUBSTEPS, 4),
        "ratio": round(seconds["torch-diffsim"] / seconds["supple"], 2),
        "largest_difference_m": difference,
    }


def _supple(mesh: TetMesh, start: torch.Tensor, dtype: torch.dtype) -> Any:
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.45), initial_positions=start.numpy())
    scene = Scene([body], ground=Ground(response="projection"), gravity=(0.0, -9.8, 0.0))
    simulator = Simulator(
        scene, frame_time=SUBSTEPS * STEP, substeps=SUBSTEPS, device="cpu", dtype=dtype
    )
    state = simulator.state

    def frame() -> torch.Tensor:
        after = simulator.integrator.advance(simulator.system, state, SUBSTEPS * STEP, adapt=False)
        return after.positions.T

    return frame


def _diffsim(mesh: TetMesh, start: torch.Tensor, dtype: torch.dtype) -> Any:
    peer = diffsim.TetrahedralMesh(
        torch.as_tensor(mesh.vertices).to(dtype), torch.as_tensor(mesh.tets).long()
    )
    material = diffsim.StableNeoHookean(1e5, 0.45)
    solver = diffsim.SemiImplicitSolver(
        dt=SUBSTEPS * STEP, gravity=-9.8, damping=1.0, substeps=SUBSTEPS
    )
    mass = torch.as_tensor(mesh.lumped_mass(1000.0)).to(dtype)
    positions = start.to(dtype)
    velocities = torch.zeros_like(positions)

    def frame() -> torch.Tensor:
        return solver.step(peer, material, positions, velocities, mass)[0]

    return frame
