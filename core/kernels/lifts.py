# SPDX-License-Identifier: GPL-3.0-or-later
"""How points that share vertices are held up by the ground, as compiled loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .barrier import barrier_from_log, derivatives_from_log
from .obstacle_points import at_point, push_up, spread
from .point_systems import add_at_point, carriers, solve

# Point by point through all of them, which leads above the ground wherever the search begins.
SWEEPS = 4
# Of Newton's method on all at once; and of the way to where a point meets the ground.
MAX_STEPS, KEPT = 60, 0.9
# A step that does not bring this share of what its slope promises is halved, so often at most.
DECREASE, HALVINGS = 1e-4, 30
# Of the energy's parts: by so much rounding may change it.
ROUNDING = 1e-14

_derivatives = compiled()(derivatives_from_log)
_beta = compiled()(barrier_from_log)


@compiled()
def lift(
    heights: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    weights: Any,
    distances: Any,
    ground: float,
    smallest: float,
    near: Any,
    forces: Any,
    still: float,
) -> None:
    """Moves (N,) heights to where the barrier's forces on points hold them: as ``push_up`` does,
    but to the end, by Newton's method.

    Args:
        near: (K,) points to look at.
        forces: (S,) in newtons that the points have at the beginning; they are changed.
        still: change of a height over its distance at which it ends.
    """
    count = len(near)
    target = heights.astype(np.float64)
    for i in range(count):
        spread(-forces[near[i]], corners, shares, compliance, near[i], target)
    push_up(
        heights,
        corners,
        shares,
        compliance,
        weights,
        distances,
        ground,
        smallest,
        near,
        count,
        forces,
        SWEEPS,
        still,
    )
    vertices, numbers = carriers(corners, compliance, near)
    ratios, away, stiffness = np.empty(count), np.empty(len(vertices)), np.empty(len(vertices))
    for i in range(count):
        ratios[i] = (at_point(heights, corners, shares, near[i]) - ground) / distances[near[i]]
        if not ratios[i] > 0.0:
            # What is held below the ground has no energy to go by.
            return
    for v in range(len(vertices)):
        away[v] = heights[vertices[v]] - target[vertices[v]]
        stiffness[v] = 1.0 / compliance[vertices[v]]
    # Only what is near takes part.
    _minimize(stiffness, numbers, shares[near], weights[near], distances[near], away, ratios, still)
    for v in range(len(vertices)):
        heights[vertices[v]] = target[vertices[v]] + away[v]


@compiled()
def _minimize(
    stiffness: Any,
    numbers: Any,
    shares: Any,
    weights: Any,
    distances: Any,
    away: Any,
    ratios: Any,
    still: float,
) -> None:
    """Newton's method on (n,) ways from where vertices are without the ground, and the (K,) heights
    over distances of points that go with them."""
    size, forces = len(stiffness), np.zeros(len(stiffness) + 1)
    count = len(numbers)
    own, slopes = np.empty(count), np.empty(count)
    for _ in range(MAX_STEPS):
        for v in range(size):
            forces[v] = -stiffness[v] * away[v]
        for i in range(count):
            own[i] = 0.0
            if ratios[i] < 1.0:
                slope, curvature = _derivatives(ratios[i], math.log(ratios[i]))
                own[i] = weights[i] / distances[i] * curvature
                add_at_point(-weights[i] * slope, numbers, shares, i, forces)
        step = solve(stiffness, numbers, shares, own, forces)
        promised, largest, fraction = 0.0, 0.0, 1.0
        for v in range(size):
            promised -= forces[v] * step[v]
        for i in range(count):
            slopes[i] = at_point(step, numbers, shares, i) / distances[i]
            largest = max(largest, abs(slopes[i]))
            if slopes[i] < 0.0:
                fraction = min(fraction, KEPT * ratios[i] / -slopes[i])
        for _ in range(HALVINGS):
            change, whole = _energy_change(
                stiffness, away, step, weights, distances, ratios, slopes, fraction
            )
            if change <= DECREASE * fraction * promised + ROUNDING * whole:
                break
            fraction *= 0.5
        else:
            break
        for v in range(size):
            away[v] += fraction * step[v]
        for i in range(count):
            ratios[i] += fraction * slopes[i]
        if fraction == 1.0 and largest <= still:
            break


@compiled()
def _energy_change(
    stiffness: Any,
    away: Any,
    step: Any,
    weights: Any,
    distances: Any,
    ratios: Any,
    slopes: Any,
    fraction: Any,
) -> Any:
    """By how much a share of a step changes the energy, and the sum of the sizes of what it is the
    difference of, in joules."""
    change = whole = 0.0
    for v in range(len(stiffness)):
        way = fraction * step[v]
        change += stiffness[v] * way * (away[v] + 0.5 * way)
        whole += stiffness[v] * away[v] * away[v]
    for i in range(len(ratios)):
        before = _barrier(ratios[i])
        after = _barrier(ratios[i] + fraction * slopes[i])
        scale = weights[i] * distances[i]
        change += scale * (after - before)
        whole += scale * before
    return change, whole


@compiled()
def _barrier(ratio: Any) -> float:
    if ratio >= 1.0:
        return 0.0
    return float(_beta(ratio, math.log(ratio)))
