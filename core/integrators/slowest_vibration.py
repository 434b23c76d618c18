# SPDX-License-Identifier: GPL-3.0-or-later
"""How slow the slowest vibration of a system is: what the eye follows, and long steps damp."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..minimizers.incremental_potential import IncrementalPotential
from ..system import System

# Inverse iterations: the Rayleigh quotient has converged to a few per cent.
ITERATIONS, LINEAR_TOLERANCE = 6, 1e-2
# Of the inertia that keeps the matrix definite where nothing holds a body: slower than any wobble.
SHIFT_S = 2.0


def slowest_frequency(system: System) -> float:
    """ω in rad/s of the slowest vibration about the start, rigid motions of what nothing holds left
    out; infinite where there is none.

    Source: inverse iteration, Golub and Van Loan, "Matrix Computations", 4th edition, section 8.2.
    """
    objective = IncrementalPotential(system, with_contact=False)
    positions = system.initial_positions
    objective.begin_static_step(positions, SHIFT_S, SHIFT_S)
    matrix, solver = objective.hessian(positions), objective.linear_solver()
    solver.begin()
    solver.prepare(matrix, objective.unknowns(positions))
    mass, rigid = system.free_mass, _rigid_motions(system, positions)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(positions.shape, generator=generator, dtype=torch.float64)
    direction = _without(rigid, start.to(positions) * system.free, mass)
    squared = math.inf
    for _ in range(ITERATIONS):
        size = float((mass * direction.square()).sum().sqrt())
        if not size > 0.0:
            return math.inf
        direction = direction / size
        solution = solver.solve(objective.unknowns(mass * direction), LINEAR_TOLERANCE, 0.0)
        image = _without(rigid, objective.vectors(solution.x), mass)
        # Of (K + M/s²)⁻¹ M, whose largest eigenvalue belongs to the slowest vibration.
        largest = float((mass * direction * image).sum())
        squared = 1.0 / largest - 1.0 / SHIFT_S**2 if largest > 0.0 else math.inf
        direction = image
    return math.sqrt(max(0.0, squared))


def _rigid_motions(system: System, positions: Tensor) -> list[Tensor]:
    """(3, N) motions of the bodies without pins, orthonormal by mass."""
    motions: list[Tensor] = []
    for where in system.body_slices():
        if not bool(system.free[where].all()):
            continue
        arms = positions[:, where] - positions[:, where].mean(1, keepdim=True)
        axes = torch.eye(3).to(arms)
        turns = [torch.linalg.cross(axis[:, None].expand_as(arms), arms, dim=0) for axis in axes]
        for motion in [*(axis[:, None].expand_as(arms) for axis in axes), *turns]:
            whole = torch.zeros_like(positions)
            whole[:, where] = motion
            whole = _without(motions, whole, system.mass)
            size = float((system.mass * whole.square()).sum().sqrt())
            if size > 0.0:
                motions.append(whole / size)
    return motions


def _without(motions: list[Tensor], direction: Tensor, mass: Tensor) -> Tensor:
    """What is left of a (3, N) direction beside motions that are orthonormal by mass."""
    for motion in motions:
        direction = direction - float((mass * motion * direction).sum()) * motion
    return direction
