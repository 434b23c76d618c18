# SPDX-License-Identifier: GPL-3.0-or-later
"""The static solve: the state at which nothing moves any more."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from ..errors import InstabilityError
from ..scene.soft_body import burst_warning
from ..state import SolverStatistics, State
from ..system import System
from .incremental_potential import IncrementalPotential
from .minimize_result import CONVERGED, ENOUGH
from .newton import Newton
from .newton_search import NewtonSearch

# The residual force on every vertex, over its mass, in m/s²: a ten-millionth of the weight.
TOLERANCE_M_PER_S2 = 1e-6
# The residual forces that count as rounding, in units of one rounding error.
ROUND_OFF_FACTOR = 64.0
# The first pseudo-time step and the longest, and how much longer each is than the one before.
FIRST_STEP_S, MAX_STEP_S, STEP_GROWTH_RATIO = 1.0 / 3.0, 100.0, 8.0
# The time step that the stick threshold of friction is of, that of a frame.
STICK_STEP_S = 1.0 / 24.0
# The tolerances of the first and the last step, relative to the largest body's diagonal, and the
# ratio between successive ones, for the updates of friction. Most searches end before, since only
# the last one has to be exact.
FIRST_TOLERANCE_DIAGONALS, LAST_TOLERANCE_DIAGONALS, TOLERANCE_RATIO = 1e-5, 1e-15, 0.01
# Linear solves are as exact as forces fall from step to step, within these bounds: at the end they
# have to vanish to the last digits.
FORCING_TERM, MIN_FORCING_TERM = 0.1, 1e-4
MAX_STEPS = 100
# Flow has come to its end where no plastic strain grows by more; each solve includes its plastic
# flow, so that few are needed.
FLOW_TOLERANCE, MAX_FLOWS = 1e-9, 30
MAX_ITERATIONS = 60
# The displacement of an unsupported body, in diagonals of the largest body.
MAX_DISPLACEMENT_DIAGONALS = 1e3


@dataclass(frozen=True)
class StaticAccuracy:
    """When a static solve ends.

    Args:
        residual: the force on every vertex that may be left, over its mass, in m/s².
        step_ratio: the length of an acceptable last Newton step, relative to the largest body's
            diagonal, for forces of any size: between surfaces in contact forces are still large
            when displacements are small. None tests forces only.
        max_iterations: Newton iterations in all; None is as many as there are steps for.
        first_step: the first pseudo-time step in seconds. From far off, a short one is quicker.
    """

    residual: float = TOLERANCE_M_PER_S2
    step_ratio: float | None = None
    max_iterations: int | None = None
    first_step: float = FIRST_STEP_S


#: To the last digits.
EXACT = StaticAccuracy()


def solve_static(system: System, state: State, accuracy: StaticAccuracy = EXACT) -> State:
    """Return the equilibrium that bodies left alone in ``state`` reach, including plastic flow on
    the way.

    Raises:
        InstabilityError: when there is no equilibrium, or it is not found.
        SceneError: when a body starts inside out although its model is undefined there.
    """
    flow = system.plastic_flow
    for _ in range(MAX_FLOWS):
        flow.plastic = state.plastic
        state = _elastic_equilibrium(system, state, accuracy)
        before = flow.total_strain
        flow.flow(state.positions, math.inf)
        state = replace(state, plastic=flow.plastic)
        if flow.total_strain - before <= FLOW_TOLERANCE:
            return state
    raise InstabilityError(
        f"{system.names}: the plastic body keeps flowing under its load. Raise the yield stress, "
        "or run the simulation instead."
    )


def _elastic_equilibrium(system: System, state: State, accuracy: StaticAccuracy) -> State:
    """The state of equilibrium that a body left alone in ``state`` comes to, at rest, where gravity
    and pins stay as they are then.

    Implicit Euler steps without velocity, ever longer: each minimises the potentials and half the
    squared distance from where it starts, over the square of the step. From anywhere they descend,
    and in the limit they are Newton's method on the potentials themselves (Rockafellar, "Monotone
    Operators and the Proximal Point Algorithm", SIAM Journal on Control and Optimization 14,
    1976). No search has to be exact on the way: it ends when the residual forces are smaller than
    the inertial ones, except if friction needs normal forces. Friction acts against the
    displacement of each step, so that rolling or toppling bodies are not pulled back.

    Raises:
        InstabilityError: when there is no equilibrium, or it is not found.
        SceneError: when a body starts inside out although its model is undefined there.
    """
    objective = IncrementalPotential(system)
    newton = Newton(objective, FORCING_TERM)
    positions, statistics = state.positions.clone(), SolverStatistics()
    step, tolerance, residual = accuracy.first_step, FIRST_TOLERANCE_DIAGONALS, 0.0
    system.go_to(state.frame, 0.0)
    if system.moving_pins is not None:
        pins = system.moving_pins
        positions[:, pins.vertices] = pins.positions(state.frame, 0.0)
    objective.check_volumes(positions)
    # With friction, searches go on until it agrees with the normal forces.
    ends_early = not objective.has_friction
    is_enough = partial(_is_enough, objective, newton, accuracy) if ends_early else None
    for _ in range(MAX_STEPS):
        start = positions
        objective.begin_static_step(positions, step, STICK_STEP_S)
        result = newton.minimize(
            positions,
            tolerance * system.size,
            step,
            MAX_ITERATIONS,
            is_enough=is_enough,
        )
        positions = result.positions
        statistics = result.added_to(replace(statistics, converged=True), step)
        before, gradient = residual, objective.gradient(positions)
        residual = objective.residual_acceleration(positions, gradient)
        has_ended = result.converged or result.termination_reason == ENOUGH
        inertia = float((positions - start).abs().max()) / (step * step)
        is_near = accuracy.step_ratio is not None and has_ended and inertia <= accuracy.residual
        if is_near or residual <= _tolerance(objective, newton, accuracy):
            return _at_rest(state, positions, statistics)
        if accuracy.max_iterations and statistics.iterations > accuracy.max_iterations:
            break
        displacement = float((positions - state.positions).abs().max())
        if not displacement < MAX_DISPLACEMENT_DIAGONALS * system.size:
            raise InstabilityError(_unsupported_message(system))
        newton.forcing = max(
            MIN_FORCING_TERM, min(newton.forcing, residual / max(before, residual))
        )
        tolerance = max(LAST_TOLERANCE_DIAGONALS, TOLERANCE_RATIO * tolerance)
        # Unsupported bodies are held by inertia only, which is larger in a shorter step.
        longer = min(MAX_STEP_S, STEP_GROWTH_RATIO * step)
        step = longer if has_ended else step / STEP_GROWTH_RATIO
    raise InstabilityError(
        f"{system.names}: no equilibrium after {statistics.iterations} iterations; a force of "
        f"{residual:.2g} N/kg is left. Run the simulation with damping until it rests instead."
        + burst_warning(system.bodies)
    )


def _at_rest(state: State, positions: Tensor, statistics: SolverStatistics) -> State:
    """A state whose forces have vanished at (3, N) positions."""
    # Rounding may have ended the last search; the forces decide.
    statistics = replace(statistics, converged=True, termination_reason=CONVERGED)
    return replace(
        state,
        positions=positions,
        velocities=torch.zeros_like(positions),
        previous=None,
        solver_statistics=statistics,
    )


def _tolerance(objective: IncrementalPotential, newton: Newton, accuracy: StaticAccuracy) -> float:
    """Return the tolerance on the residual acceleration, in m/s²."""
    rounding = objective.acceleration_rounding(newton.hessian)
    return max(accuracy.residual, ROUND_OFF_FACTOR * rounding)


def _is_enough(
    objective: IncrementalPotential, newton: Newton, accuracy: StaticAccuracy, search: NewtonSearch
) -> bool:
    """Whether the search of a static step is as near to its end as that is to the equilibrium."""
    system = objective.system
    ratio, inverse_mass = accuracy.step_ratio, system.inverse_mass
    if ratio is not None and search.whole_step_norm <= ratio * system.size:
        return True
    inertia = objective.inertia.gradient(search.positions)
    left, held = (
        float((force * force * inverse_mass).sum()) for force in (search.gradient, inertia)
    )
    if left <= held:
        return True
    residual = objective.residual_acceleration(search.positions, search.gradient)
    return residual <= _tolerance(objective, newton, accuracy)


def _unsupported_message(system: System) -> str:
    return (
        f"{system.names}: nothing holds what gravity pulls, so there is no equilibrium. Pin "
        "vertices, add a ground below, or switch gravity off." + burst_warning(system.bodies)
    )
