# SPDX-License-Identifier: GPL-3.0-or-later
"""Static equilibrium: where nothing moves any more."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..errors import InstabilityError
from ..state import Effort, State
from ..system import System
from .incremental_potential import IncrementalPotential
from .newton import Newton

# The residual force on every vertex, over its mass, in m/s²: a ten-millionth of the weight.
TOLERANCE = 1e-6
# What is left of forces that are rounding alone, in units of what one rounding makes.
ROUNDING = 64.0
# The first pseudo-time step in seconds, how much longer each is than the one before, the longest.
FIRST, GROWTH, LONGEST = 1.0 / 24.0, 4.0, 100.0
# Tolerances of the first step and of the last, in diagonals of the largest body: the way is long,
# and only its end has to be met.
COARSEST, FINER, FINEST = 1e-3, 0.01, 1e-15
# Linear solves are exact enough for forces to vanish to the last digits.
FORCING = 1e-4
MAX_STEPS = 100
MAX_ITERATIONS = 60
# Moved by so many diagonals of the largest body, nothing holds it.
FAR = 1e3


def settle(system: System, state: State) -> State:
    """The state of equilibrium that a body left alone in ``state`` comes to, at rest, where gravity
    and pins stay as they are then.

    Implicit Euler steps without velocity, ever longer: each minimises the potentials and half the
    squared distance from where it starts, over the square of the step. From anywhere they descend,
    and in the limit they are Newton's method on the potentials themselves (Rockafellar, "Monotone
    Operators and the Proximal Point Algorithm", SIAM Journal on Control and Optimization 14, 1976).
    Friction holds against the way of each step: what rolls or topples is not pulled back to where
    it lay.

    Raises:
        InstabilityError: when there is no equilibrium, or it is not found.
        SceneError: when a body starts inside out although its model is undefined there.
    """
    objective = IncrementalPotential(system)
    newton = Newton(objective, FORCING)
    positions, effort = state.positions.clone(), Effort()
    step, tolerance = FIRST, COARSEST
    system.gravity.go_to(state.frame, 0.0)
    if system.moving_pins is not None:
        pins = system.moving_pins
        positions[:, pins.vertices] = pins.positions(state.frame, 0.0)
    objective.check_volumes(positions)
    for _ in range(MAX_STEPS):
        objective.begin_settling(positions, step, FIRST)
        minimum = newton.minimize(positions, tolerance * system.size, step, MAX_ITERATIONS)
        positions = minimum.positions
        effort = minimum.added_to(replace(effort, converged=True), step)
        residual = objective.residual_acceleration(positions)
        if residual <= max(TOLERANCE, ROUNDING * objective.acceleration_rounding()):
            # Rounding may have ended the last search, but forces are what had to vanish.
            effort = replace(effort, converged=True, stopped="converged")
            return replace(
                state,
                positions=positions,
                velocities=torch.zeros_like(positions),
                before=None,
                effort=effort,
            )
        moved = float((positions - state.positions).abs().max())
        if not moved < FAR * system.size:
            raise InstabilityError(_unheld(system))
        tolerance = max(FINEST, FINER * tolerance)
        # What is neither held nor pulled is left to inertia: a shorter step has more of it.
        step = min(LONGEST, GROWTH * step) if minimum.converged else step / GROWTH
    raise InstabilityError(
        f"{system.names}: no equilibrium after {effort.iterations} iterations; a force of "
        f"{residual:.2g} N/kg is left. Run the simulation with damping until it rests instead."
    )


def _unheld(system: System) -> str:
    return (
        f"{system.names}: nothing holds what gravity pulls, so there is no equilibrium. Pin "
        "vertices, add a ground below, or switch gravity off."
    )
