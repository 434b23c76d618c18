# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of Newton's method for the ground's normal forces on points that share vertices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .barrier import barrier_from_log
from .obstacle_barrier import ground_derivatives
from .obstacle_points import at_point, scatter_force, solve_normal_forces
from .point_systems import add_at_point, carriers, solve

# Sweeps point by point, which lead above the ground wherever the search begins.
MAX_SWEEPS = 4
# Steps of Newton's method; each lowers no point by more than this ratio of its height.
MAX_STEPS, MAX_HEIGHT_RATIO = 60, 0.9
# A step that does not bring this ratio of the predicted decrease is halved, so often at most.
ARMIJO_C1, MAX_BACKTRACKS = 1e-4, 30
# Rounding may change the energy by this ratio of the magnitude of its parts.
ROUNDING_RATIO = 1e-14

_beta = compiled()(barrier_from_log)


@compiled(allocates=True)
def lift(
    heights: Any, ground: Any, compliance: Any, near: Any, forces: Any, tolerance: float
) -> None:
    """Moves (N,) heights to where the barrier's forces on points hold them: as
    ``solve_normal_forces`` does, but to convergence, by Newton's method.

    Args:
        ground: ``EmbeddedGround``.
        compliance: (N,) of each vertex in m/N; zero holds it.
        near: (K,) points that may be in contact.
        forces: (S,) in newtons that the points have at the beginning; they are changed.
        tolerance: change of a height over its distance at which it ends.
    """
    corners, shares, distances = ground.corners, ground.shares, ground.distances
    count = len(near)
    target = heights.astype(np.float64)
    for i in range(count):
        scatter_force(-forces[near[i]], corners, shares, compliance, near[i], target)
    solve_normal_forces(heights, ground, compliance, near, forces, MAX_SWEEPS, tolerance, None)
    vertices, numbers = carriers(corners, compliance, near)
    ratios, stiffness = np.empty(count), np.empty(len(vertices))
    displacement = np.empty(len(vertices))
    for i in range(count):
        height = at_point(heights, corners, shares, near[i]) - ground.height
        ratios[i] = height / distances[near[i]]
        if not ratios[i] > 0.0:
            # The energy of a point that is held below the ground is infinite.
            return
    for v in range(len(vertices)):
        displacement[v] = heights[vertices[v]] - target[vertices[v]]
        stiffness[v] = 1.0 / compliance[vertices[v]]
    points = numbers, shares[near], ground.weights[near], distances[near]
    _minimize(stiffness, points, displacement, ratios, tolerance)
    for v in range(len(vertices)):
        heights[vertices[v]] = target[vertices[v]] + displacement[v]


@compiled(allocates=True)
def _minimize(
    stiffness: Any, points: Any, displacement: Any, ratios: Any, tolerance: float
) -> None:
    """Newton's method on (n,) displacements of vertices from where they are without the ground, and
    the (K,) heights over distances of points that follow them.

    Args:
        points: the numbers of the vertices of each, shares of these, weights and distances.
    """
    numbers, shares, weights, distances = points
    size, forces = len(stiffness), np.zeros(len(stiffness) + 1)
    count = len(numbers)
    own, rates = np.empty(count), np.empty(count)
    for _ in range(MAX_STEPS):
        for v in range(size):
            forces[v] = -stiffness[v] * displacement[v]
        for i in range(count):
            own[i] = 0.0
            if ratios[i] < 1.0:
                first, second = ground_derivatives(ratios[i], math.log(ratios[i]))
                own[i] = weights[i] / distances[i] * second
                add_at_point(-weights[i] * first, numbers, shares, i, forces)
        direction = solve(stiffness, numbers, shares, own, forces)
        slope, largest, step_size = 0.0, 0.0, 1.0
        for v in range(size):
            slope -= forces[v] * direction[v]
        for i in range(count):
            rates[i] = at_point(direction, numbers, shares, i) / distances[i]
            largest = max(largest, abs(rates[i]))
            if rates[i] < 0.0:
                step_size = min(step_size, MAX_HEIGHT_RATIO * ratios[i] / -rates[i])
        for _ in range(MAX_BACKTRACKS):
            change, magnitude = _energy_change(
                stiffness, displacement, direction, points, ratios, rates, step_size
            )
            if change <= ARMIJO_C1 * step_size * slope + ROUNDING_RATIO * magnitude:
                break
            step_size *= 0.5
        else:
            break
        for v in range(size):
            displacement[v] += step_size * direction[v]
        for i in range(count):
            ratios[i] += step_size * rates[i]
        if step_size == 1.0 and largest <= tolerance:
            break


@compiled()
def _energy_change(
    stiffness: Any,
    displacement: Any,
    direction: Any,
    points: Any,
    ratios: Any,
    rates: Any,
    step_size: Any,
) -> Any:
    """The change of the energy by a step, and the magnitude of what it is the difference of, in
    joules."""
    _, _, weights, distances = points
    change = magnitude = 0.0
    for v in range(len(stiffness)):
        more = step_size * direction[v]
        change += stiffness[v] * more * (displacement[v] + 0.5 * more)
        magnitude += stiffness[v] * displacement[v] * displacement[v]
    for i in range(len(ratios)):
        before = _barrier(ratios[i])
        after = _barrier(ratios[i] + step_size * rates[i])
        scale = weights[i] * distances[i]
        change += scale * (after - before)
        magnitude += scale * before
    return change, magnitude


@compiled()
def _barrier(ratio: Any) -> float:
    if ratio >= 1.0:
        return 0.0
    return float(_beta(ratio, math.log(ratio)))
