# SPDX-License-Identifier: GPL-3.0-or-later
"""One explicit substep of a falling monkey, beside torch-diffsim on the same mesh.

Both integrate the same stable Neo-Hookean body by symplectic Euler, with a ground in reach of the
solver but not of the body; the largest difference of their positions shows that it is the same.
Each runs in processes of its own, so that neither's threads stand in the other's way, in turns.
Supple's torch passes, which CUDA takes, show what the compiled loop is for.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .printed import printed

SUBSTEPS = 40
STEP = 1e-4
ROUNDS = 12
TURNS = 3
EDGE_LENGTHS = {"4 K": 0.1865, "15 K": 0.118, "50 K": 0.0785}
HEIGHT = 10.0


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Benchmarks by mesh."""
    return {f"{name} tets": partial(_compare, edge) for name, edge in EDGE_LENGTHS.items()}


def _compare(edge_length: float) -> dict[str, Any]:
    from .monkey import full_tetrahedra

    mesh = full_tetrahedra(edge_length)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.npz"
        np.savez(path, vertices=mesh.vertices + np.array([0.0, HEIGHT, HEIGHT]), tets=mesh.tets)
        seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(TURNS):
            for name, measured in seconds.items():
                measured.append(printed("explicit_substep", name, path))
        ends = [np.load(path.with_suffix(f".{name}.npy")) for name in CONTENDERS]
    ours, passes, theirs = (
        1e3 * statistics.median(seconds[name]) / SUBSTEPS for name in CONTENDERS
    )
    return {
        "tets": len(mesh.tets),
        "vertices": len(mesh.vertices),
        "supple_ms": round(ours, 4),
        "supple_torch_passes_ms": round(passes, 4),
        "torch_diffsim_ms": round(theirs, 4),
        "ratio": round(theirs / ours, 1),
        "largest_difference_m": float(np.abs(ends[0] - ends[-1]).max()),
    }


def _measure(name: str, path: Path) -> None:
    """Prints the median seconds of a frame of substeps and keeps where it ends."""
    arrays = np.load(path)
    # Not at rest, so that all forces are at work.
    start = arrays["vertices"] * [1.02, 1.0, 0.99]
    frame = CONTENDERS[name](arrays["vertices"], arrays["tets"], start)
    np.save(path.with_suffix(f".{name}.npy"), frame().numpy())
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        frame()
        seconds.append(time.perf_counter() - began)
    print(statistics.median(seconds))


def _supple(
    vertices: np.ndarray,
    tets: np.ndarray,
    start: np.ndarray,
    compiled: bool = True,
) -> Callable[[], torch.Tensor]:
    from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh
    from supple.core.integrators import SymplecticEuler
    from supple.core.materials import StableNeoHookean

    if compiled:
        torch.set_num_threads(1)  # as in the worker
    body = SoftBody(TetMesh(vertices, tets), StableNeoHookean(1e5, 0.45), initial_positions=start)
    scene = Scene([body], ground=Ground(response="projection"), gravity=(0.0, -9.8, 0.0))
    simulator = Simulator(
        scene,
        SymplecticEuler(),
        frame_time=SUBSTEPS * STEP,
        substeps=SUBSTEPS,
        device="cpu",
    )
    if not compiled:
        for elasticity in simulator.system.elasticities:
            elasticity.kernel = None
    state = simulator.state

    def frame() -> torch.Tensor:
        after = simulator.stepper.advance(state)
        return after.positions.T

    return frame


def _torch_diffsim(
    vertices: np.ndarray, tets: np.ndarray, start: np.ndarray
) -> Callable[[], torch.Tensor]:
    import diffsim

    from supple.core import TetMesh

    mesh = diffsim.TetrahedralMesh(torch.as_tensor(vertices), torch.as_tensor(tets).long())
    material = diffsim.StableNeoHookean(1e5, 0.45)
    solver = diffsim.SemiImplicitSolver(
        dt=SUBSTEPS * STEP, gravity=-9.8, damping=1.0, substeps=SUBSTEPS
    )
    mass = torch.as_tensor(TetMesh(vertices, tets).lumped_mass(1000.0))
    positions = torch.as_tensor(start)
    velocities = torch.zeros_like(positions)

    def frame() -> torch.Tensor:
        return solver.step(mesh, material, positions, velocities, mass)[0]

    return frame


CONTENDERS = {
    "supple": _supple,
    "supple-torch-passes": partial(_supple, compiled=False),
    "torch-diffsim": _torch_diffsim,
}

if __name__ == "__main__":
    _measure(sys.argv[1], Path(sys.argv[2]))
