# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground's forces on embedded points at the end of an explicit step, found once more.

As ``embedded_obstacle_barrier`` finds them, with each sweep kept, to go back through.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from .embedded_obstacle_barrier import MAX_STICKING_SWEEPS, SLIDING_RATIO
from .obstacle_barrier import proximal
from .obstacle_points import (
    HEIGHT_TOLERANCE_RATIO,
    MAX_GROWING_SWEEPS,
    MAX_SWEEPS,
    at_point,
    scatter_force,
)


class PointContacts(NamedTuple):
    """S points that the ground may push, of N vertices.

    Args:
        corners: (S, 4) vertices of each point.
        shares: (S, 4) of them in it.
        weights, distances: (S,) of the barrier, in newtons and metres.
        static, kinetic: (S,) coefficients of friction.
        compliance: (N,) in metres a newton over the step.
        own: (S,) the same of points.
        height, min_ratio: as ``EmbeddedGround`` has them.
        step: in seconds.
    """

    corners: Any
    shares: Any
    weights: Any
    distances: Any
    static: Any
    kinetic: Any
    compliance: Any
    own: Any
    height: float
    min_ratio: float
    step: float


class PointMotion(NamedTuple):
    """(N,) heights and (3, N) velocities of vertices; and of the K points ``near`` the ground (K,)
    and (K, 2) forces."""

    heights: Any
    velocities: Any
    near: Any
    normal: Any
    friction: Any


class PointSweeps(NamedTuple):
    """Room for what is before each sweep, of K points or more.

    Args:
        normal: (…, K, 3) forces, ratios of heights and distances without them, and roots.
        friction: (…, K, 4) forces, and how fast points slid.
        grows: (…,) whether normal forces only grew.
        slides: (K,) whether points have come to slide.
        pushed: (K,) of which the first are the points that there was any force on.
        counts: (4,) of sweeps of normal forces, of friction, and of that once points slide; and of
            what was pushed.
    """

    normal: Any
    friction: Any
    grows: Any
    slides: Any
    pushed: Any
    counts: Any

    @classmethod
    def of(cls, points: int, kind: Any) -> PointSweeps:
        most, frictions = MAX_SWEEPS + MAX_GROWING_SWEEPS + 1, MAX_STICKING_SWEEPS + MAX_SWEEPS
        return cls(
            np.empty((most, points, 3), kind),
            np.empty((frictions, points, 4), kind),
            np.empty(most, np.bool_),
            np.empty(points, np.bool_),
            np.empty(points, np.int32),
            np.zeros(4, np.int64),
        )


class PointTrace(NamedTuple):
    """How P points were pushed.

    Args:
        points: (P,) of all.
        normal, friction, grows: of A, B and A sweeps, as ``PointSweeps`` has them.
        sticks: how many of those of friction took the static coefficient.
        slides: (P,) whether points have come to slide.
        normal_forces, friction_forces: (P,) and (P, 2) in the end.
    """

    points: Any
    normal: Any
    friction: Any
    grows: Any
    sticks: int
    slides: Any
    normal_forces: Any
    friction_forces: Any


@compiled()
def vertices_of(corners: Any, near: Any, count: int) -> Any:
    """Of ``count`` vertices the (n,) that points near are of, each once."""
    found, size, is_found = np.empty(4 * len(near), np.int64), 0, np.zeros(count, np.bool_)
    for p in near:
        for k in range(4):
            v = corners[p, k]
            if not is_found[v]:
                is_found[v] = True
                found[size] = v
                size += 1
    return found[:size].copy()


@compiled()
def traced(motion: Any, sweeps: Any) -> Any:
    """``PointTrace`` of what ``meet_again`` did."""
    pushed, counts = sweeps.pushed[: sweeps.counts[3]], sweeps.counts
    normal = np.empty((counts[0], len(pushed), 3), sweeps.normal.dtype)
    friction = np.empty((counts[1] + counts[2], len(pushed), 4), sweeps.normal.dtype)
    for j in range(len(pushed)):
        for sweep in range(len(normal)):
            normal[sweep, j] = sweeps.normal[sweep, pushed[j]]
        for sweep in range(len(friction)):
            friction[sweep, j] = sweeps.friction[sweep, pushed[j]]
    return PointTrace(
        motion.near[pushed],
        normal,
        friction,
        sweeps.grows[: counts[0]].copy(),
        counts[1],
        sweeps.slides[pushed],
        motion.normal[pushed],
        motion.friction[pushed, :],
    )


@compiled()
def meet_again(points: Any, motion: Any, sweeps: Any) -> None:
    """As ``apply_ground_barrier`` does; ``motion`` is changed, ``sweeps`` filled in."""
    near, normal, friction = motion.near, motion.normal, motion.friction
    is_pushed = np.empty(len(near), np.bool_)
    for i in range(len(near)):
        is_pushed[i] = normal[i] != 0.0 or friction[i, 0] != 0.0 or friction[i, 1] != 0.0
        _move(points, near[i], normal[i], motion.heights)
    _push(points, motion, sweeps, is_pushed)
    limits, lower, sweeps.counts[3] = np.empty_like(normal), False, 0
    for i in range(len(near)):
        p = near[i]
        if is_pushed[i]:
            sweeps.pushed[sweeps.counts[3]] = i
            sweeps.counts[3] += 1
            _move(points, p, normal[i] / points.step, motion.velocities[2])
            for axis in range(2):
                _move(points, p, friction[i, axis] / points.step, motion.velocities[axis])
        limits[i] = points.static[p] * normal[i]
        lower = lower or points.kinetic[p] < points.static[p]
    most = MAX_STICKING_SWEEPS if lower else MAX_SWEEPS
    sweeps.counts[1] = _stop(points, motion, sweeps, limits, 0, most)
    sweeps.counts[2] = 0
    any_slides = False
    for i in range(len(near)):
        p = near[i]
        x = at_point(motion.velocities[0], points.corners, points.shares, p)
        y = at_point(motion.velocities[1], points.corners, points.shares, p)
        is_fast = points.step * math.sqrt(x * x + y * y) > SLIDING_RATIO * points.distances[p]
        sweeps.slides[i] = is_fast and points.kinetic[p] < points.static[p]
        if sweeps.slides[i]:
            limits[i], any_slides = points.kinetic[p] * normal[i], True
    if any_slides:
        sweeps.counts[2] = _stop(points, motion, sweeps, limits, sweeps.counts[1], MAX_SWEEPS)


@compiled(inline=True)
def _move(points: Any, p: int, force: float, out: Any) -> None:
    """Adds to (N,) values what a force on point p moves them by."""
    scatter_force(force, points.corners, points.shares, points.compliance, p, out)


@compiled()
def _push(points: Any, motion: Any, sweeps: Any, is_pushed: Any) -> None:
    """As ``solve_normal_forces``; marks what is pushed."""
    heights, forces = motion.heights, motion.normal
    sweep, only_grow = 0, False
    while True:
        change, is_below, sweeps.grows[sweep] = 0.0, False, only_grow
        for i in range(len(forces)):
            p, before, trace = motion.near[i], forces[i], sweeps.normal[sweep, i]
            own, distance = points.own[p], points.distances[p]
            if own > 0.0:
                height = at_point(heights, points.corners, points.shares, p) - points.height
                is_below = is_below or height <= 0.0
                start = (height - own * before) / distance
                root, force = start, 0.0
                if start < 1.0:
                    root = proximal(start, own * points.weights[p] / distance, points.min_ratio)
                    force, is_pushed[i] = (root - start) * distance / own, True
                if only_grow:
                    force = max(force, before)
                trace[0], trace[1], trace[2] = before, start, root
                if force != before:
                    forces[i] = force
                    _move(points, p, force - before, heights)
                    change = max(change, abs(own * (force - before)) / distance)
        sweep += 1
        if only_grow and (not is_below or sweep >= MAX_SWEEPS + MAX_GROWING_SWEEPS):
            break
        only_grow = only_grow or change <= HEIGHT_TOLERANCE_RATIO or sweep >= MAX_SWEEPS
    sweeps.counts[0] = sweep


@compiled()
def _stop(points: Any, motion: Any, sweeps: Any, limits: Any, first: int, most: int) -> int:
    """As ``solve_friction``; how many sweeps it took."""
    step = points.step
    velocities, friction = motion.velocities, motion.friction
    for sweep in range(most):
        change = 0.0
        for j in range(sweeps.counts[3]):
            i = sweeps.pushed[j]
            p, trace, limit = motion.near[i], sweeps.friction[first + sweep, i], limits[i]
            before_x, before_y = friction[i, 0], friction[i, 1]
            trace[0], trace[1] = before_x, before_y
            if limit > 0.0 or before_x != 0.0 or before_y != 0.0:
                own = points.own[p] / step
                trace[2] = at_point(velocities[0], points.corners, points.shares, p)
                trace[3] = at_point(velocities[1], points.corners, points.shares, p)
                x, y = before_x - trace[2] / own, before_y - trace[3] / own
                size = math.sqrt(x * x + y * y)
                if size > limit:
                    x, y = x * (limit / size), y * (limit / size)
                friction[i, 0], friction[i, 1] = x, y
                x, y = x - before_x, y - before_y
                _move(points, p, x / step, velocities[0])
                _move(points, p, y / step, velocities[1])
                change = max(change, own * step * (abs(x) + abs(y)) / points.distances[p])
        if change <= HEIGHT_TOLERANCE_RATIO:
            return sweep + 1
    return most
