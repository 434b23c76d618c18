# SPDX-License-Identifier: GPL-3.0-or-later
"""A cube of six tets that floats and wobbles, and its exact motion."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import Integrator
from supple.core.materials import Linear, StableNeoHookean

from .laws import law_of
from .meshes import block

YOUNG, POISSON, DENSITY = 1e4, 0.3, 1000.0
RIGID_MODES = 6
Vectors = NDArray[np.float64]


class Mode(NamedTuple):
    """A free vibration: (N, 3) shape of largest component 1, and angular frequency in 1/s."""

    shape: Vectors
    frequency: float


def modes() -> list[Mode]:
    """Return the vibrations of the linear cube, slowest first, from matrices that owe nothing to
    the solver.
    """
    mesh = block((1, 1, 1))
    stiffness, mass = _assembled(mesh)
    squares, shapes = eigh(stiffness, np.diag(np.repeat(mass, 3)))
    return [
        Mode((shape / np.abs(shape).max()).reshape(-1, 3), float(np.sqrt(square)))
        for square, shape in zip(squares[RIGID_MODES:], shapes.T[RIGID_MODES:], strict=True)
    ]


def _assembled(mesh: TetMesh) -> tuple[Vectors, Vectors]:
    """(3N, 3N) stiffness in N/m and (N,) lumped masses in kg, tet by tet."""
    count = len(mesh.vertices)
    stiffness, mass = np.zeros((count, 3, count, 3)), np.zeros(count)
    tensor = law_of("linear", YOUNG, POISSON).elasticity(np.eye(3))
    for tet in mesh.tets:
        slopes, volume = _slopes_and_volume(mesh.vertices[tet])
        block_of = volume * np.einsum("ijkl,ja,lb->aibk", tensor, slopes, slopes)
        stiffness[np.ix_(tet, range(3), tet, range(3))] += block_of
        mass[tet] += DENSITY * volume / 4.0
    return stiffness.reshape(3 * count, 3 * count), mass


def vibrating(mode: Mode, amplitude: float) -> SoftBody:
    """The linear cube, pulled along a mode."""
    mesh = block((1, 1, 1))
    start = mesh.vertices + amplitude * mode.shape
    return SoftBody(mesh, Linear(YOUNG, POISSON), DENSITY, initial_positions=start)


def stretched(amount: float) -> SoftBody:
    """A Stable Neo-Hookean cube, pulled along x and pressed a little along y."""
    mesh = block((1, 1, 1))
    return SoftBody(
        mesh,
        StableNeoHookean(YOUNG, POISSON),
        DENSITY,
        initial_positions=mesh.vertices * [1.0 + amount, 1.0 - 0.3 * amount, 1.0],
    )


def floating(
    body: SoftBody,
    integrator: Integrator | None = None,
    *,
    frame_time: float = 1.0 / 24.0,
    substeps: int | None = None,
) -> Simulator:
    """Simulate a body without weight or ground."""
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    return Simulator(scene, integrator, frame_time=frame_time, substeps=substeps, device="cpu")


def set_moving(simulator: Simulator, velocity: Vectors, spin: Vectors) -> None:
    """Adds a velocity and a turning about the origin, m/s and rad/s, to the present state."""
    state = simulator.state
    moving = velocity + np.cross(spin, state.positions.numpy().T)
    velocities = state.velocities + torch.as_tensor(moving.T)
    simulator.state = replace(state, velocities=velocities)


def exact_end(body: SoftBody, seconds: float) -> Vectors:
    """Return the (N, 3) end positions of a Stable Neo-Hookean body released from rest.

    By Dormand and Prince's method of order 8; forces and masses owe nothing to the solver.
    """
    mesh, start = body.mesh, body.initial_positions
    assert isinstance(mesh, TetMesh) and start is not None
    law = law_of("stable_neo_hookean", YOUNG, POISSON)
    tets = [(corners, *_slopes_and_volume(mesh.vertices[corners])) for corners in mesh.tets]
    mass = np.zeros(len(start))
    for corners, _, volume in tets:
        mass[corners] += DENSITY * volume / 4.0

    def rate(_: float, both: Vectors) -> Vectors:
        positions, velocities = both.reshape(2, -1, 3)
        forces = np.zeros_like(positions)
        for corners, slopes, volume in tets:
            gradient = np.einsum("ai,ja->ij", positions[corners], slopes)
            forces[corners] -= volume * np.einsum("ij,ja->ai", law.stress(gradient), slopes)
        return np.concatenate([velocities.ravel(), (forces / mass[:, None]).ravel()])

    both = np.concatenate([start.ravel(), np.zeros(start.size)])
    solution = solve_ivp(rate, (0.0, seconds), both, method="DOP853", rtol=1e-13, atol=1e-14)
    end: Vectors = solution.y[:, -1].reshape(2, -1, 3)[0]
    return end


def _slopes_and_volume(corners: Vectors) -> tuple[Vectors, float]:
    """(3, 4) gradients of a tet's shape functions in 1/m, and its volume in m³."""
    matrix = np.hstack([np.ones((4, 1)), corners])
    slopes: Vectors = np.linalg.inv(matrix)[1:]
    return slopes, abs(float(np.linalg.det(matrix))) / 6.0
