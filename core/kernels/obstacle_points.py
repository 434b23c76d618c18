# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels for contact of embedded points with the ground.

The ground pushes points, points share vertices, and a vertex that one lifts lifts others: normal
forces are found point by point, again and again, each time exactly for one of them (projected
Gauss–Seidel on the forces), always in the order of the points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from .obstacle_barrier import proximal

# Sweeps through the points near the ground in an explicit step, at most; they end when no height
# changes by more than this ratio of the activation distance.
MAX_SWEEPS, HEIGHT_TOLERANCE_RATIO = 3, 1e-4
# Sweeps at the end in which forces only grow, at most.
MAX_GROWING_SWEEPS = 20
# Points above so many activation distances cannot be brought near by what is pushed.
SEARCH_RADIUS_RATIO = 2.0


class EmbeddedGround(NamedTuple):
    """The ground's barrier, and the S points that it pushes.

    Args:
        corners: (S, 4) vertices of each point.
        shares: (S, 4) of them in it, which sum to one.
        weights: (S,) of the barrier in N.
        distances: (S,) activation distances in metres.
        height: of the ground in metres.
        min_ratio: of height and distance, told from zero.
    """

    corners: Any
    shares: Any
    weights: Any
    distances: Any
    height: float
    min_ratio: float


class PointGroups(NamedTuple):
    """Points by the tet that they lie in.

    Args:
        offsets: (G + 1,) of the points of each tet.
        outside: (G,) by what share of a tet's height its points may lie below its corners.
    """

    offsets: Any
    outside: Any


class PointForces(NamedTuple):
    """Forces of the ground, which a step begins with as the previous one left them.

    Args:
        normal: (S,) in newtons.
        friction: (S, 2) in newtons.
        was_near: (G,) whether any point of a tet may have some.
    """

    normal: Any
    friction: Any
    was_near: Any


@compiled()
def at_point(values: Any, corners: Any, shares: Any, p: Any) -> Any:
    """Of (N,) values of vertices that of point p."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] * values[corners[p, k]]
    return total


@compiled()
def scatter_force(force: Any, corners: Any, shares: Any, compliance: Any, p: Any, out: Any) -> None:
    """Adds the displacements by a force on point p to (N,) values of vertices."""
    for k in range(4):
        v = corners[p, k]
        out[v] += shares[p, k] * compliance[v] * force


@compiled()
def compliance_at(corners: Any, shares: Any, compliance: Any, p: Any) -> Any:
    """The displacement of point p by a unit force on it."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] ** 2 * compliance[corners[p, k]]
    return total


@compiled(allocates=True)
def point_compliances(corners: Any, shares: Any, compliance: Any, near: Any) -> Any:
    """``compliance_at`` of each point that is near."""
    out = np.empty(len(near), compliance.dtype)
    for i in range(len(near)):
        out[i] = compliance_at(corners, shares, compliance, near[i])
    return out


@compiled()
def find_points_near_ground(heights: Any, ground: Any, groups: Any, forces: Any, out: Any) -> int:
    """Finds the points that may be in contact; how many those are.

    Args:
        heights: (N,) of vertices.
        ground: ``EmbeddedGround``.
        groups: ``PointGroups``.
        forces: ``PointForces``, which points that are not near lose.
        out: (S,) whose first part is filled in.
    """
    corners, shares, distances = ground.corners, ground.shares, ground.distances
    offsets, outside, was_near = groups.offsets, groups.outside, forces.was_near
    normal, friction, level = forces.normal, forces.friction, ground.height
    count = 0
    for g in range(len(offsets) - 1):
        first = offsets[g]
        low = high = heights[corners[first, 0]]
        for k in range(1, 4):
            low = min(low, heights[corners[first, k]])
            high = max(high, heights[corners[first, k]])
        lowest = low - outside[g] * (high - low) - level
        is_near = lowest < SEARCH_RADIUS_RATIO * distances[first]
        if is_near or was_near[g]:
            for p in range(first, offsets[g + 1]):
                limit = SEARCH_RADIUS_RATIO * distances[p]
                if is_near and at_point(heights, corners, shares, p) - level < limit:
                    out[count] = p
                    count += 1
                else:
                    normal[p], friction[p, 0], friction[p, 1] = 0.0, 0.0, 0.0
        was_near[g] = is_near
    return count


@compiled(allocates=True)
def solve_normal_forces(
    heights: Any,
    ground: Any,
    compliance: Any,
    near: Any,
    forces: Any,
    max_sweeps: int,
    tolerance: float,
    trace: Any,
) -> None:
    """Moves (N,) heights to where the barrier's forces on points hold them.

    Least is ½ Σ (z − z̃)²/c + Σ w d̂ β(u), z̃ the heights without the forces that points have at the
    beginning.

    Args:
        ground: ``EmbeddedGround``.
        compliance: (N,) c of each vertex in m/N; zero holds it.
        near: (K,) points that may be in contact.
        forces: (S,) in newtons; they are changed.
        max_sweeps: through all of them.
        tolerance: change of a height over its distance at which it ends.
        trace: None, or takes down each sweep, as ``SweepTrace`` says.
    """
    corners, shares, weights = ground.corners, ground.shares, ground.weights
    distances, level, min_ratio = ground.distances, ground.height, ground.min_ratio
    point_compliance = point_compliances(corners, shares, compliance, near)
    sweep, only_grow = 0, False
    while True:
        change, is_below = 0.0, False
        for i in range(len(near)):
            p, own = near[i], point_compliance[i]
            if own > 0.0:
                distance, before = distances[p], forces[p]
                ratio = (at_point(heights, corners, shares, p) - level) / distance
                is_below = is_below or ratio <= 0.0
                start = ratio - own * before / distance
                force, root = 0.0, 1.0
                if start < 1.0:
                    root = proximal(start, own * weights[p] / distance, min_ratio)
                    force = (root - start) * distance / own
                if only_grow:
                    force = max(force, before)
                if trace is not None:
                    trace.normal[sweep, i, 0], trace.normal[sweep, i, 1] = before, root
                if force != before:
                    forces[p] = force
                    scatter_force(force - before, corners, shares, compliance, p, heights)
                    change = max(change, abs(own * (force - before)) / distance)
        sweep += 1
        if trace is not None:
            trace.counts[1], trace.counts[2] = sweep, trace.counts[2] + only_grow
        # Points that others let sink are lifted at the end, and no force falls any more.
        if only_grow and (not is_below or sweep >= max_sweeps + MAX_GROWING_SWEEPS):
            break
        only_grow = only_grow or change <= tolerance or sweep >= max_sweeps
