# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact of embedded points with the ground, as compiled loops.

The ground pushes points, points share vertices, and a vertex that one lifts lifts others: what they
are pushed with is found point by point, again and again, each time exactly for one of them
(projected Gauss–Seidel on the forces), always in the order of the points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .obstacle_barrier import proximal

# Through the points that are near in an explicit step, at most; and until no height changes by more
# than this share of the distance at which the ground begins to push.
SWEEPS, STILL = 3, 1e-4
# Sweeps at the end in which forces only grow, at most.
RISES = 20
# What is farther than so many distances cannot be brought near by what is pushed.
NEAR = 2.0


@compiled()
def at_point(values: Any, corners: Any, shares: Any, p: Any) -> Any:
    """Of (N,) values of vertices that of point p."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] * values[corners[p, k]]
    return total


@compiled()
def spread(force: Any, corners: Any, shares: Any, compliance: Any, p: Any, out: Any) -> None:
    """Adds what a force on point p does to (N,) values of vertices."""
    for k in range(4):
        v = corners[p, k]
        out[v] += shares[p, k] * compliance[v] * force


@compiled()
def compliance_at(corners: Any, shares: Any, compliance: Any, p: Any) -> Any:
    """By how much point p gives way to a force on it."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] ** 2 * compliance[corners[p, k]]
    return total


@compiled()
def given_way(corners: Any, shares: Any, compliance: Any, near: Any, count: int) -> Any:
    """``compliance_at`` of each point that is near."""
    give = np.empty(count, compliance.dtype)
    for i in range(count):
        give[i] = compliance_at(corners, shares, compliance, near[i])
    return give


@compiled()
def find_near(
    heights: Any,
    corners: Any,
    shares: Any,
    groups: Any,
    outside: Any,
    distances: Any,
    ground: float,
    near: Any,
    forces: Any,
    drags: Any,
    was_near: Any,
) -> Any:
    """Lists the points that may touch the ground in ``near``; returns how many.

    Args:
        heights: (N,) of vertices.
        groups: (G + 1,) where the points of each tet begin.
        outside: (G,) by what share of a tet's height its points may lie below its corners.
        forces, drags: of the points, which those that are not near lose.
        was_near: (G,) whether any point of a tet may have some.
    """
    count = 0
    for g in range(len(groups) - 1):
        first = groups[g]
        low = high = heights[corners[first, 0]]
        for k in range(1, 4):
            low = min(low, heights[corners[first, k]])
            high = max(high, heights[corners[first, k]])
        is_near = low - outside[g] * (high - low) - ground < NEAR * distances[first]
        if is_near or was_near[g]:
            for p in range(first, groups[g + 1]):
                if is_near and at_point(heights, corners, shares, p) - ground < NEAR * distances[p]:
                    near[count] = p
                    count += 1
                else:
                    forces[p], drags[p, 0], drags[p, 1] = 0.0, 0.0, 0.0
        was_near[g] = is_near
    return count


@compiled()
def push_up(
    heights: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    weights: Any,
    distances: Any,
    ground: float,
    smallest: float,
    near: Any,
    count: int,
    forces: Any,
    sweeps: int,
    still: float,
) -> None:
    """Moves (N,) heights to where the barrier's forces on points hold them.

    Least is ½ Σ (z − z̃)²/c + Σ w d̂ β(u), z̃ the heights without the forces that points have at the
    beginning.

    Args:
        compliance: (N,) c of each vertex in m/N; zero holds it.
        weights, distances: (S,) of the barrier, in N and metres.
        smallest: height over distance that is told from zero.
        near: (count,) points to look at.
        forces: (S,) in newtons; they are changed.
        sweeps: through all of them at most.
        still: change of a height over its distance at which it ends.
    """
    give = given_way(corners, shares, compliance, near, count)
    sweep, rises = 0, False
    while True:
        change, sunk = 0.0, False
        for i in range(count):
            p, own = near[i], give[i]
            if own > 0.0:
                distance, before = distances[p], forces[p]
                ratio = (at_point(heights, corners, shares, p) - ground) / distance
                sunk = sunk or ratio <= 0.0
                start = ratio - own * before / distance
                force = 0.0
                if start < 1.0:
                    root = proximal(start, own * weights[p] / distance, smallest)
                    force = (root - start) * distance / own
                if rises:
                    force = max(force, before)
                if force != before:
                    forces[p] = force
                    spread(force - before, corners, shares, compliance, p, heights)
                    change = max(change, abs(own * (force - before)) / distance)
        sweep += 1
        # What others have let sink is lifted at the end, and nothing is let down any more.
        if rises and (not sunk or sweep >= sweeps + RISES):
            break
        rises = rises or change <= still or sweep >= sweeps
