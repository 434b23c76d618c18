# SPDX-License-Identifier: GPL-3.0-or-later
"""Implicit steps on the ground: lifts of points and the friction between them and it.

A system is diag(1/c) + Σ k s sᵀ over points, c the compliance of each vertex, k the stiffness of a
point and s the shares that vertices have in it. Vertices are numbered among those that carry
points and move; held vertices have the number after the last, whose entry is not used.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from .barrier import barrier_from_log
from .obstacles import (
    add_force,
    at_point,
    ground_derivatives,
    near_points,
    solve_normal_forces,
)

# The error that the conjugate gradients leave, squared, in units of that of no step at all; and the
# iterations that they take at most.
FORCING_TERM, MAX_ITERATIONS = 1e-4, 300


@compiled(allocates=True)
def carriers(corners: Any, compliance: Any, near: Any) -> Any:
    """The (n,) movable vertices that carry (K,) points, and the (K, 4) numbers of the vertices of
    each point."""
    number = np.full(len(compliance), -1, np.int32)
    vertices, size = np.empty(4 * len(near), np.int32), 0
    for i in range(len(near)):
        for k in range(4):
            v = corners[near[i], k]
            if number[v] < 0 and compliance[v] > 0.0:
                number[v] = size
                vertices[size] = v
                size += 1
    numbers = np.empty((len(near), 4), np.int32)
    for i in range(len(near)):
        for k in range(4):
            carrier = number[corners[near[i], k]]
            numbers[i, k] = carrier if carrier >= 0 else size
    return vertices[:size].copy(), numbers


@compiled()
def add_at_point(force: Any, numbers: Any, shares: Any, i: Any, out: Any) -> None:
    """Adds a force on point i to those on (n + 1,) vertices."""
    for k in range(4):
        out[numbers[i, k]] += shares[i, k] * force


@compiled(allocates=True)
def solve(stiffness: Any, numbers: Any, shares: Any, point_stiffness: Any, rhs: Any) -> Any:
    """Return the approximate (n + 1,) solution of a system by conjugate gradients; zero for held
    vertices.

    Args:
        stiffness: (n,) 1/c of vertices, in N/m.
        numbers, shares: (K, 4) of points, numbers as of ``carriers``.
        point_stiffness: (K,) of the points, none of it negative, in N/m.
        rhs: (n + 1,) in newtons.
    """
    size = len(stiffness)
    diagonal = np.ones(size + 1)
    for v in range(size):
        diagonal[v] = stiffness[v]
    for i in range(len(numbers)):
        for k in range(4):
            diagonal[numbers[i, k]] += shares[i, k] ** 2 * point_stiffness[i]
    x, direction, image = np.zeros(size + 1), np.zeros(size + 1), np.empty(size + 1)
    residual = rhs.copy()
    rho = first = 0.0
    for iteration in range(MAX_ITERATIONS):
        before, rho = rho, 0.0
        for v in range(size):
            rho += residual[v] * residual[v] / diagonal[v]
        if iteration == 0:
            first = rho
        if not rho > FORCING_TERM * first:
            break
        beta = rho / before if iteration > 0 else 0.0
        for v in range(size):
            direction[v] = beta * direction[v] + residual[v] / diagonal[v]
        _multiply(stiffness, numbers, shares, point_stiffness, direction, image)
        curvature = 0.0
        for v in range(size):
            curvature += direction[v] * image[v]
        if not curvature > 0.0:
            break
        for v in range(size):
            x[v] += rho / curvature * direction[v]
            residual[v] -= rho / curvature * image[v]
    return x


@compiled()
def _multiply(
    stiffness: Any, numbers: Any, shares: Any, point_stiffness: Any, x: Any, out: Any
) -> None:
    for v in range(len(stiffness)):
        out[v] = stiffness[v] * x[v]
    for i in range(len(numbers)):
        if point_stiffness[i] > 0.0:
            add_at_point(
                point_stiffness[i] * at_point(x, numbers, shares, i), numbers, shares, i, out
            )


# Sweeps point by point, which lead above the ground wherever the search begins.
MAX_SWEEPS = 4
# Steps of Newton's method; each lowers no point by more than this ratio of its height.
MAX_STEPS, MAX_HEIGHT_RATIO = 60, 0.9
# The least ratio of actual to predicted decrease, below which a step is halved, and the most
# halvings.
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
    count, pushed = len(near), near_points(ground, compliance, near)
    target = heights.astype(np.float64)
    for i in range(count):
        add_force(-forces[pushed.points[i]], pushed, i, target)
    solve_normal_forces(heights, ground, pushed, forces, MAX_SWEEPS, tolerance, None)
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
    point_stiffness, rates = np.empty(count), np.empty(count)
    for _ in range(MAX_STEPS):
        for v in range(size):
            forces[v] = -stiffness[v] * displacement[v]
        for i in range(count):
            point_stiffness[i] = 0.0
            if ratios[i] < 1.0:
                first, second = ground_derivatives(ratios[i], math.log(ratios[i]))
                point_stiffness[i] = weights[i] / distances[i] * second
                add_at_point(-weights[i] * first, numbers, shares, i, forces)
        direction = solve(stiffness, numbers, shares, point_stiffness, forces)
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
    """The change of the energy by a step, and the magnitude of the terms that cancel in it, in
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


class SmoothFriction(NamedTuple):
    """Smoothed friction of S points in a step.

    Args:
        start: (2, S) of the points, in metres.
        limits: (S,) μN in newtons.
        thresholds: (S,) displacements ε below which a point sticks, in metres.
    """

    start: Any
    limits: Any
    thresholds: Any


@compiled(allocates=True)
def solve_tangential_displacements(
    x: Any,
    y: Any,
    ground: Any,
    friction: Any,
    compliance: Any,
    near: Any,
    forces: Any,
    max_sweeps: int,
    tolerance: float,
) -> None:
    """Moves (N,) coordinates of vertices to where friction holds them.

    Least is ½ Σ ‖x − x̃‖²/c + Σ μN ε f₀(‖u‖/ε), u the displacement of a point from its start and x̃
    the coordinates without the forces that points have at the beginning (see ``GroundFriction``).

    Args:
        ground, friction: ``EmbeddedGround`` and ``SmoothFriction``.
        compliance: (N,) c of each vertex in m/N.
        near: (K,) points in contact.
        forces: (2, S) against the displacements, in newtons; they are changed.
        max_sweeps: through all points.
        tolerance: change of a displacement over its threshold at which it ends.
    """
    points, start = near_points(ground, compliance, near), friction.start
    limits, thresholds = friction.limits, friction.thresholds
    for _ in range(max_sweeps):
        change = 0.0
        for i in range(len(near)):
            p, mobility = points.points[i], points.compliances[i]
            if mobility > 0.0:
                apart_x = at_point(x, points.corners, points.shares, i) - start[0, p]
                apart_y = at_point(y, points.corners, points.shares, i) - start[1, p]
                pull_x = apart_x / mobility + forces[0, p]
                pull_y = apart_y / mobility + forces[1, p]
                size = math.sqrt(pull_x * pull_x + pull_y * pull_y)
                ratio = 0.0
                if size > 0.0:
                    displacement = displacement_under(
                        size, 1.0 / mobility, limits[p], thresholds[p]
                    )
                    ratio = displacement / (mobility * size)
                force_x, force_y = pull_x * (1.0 - ratio), pull_y * (1.0 - ratio)
                more_x, more_y = force_x - forces[0, p], force_y - forces[1, p]
                forces[0, p], forces[1, p] = force_x, force_y
                add_force(-more_x, points, i, x)
                add_force(-more_y, points, i, y)
                change = max(change, mobility * (abs(more_x) + abs(more_y)) / thresholds[p])
        if change <= tolerance:
            break


@compiled()
def displacement_under(pull: Any, stiffness: Any, limit: Any, threshold: Any) -> Any:
    """The displacement s with k s + μN f₁(s/ε) = pull, for a spring of the given stiffness k."""
    sliding = (pull - limit) / stiffness
    if sliding >= threshold:
        return sliding
    linear = stiffness + 2.0 * limit / threshold
    root = math.sqrt(max(0.0, linear * linear - 4.0 * limit * pull / (threshold * threshold)))
    return 2.0 * pull / (linear + root)
