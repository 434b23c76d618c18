# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of ``EmbeddedBarrierStep`` on a CPU: normal forces and friction on points."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from .obstacle_points import (
    HEIGHT_TOLERANCE_RATIO,
    MAX_GROWING_SWEEPS,
    MAX_SWEEPS,
    at_point,
    find_points_near_ground,
    point_compliances,
    scatter_force,
    solve_normal_forces,
)

# Sweeps at most to find which points the static coefficient stops where the kinetic one is lower,
# and the ratio of a step's sliding to the activation distance below which a point counts as stuck.
MAX_STICKING_SWEEPS, SLIDING_RATIO = 50, 1e-3


class GroundCoefficients(NamedTuple):
    """(S,) static and kinetic coefficients of friction, and whether any is above zero."""

    static: Any
    kinetic: Any
    act: bool


class Motion(NamedTuple):
    """A step that ends.

    Args:
        positions, velocities: (3, N) at its end; they are changed.
        step: its length in seconds.
        impulse_times: (N,) over which forces change velocities, in seconds.
        inverse_mass: (N,) in 1/kg.
    """

    positions: Any
    velocities: Any
    step: float
    impulse_times: Any
    inverse_mass: Any


class SweepTrace(NamedTuple):
    """Room for what sweeps did to points near the ground, S at most: to go back through them.

    Args:
        normal: (…, S, 2) forces before each sweep, and ratios of height and distance after it, one
            where nothing pushes.
        friction: (…, S, 4) forces before each sweep, and those that would have stopped points.
        slides: (S,) whether points have come to slide.
        counts: (5,) of points near; of sweeps of normal forces, and how many of them at the end let
            these only grow; of sweeps of friction, and how many took the static coefficient.
    """

    normal: Any
    friction: Any
    slides: Any
    counts: Any

    @classmethod
    def of(cls, points: int, kind: Any) -> SweepTrace:
        return cls(
            np.empty((MAX_SWEEPS + MAX_GROWING_SWEEPS, points, 2), kind),
            np.empty((MAX_STICKING_SWEEPS + MAX_SWEEPS, points, 4), kind),
            np.empty(points, np.bool_),
            np.empty(5, np.int64),
        )


@compiled(allocates=True)
def apply_ground_barrier(
    motion: Any,
    ground: Any,
    groups: Any,
    coefficients: Any,
    forces: Any,
    compliance: Any,
    near: Any,
    trace: Any,
) -> None:
    """Moves vertices to where the barrier and friction leave them at the end of an explicit step.

    Args:
        motion, ground, groups: ``Motion``, ``EmbeddedGround`` and ``PointGroups``.
        coefficients, forces: ``GroundCoefficients`` and ``PointForces``.
        compliance, near: (N,) and (S,) to work with.
        trace: ``SweepTrace`` or None.
    """
    corners, shares, step = ground.corners, ground.shares, motion.step
    heights, vertical = motion.positions[2], motion.velocities[2]
    impulse_times, inverse_mass, normal = motion.impulse_times, motion.inverse_mass, forces.normal
    near = near[: find_points_near_ground(heights, ground, groups, forces, near)]
    if trace is not None:
        trace.counts[:], trace.slides[:] = 0, False
        trace.counts[0] = len(near)
    for p in near:
        for k in range(4):
            v = corners[p, k]
            compliance[v] = step * impulse_times[v] * inverse_mass[v]
    for p in near:
        # Points are mostly pushed as in the previous step.
        scatter_force(normal[p], corners, shares, compliance, p, heights)
    tolerance = HEIGHT_TOLERANCE_RATIO
    solve_normal_forces(heights, ground, compliance, near, normal, MAX_SWEEPS, tolerance, trace)
    for p in near:
        if normal[p] > 0.0:
            scatter_force(normal[p] / step, corners, shares, compliance, p, vertical)
    if coefficients.act:
        apply_friction(motion, ground, coefficients, forces, compliance, near, trace)


@compiled(allocates=True)
def apply_friction(
    motion: Any,
    ground: Any,
    coefficients: Any,
    forces: Any,
    compliance: Any,
    near: Any,
    trace: Any,
) -> None:
    """Lets Coulomb friction slow the points that the ground pushes.

    Points that the static coefficient does not stop slide, and are slowed by the kinetic one.

    Args:
        compliance: (N,) of each vertex in metres a newton over the step.
        near: (K,) points that may be in contact.
        trace: ``SweepTrace`` or None.
    """
    corners, shares, distances = ground.corners, ground.shares, ground.distances
    static, kinetic, velocities = coefficients.static, coefficients.kinetic, motion.velocities
    normal, friction, step = forces.normal, forces.friction, motion.step
    point_compliance = point_compliances(corners, shares, compliance, near)
    limits, kinetic_is_lower = np.empty(len(near), compliance.dtype), False
    for i in range(len(near)):
        p = near[i]
        limits[i] = static[p] * normal[p]
        kinetic_is_lower = kinetic_is_lower or kinetic[p] < static[p]
        apply_tangential_force(motion, ground, compliance, p, friction[p, 0], friction[p, 1])
    sweeps = MAX_STICKING_SWEEPS if kinetic_is_lower else MAX_SWEEPS
    solve_friction(
        sweeps, limits, motion, ground, compliance, near, point_compliance, friction, trace
    )
    if trace is not None:
        trace.counts[4] = trace.counts[3]
    any_slides = False
    for i in range(len(near)):
        p = near[i]
        if kinetic_is_lower and kinetic[p] < static[p]:
            x = at_point(velocities[0], corners, shares, p)
            y = at_point(velocities[1], corners, shares, p)
            if step * math.sqrt(x * x + y * y) > SLIDING_RATIO * distances[p]:
                limits[i], any_slides = kinetic[p] * normal[p], True
                if trace is not None:
                    trace.slides[i] = True
    if any_slides:
        solve_friction(
            MAX_SWEEPS, limits, motion, ground, compliance, near, point_compliance, friction, trace
        )


@compiled()
def solve_friction(
    max_sweeps: int,
    limits: Any,
    motion: Any,
    ground: Any,
    compliance: Any,
    near: Any,
    point_compliance: Any,
    friction: Any,
    trace: Any,
) -> None:
    """Stops points by forces of at most (K,) ``limits``, one point after the other.

    Args:
        max_sweeps: through all points.
        point_compliance: (K,) of the points near.
        friction: (S, 2) forces so far; they are changed.
        trace: ``SweepTrace`` or None.
    """
    corners, shares, distances = ground.corners, ground.shares, ground.distances
    velocities, step = motion.velocities, motion.step
    for _ in range(max_sweeps):
        change = 0.0
        for i in range(len(near)):
            p = near[i]
            limit, before_x, before_y = limits[i], friction[p, 0], friction[p, 1]
            if trace is not None:
                kept = trace.friction[trace.counts[3], i]
                kept[0], kept[1] = before_x, before_y
            if limit > 0.0 or before_x != 0.0 or before_y != 0.0:
                own = point_compliance[i] / step
                x = before_x - at_point(velocities[0], corners, shares, p) / own
                y = before_y - at_point(velocities[1], corners, shares, p) / own
                if trace is not None:
                    kept[2], kept[3] = x, y
                size = math.sqrt(x * x + y * y)
                if size > limit:
                    x, y = x * (limit / size), y * (limit / size)
                friction[p, 0], friction[p, 1] = x, y
                x, y = x - before_x, y - before_y
                apply_tangential_force(motion, ground, compliance, p, x, y)
                change = max(change, own * step * (abs(x) + abs(y)) / distances[p])
        if trace is not None:
            trace.counts[3] += 1
        if change <= HEIGHT_TOLERANCE_RATIO:
            break


@compiled()
def apply_tangential_force(
    motion: Any, ground: Any, compliance: Any, p: Any, x: Any, y: Any
) -> None:
    """Lets a horizontal force on point p act over a step."""
    corners, shares = ground.corners, ground.shares
    positions, velocities, step = motion.positions, motion.velocities, motion.step
    for k in range(4):
        v = corners[p, k]
        share = shares[p, k] * compliance[v]
        positions[0, v] += share * x
        positions[1, v] += share * y
        velocities[0, v] += share / step * x
        velocities[1, v] += share / step * y
