# SPDX-License-Identifier: GPL-3.0-or-later
"""The same gradients by Supple and by torch-diffsim.

Both take the same stable Neo-Hookean body through the same steps of symplectic Euler, in double
precision and far from the ground, and ask how far it has come in squared metres, by Young's
modulus, Poisson's ratio, its velocity and the positions that it starts from. The largest difference
of a gradient, in units of its own size, shows that they are the same. What is timed is all from the
numbers of the body to its gradients, in processes of their own, in turns.
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
from torch import Tensor

from .printed import printed

STEPS, STEP = 100, 1e-4
ROUNDS, TURNS = 3, 3
# One that single precision holds, in which torch-diffsim takes it first.
YOUNG, POISSON = 1e5, 0.4375
VELOCITY = (0.3, 0.5, -0.2)
HEIGHT = 10.0


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "block of 2 K tets": partial(_compare, None),
        "monkey of 15 K tets": partial(_compare, 0.118),
    }


def _compare(edge_length: float | None) -> dict[str, Any]:
    """Compare the time of gradients with a peer's.

    Args:
        edge_length: of the monkey's tets; None for the block.
    """
    from supple.verification.meshes import block

    from .monkey import full_tetrahedra

    is_block = edge_length is None
    mesh = block((6, 6, 12), (1.0, 1.0, 2.0)) if is_block else full_tetrahedra(edge_length)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.npz"
        np.savez(path, vertices=mesh.vertices + np.array([0.0, HEIGHT, 0.0]), tets=mesh.tets)
        seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(TURNS):
            for name, measured in seconds.items():
                measured.append(printed("gradients_beside", name, path))
        ours, theirs = (dict(np.load(path.with_suffix(f".{name}.npz"))) for name in CONTENDERS)
    our_seconds, other = (statistics.median(seconds[name]) for name in CONTENDERS)
    return {
        "tets": len(mesh.tets),
        "steps": STEPS,
        "supple_seconds": round(our_seconds, 4),
        "torch_diffsim_seconds": round(other, 4),
        "ratio": round(other / our_seconds, 1),
        "largest_difference": {
            name: float(np.abs(ours[name] - gradients).max() / np.abs(gradients).max())
            for name, gradients in theirs.items()
        },
    }


def _measure(name: str, path: Path) -> None:
    """Prints the median seconds of all gradients and keeps these."""
    arrays, seconds = np.load(path), []
    # Not at rest, so that all forces are at work.
    start = arrays["vertices"] * [1.02, 1.0, 0.99]
    for _ in range(ROUNDS + 1):
        inputs = {
            "young": torch.tensor(YOUNG, dtype=torch.float64),
            "poisson": torch.tensor(POISSON, dtype=torch.float64),
            "velocity": torch.tensor(VELOCITY, dtype=torch.float64),
            "start": torch.as_tensor(start),
        }
        leaves = {key: value.clone().requires_grad_() for key, value in inputs.items()}
        began = time.perf_counter()
        end = CONTENDERS[name](arrays["vertices"], arrays["tets"], leaves)
        (end - inputs["start"]).square().sum().backward()
        seconds.append(time.perf_counter() - began)
    gradients = {key: leaf.grad.numpy() for key, leaf in leaves.items() if leaf.grad is not None}
    np.savez(path.with_suffix(f".{name}.npz"), **gradients)
    # The first loads and compiles.
    print(statistics.median(seconds[1:]))


def _supple(vertices: np.ndarray, tets: np.ndarray, leaves: dict[str, Tensor]) -> Tensor:
    from supple.core import Scene, SoftBody, TetMesh
    from supple.core.adjoint import simulate
    from supple.core.integrators import SymplecticEuler
    from supple.core.materials import StableNeoHookean

    body = SoftBody(
        TetMesh(vertices, tets),
        StableNeoHookean(leaves["young"], leaves["poisson"]),
        velocity=leaves["velocity"],
        initial_positions=leaves["start"],
    )
    scene, span = Scene([body], gravity=(0.0, -9.8, 0.0)), STEPS * STEP
    (frame,) = simulate(scene, SymplecticEuler(), frames=1, frame_time=span, substeps=STEPS)
    return frame.positions[0]


def _torch_diffsim(vertices: np.ndarray, tets: np.ndarray, leaves: dict[str, Tensor]) -> Tensor:
    from diffsim.diff_physics import DifferentiableMaterial
    from diffsim.diff_simulator import DifferentiableSolver
    from diffsim.mesh import TetrahedralMesh

    from supple.core import TetMesh

    mesh = TetrahedralMesh(torch.as_tensor(vertices), torch.as_tensor(tets).long())
    material = DifferentiableMaterial(YOUNG, POISSON)
    # Its own parameters are of single precision.
    del material.E, material.nu
    material.E, material.nu = leaves["young"], leaves["poisson"]
    solver = DifferentiableSolver(dt=STEPS * STEP, gravity=-9.8, damping=1.0, substeps=STEPS)
    mass = torch.as_tensor(TetMesh(vertices, tets).lumped_mass(1000.0))
    velocities = leaves["velocity"].expand(len(vertices), 3)
    positions, _ = solver.step(mesh, material, leaves["start"], velocities, mass)
    return positions


CONTENDERS: dict[str, Callable[[np.ndarray, np.ndarray, dict[str, Tensor]], Tensor]] = {
    "supple": _supple,
    "torch-diffsim": _torch_diffsim,
}

if __name__ == "__main__":
    _measure(sys.argv[1], Path(sys.argv[2]))
