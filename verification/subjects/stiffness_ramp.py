# SPDX-License-Identifier: GPL-3.0-or-later
"""A painted stiffness beside the closed form of a bar, and a keyed one beside the energy it puts
in."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch

from supple.core import Channel, Paint, Scene, Simulator, SoftBody, SurfaceMesh, TetMesh
from supple.core.integrators import Midpoint, RungeKutta4, SymplecticEuler
from supple.core.integrators.explicit_stepper import FixedStepIntegrator
from supple.core.materials import Linear, StableNeoHookean
from supple.core.preparation.transfers import with_painted_settings
from supple.core.system import System

from ..check import Check, Subject, within
from ..meshes import at_start, block

LENGTH, WIDTH, CELLS = 1.0, 0.2, (20, 2, 2)
YOUNG, DENSITY, GRAVITY = 1e5, 1000.0, 2.0
# Of the stiffness at the other end.
LOW = 0.1
EXACT = 0.01
# Of the bar that vibrates: from the first factor to the second in a frame of so many steps.
FACTORS, FRAME, STEPS, STRETCH = (1.0, 3.0), 1.0 / 24.0, 1000, 1.1


def run() -> Subject:
    return Subject(
        title="Painted and keyed stiffness",
        text=f"*Painted:* a bar of {LENGTH:g} × {WIDTH:g} × {WIDTH:g} m hangs from one end in "
        f"{GRAVITY:g} m/s². Its surface, of eight vertices, is painted from {LOW:g} of "
        f"{YOUNG:g} Pa at one end to all of it at the other. It has {CELLS[0]} × {CELLS[1]} × "
        f"{CELLS[2]} "
        "cells, six tets each, ν = 0, linear. *Keyed:* a bar begins stretched, and while it "
        f"vibrates its stiffness grows {FACTORS[1]:g}-fold within a frame. Its gain of energy must "
        "be the sum of ∂E/∂Y dY.",
        source="∫ σ/E dx with σ = ρg(L − x) and E linear in x; dE = ∂E/∂Y dY where nothing else "
        "does work.",
        checks=[
            _ramp("at its soft end", LOW, 1.0),
            _ramp("at its hard end", 1.0, LOW),
            *(_gain(integrator) for integrator in (SymplecticEuler(), Midpoint(), RungeKutta4())),
        ],
    )


def _ramp(where: str, first: float, last: float) -> Check:
    """The sag of the free end, with factors on the stiffness at the held end and at the free."""
    corners = block((1, 1, 1), (LENGTH, WIDTH, WIDTH))
    factors = first + (last - first) * corners.vertices[:, 0] / LENGTH
    surface = SurfaceMesh(corners.vertices, corners.surface, paint=[Paint("young", factors)])
    mesh = block(CELLS, (LENGTH, WIDTH, WIDTH))
    body = with_painted_settings(SoftBody(surface, Linear(YOUNG, 0.0), DENSITY), surface, mesh)
    body = replace(body, pinned=at_start(mesh, 0))
    rest = Simulator(Scene([body], gravity=(GRAVITY, 0.0, 0.0)), device="cpu").settle()
    sag = (rest.positions[0].numpy() - mesh.vertices)[mesh.vertices[:, 0] == LENGTH, 0].mean()
    # ∫ (1 − s)/(a + b s) ds over s from 0 to 1.
    a, b = first, last - first
    integral = ((a + b) * math.log((a + b) / a) - b) / b**2
    expected = DENSITY * GRAVITY * LENGTH**2 / YOUNG * integral
    return within(f"Held {where}: sag of the other", float(sag), expected, EXACT, "m")


def _gain(integrator: FixedStepIntegrator) -> Check:
    mesh = block((6, 2, 2), (LENGTH, WIDTH, WIDTH))
    body = SoftBody(
        *(mesh, StableNeoHookean(YOUNG, 0.3), DENSITY, at_start(mesh, 0)),
        initial_positions=mesh.vertices * [STRETCH, 1.0, 1.0],
        stiffness=Channel(np.array(FACTORS)),
    )
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    system = System(scene, torch.device("cpu"), torch.float64)
    plain = _unscaled(body, mesh)
    state = system.initial_state()
    step = integrator.make_step(system, FRAME / STEPS)
    step.begin(state.positions, state.velocities)
    # By the trapezoidal rule on the positions alone.
    put_in, change = 0.0, (FACTORS[1] - FACTORS[0]) / STEPS
    before = float(plain.elasticities[0].energy(step.positions))
    for number in range(STEPS):
        step.prescribe(0, number / STEPS, (number + 1) / STEPS)
        step.advance()
        after = float(plain.elasticities[0].energy(step.positions))
        put_in, before = put_in + 0.5 * change * (before + after), after
    end = replace(state, positions=step.positions, velocities=step.velocities, frame=1)
    gained = system.energies(end).total - system.energies(state).total
    name = type(integrator).label
    return within(f"{name}: energy gained by a bar that stiffens", gained, put_in, EXACT, "J")


def _unscaled(body: SoftBody, mesh: TetMesh) -> System:
    """Return the system of the body at the start, for the energy of a unit of stiffness."""
    scene = Scene([SoftBody(mesh, body.material, DENSITY)], gravity=(0.0, 0.0, 0.0))
    return System(scene, torch.device("cpu"), torch.float64)
