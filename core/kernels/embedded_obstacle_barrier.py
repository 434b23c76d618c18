# SPDX-License-Identifier: GPL-3.0-or-later
"""``EmbeddedBarrierStep`` on a CPU, as compiled loops: how points are pushed up and slowed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .obstacle_points import STILL, SWEEPS, at_point, find_near, given_way, push_up, spread

# Sweeps at most to find what the static coefficient holds where the kinetic one is lower, and the
# least that a point slides in a step, over its distance: what is not yet held is no more than that.
HOLDS, SLIDES = 50, 1e-3


@compiled()
def hold_back(
    positions: Any,
    velocities: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    distances: Any,
    static: Any,
    kinetic: Any,
    step: float,
    near: Any,
    count: int,
    forces: Any,
    drags: Any,
) -> None:
    """Lets Coulomb friction slow the points that are pushed with ``forces``.

    What the static coefficient does not hold slides, and is slowed by the kinetic one.

    Args:
        positions, velocities: (3, N) at the end of a step of ``step`` seconds.
        compliance: (N,) of each vertex in metres a newton over the step.
        static, kinetic: (S,) coefficients.
        drags: (S, 2) forces of friction, as the step before had them at the beginning.
    """
    give = given_way(corners, shares, compliance, near, count)
    limits, falls = np.empty(count, give.dtype), False
    for i in range(count):
        p = near[i]
        limits[i] = static[p] * forces[p]
        falls = falls or kinetic[p] < static[p]
        pull(positions, velocities, corners, shares, compliance, step, p, drags[p, 0], drags[p, 1])
    own = (positions, velocities, corners, shares, compliance, distances, step, near, give, drags)
    slow(HOLDS if falls else SWEEPS, limits, *own)
    slides = False
    for i in range(count):
        p = near[i]
        if falls and kinetic[p] < static[p]:
            x = at_point(velocities[0], corners, shares, p)
            y = at_point(velocities[1], corners, shares, p)
            if step * math.sqrt(x * x + y * y) > SLIDES * distances[p]:
                limits[i], slides = kinetic[p] * forces[p], True
    if slides:
        slow(SWEEPS, limits, *own)


@compiled()
def slow(
    sweeps: int,
    limits: Any,
    positions: Any,
    velocities: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    distances: Any,
    step: float,
    near: Any,
    give: Any,
    drags: Any,
) -> None:
    """Stops points by forces of at most (count,) ``limits``, one point after the other.

    Args:
        sweeps: through all points at most.
        give: (count,) by how much each gives way.
        drags: (S, 2) the forces so far; they are changed.
    """
    for _ in range(sweeps):
        change = 0.0
        for i in range(len(give)):
            p = near[i]
            limit, before_x, before_y = limits[i], drags[p, 0], drags[p, 1]
            if limit > 0.0 or before_x != 0.0 or before_y != 0.0:
                own = give[i] / step
                x = before_x - at_point(velocities[0], corners, shares, p) / own
                y = before_y - at_point(velocities[1], corners, shares, p) / own
                size = math.sqrt(x * x + y * y)
                if size > limit:
                    x, y = x * (limit / size), y * (limit / size)
                drags[p, 0], drags[p, 1] = x, y
                x, y = x - before_x, y - before_y
                pull(positions, velocities, corners, shares, compliance, step, p, x, y)
                change = max(change, own * step * (abs(x) + abs(y)) / distances[p])
        if change <= STILL:
            break


@compiled()
def pull(
    positions: Any,
    velocities: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    step: float,
    p: Any,
    x: Any,
    y: Any,
) -> None:
    """Lets a sideways force on point p act over a step."""
    for k in range(4):
        v = corners[p, k]
        share = shares[p, k] * compliance[v]
        positions[0, v] += share * x
        positions[1, v] += share * y
        velocities[0, v] += share / step * x
        velocities[1, v] += share / step * y


@compiled()
def meet_ground(
    positions: Any,
    velocities: Any,
    corners: Any,
    shares: Any,
    groups: Any,
    outside: Any,
    weights: Any,
    distances: Any,
    ground: float,
    static: Any,
    kinetic: Any,
    rubs: bool,
    step: float,
    impulse_times: Any,
    inverse_mass: Any,
    smallest: float,
    near: Any,
    compliance: Any,
    forces: Any,
    drags: Any,
    was_near: Any,
) -> None:
    """Changes (3, N) positions and velocities at the end of an explicit step.

    Args:
        static, kinetic: (S,) coefficients of friction, of which ``rubs`` tells whether any is
            above zero.
        impulse_times: (N,) over which forces change velocities, in seconds.
        inverse_mass: (N,) in 1/kg.
        near, compliance: (S,) and (N,) to work with.
        forces, drags, was_near: (S,), (S, 2) and (G,) as the step before left them.
    """
    heights = positions[2]
    count = find_near(
        heights,
        corners,
        shares,
        groups,
        outside,
        distances,
        ground,
        near,
        forces,
        drags,
        was_near,
    )
    for i in range(count):
        p = near[i]
        for k in range(4):
            v = corners[p, k]
            compliance[v] = step * impulse_times[v] * inverse_mass[v]
    for i in range(count):
        # Points are mostly pushed as in the step before.
        spread(forces[near[i]], corners, shares, compliance, near[i], heights)
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
        STILL,
    )
    for i in range(count):
        p = near[i]
        if forces[p] > 0.0:
            spread(forces[p] / step, corners, shares, compliance, p, velocities[2])
    if rubs:
        hold_back(
            positions,
            velocities,
            corners,
            shares,
            compliance,
            distances,
            static,
            kinetic,
            step,
            near,
            count,
            forces,
            drags,
        )
