# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the forces of the ground on embedded points at the end of an explicit step.

``embedded_obstacle_barrier`` ends its sweeps before forces have converged: what is differentiated
is what it did, by taking its sweeps again and then back, point by point. A point is lifted to the
root u of u − s + k β'(u) = 0, s its height without its own force and k = c w/d̂ of its compliance c,
so that du = (ds − β'(u) dk) / (1 + k β''(u)), by the force −w β'(u).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from .embedded_obstacle_barrier import MAX_STICKING_SWEEPS, SLIDING_RATIO
from .obstacle_barrier import ground_derivatives, proximal
from .obstacle_points import (
    HEIGHT_TOLERANCE_RATIO,
    MAX_GROWING_SWEEPS,
    MAX_SWEEPS,
    at_point,
    scatter_force,
)


class PointContacts(NamedTuple):
    """K points that the ground may push, of n vertices.

    Args:
        corners: (K, 4) vertices of each point.
        shares: (K, 4) of them in it.
        weights, distances: (K,) of the barrier, in newtons and metres.
        static, kinetic: (K,) coefficients of friction.
        compliance: (n,) in metres a newton over the step.
        own: (K,) the same of points.
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
    """(n,) heights and (3, n) velocities of vertices, (K,) and (K, 2) forces on points."""

    heights: Any
    velocities: Any
    normal: Any
    friction: Any


class PointSweeps(NamedTuple):
    """What was before each sweep.

    Args:
        normal, friction: (…, K) and (…, K, 2) forces.
        grows: (…,) whether normal forces only grew.
        slides: (K,) whether points have come to slide.
        counts: (3,) of sweeps of normal forces, of friction, and of that once points slide.
    """

    normal: Any
    friction: Any
    grows: Any
    slides: Any
    counts: Any

    @classmethod
    def of(cls, points: int, kind: Any) -> PointSweeps:
        """Room for them."""
        most, frictions = MAX_SWEEPS + MAX_GROWING_SWEEPS + 1, MAX_STICKING_SWEEPS + MAX_SWEEPS
        return cls(
            np.zeros((most, points), kind),
            np.zeros((frictions, points, 2), kind),
            np.zeros(most, np.bool_),
            np.zeros(points, np.bool_),
            np.zeros(3, np.int64),
        )


class ByPoints(NamedTuple):
    """Gradients by members of ``PointContacts`` and ``PointMotion`` of the same name.

    Args:
        sliding: (2, n) by horizontal velocities, with what those have moved by.
        vertical: (n,) by vertical velocities.
        height: (1,).
    """

    weights: Any
    static: Any
    kinetic: Any
    compliance: Any
    own: Any
    height: Any
    heights: Any
    sliding: Any
    vertical: Any
    normal: Any
    friction: Any


@compiled()
def meet_again(points: Any, motion: Any, sweeps: Any) -> None:
    """As ``apply_ground_barrier`` does; ``motion`` is changed, ``sweeps`` filled in."""
    for p in range(len(points.own)):
        _move(points, p, motion.normal[p], motion.heights)
    _push(points, motion, sweeps)
    for p in range(len(points.own)):
        _move(points, p, motion.normal[p] / points.step, motion.velocities[2])
    limits, lower = points.static * motion.normal, False
    for p in range(len(points.own)):
        lower = lower or points.kinetic[p] < points.static[p]
        for axis in range(2):
            force = motion.friction[p, axis] / points.step
            _move(points, p, force, motion.velocities[axis])
    most = MAX_STICKING_SWEEPS if lower else MAX_SWEEPS
    sweeps.counts[1] = _stop(points, motion, sweeps, limits, 0, most)
    sweeps.counts[2] = 0
    any_slides = False
    for p in range(len(points.own)):
        x = at_point(motion.velocities[0], points.corners, points.shares, p)
        y = at_point(motion.velocities[1], points.corners, points.shares, p)
        is_fast = points.step * math.sqrt(x * x + y * y) > SLIDING_RATIO * points.distances[p]
        sweeps.slides[p] = is_fast and points.kinetic[p] < points.static[p]
        if sweeps.slides[p]:
            limits[p], any_slides = points.kinetic[p] * motion.normal[p], True
    if any_slides:
        sweeps.counts[2] = _stop(points, motion, sweeps, limits, sweeps.counts[1], MAX_SWEEPS)


@compiled()
def meet_back(points: Any, motion: Any, sweeps: Any, out: Any) -> None:
    """Takes back what ``meet_again`` did.

    Args:
        motion: as that left it; its heights, horizontal velocities and forces go back to before.
        out: ``ByPoints`` by the end, which becomes that by the start.
    """
    _friction_back(points, motion, sweeps, out)
    for p in range(len(points.own)):
        force = motion.normal[p] / points.step
        found = _move_back(points, p, force, out.vertical, out.compliance)
        out.normal[p] += found / points.step
    for sweep in range(sweeps.counts[0] - 1, -1, -1):
        for p in range(len(points.own) - 1, -1, -1):
            if points.own[p] > 0.0:
                _push_back(points, motion, p, sweeps.normal[sweep, p], sweeps.grows[sweep], out)
    for p in range(len(points.own)):
        out.normal[p] += _move_back(points, p, motion.normal[p], out.heights, out.compliance)
        for k in range(4):
            out.compliance[points.corners[p, k]] += points.shares[p, k] ** 2 * out.own[p]


@compiled()
def _move(points: Any, p: int, force: float, out: Any) -> None:
    """Adds to (n,) values what a force on point p moves them by."""
    scatter_force(force, points.corners, points.shares, points.compliance, p, out)


@compiled()
def _move_back(points: Any, p: int, force: float, wanted: Any, out: Any) -> float:
    """From (n,) gradients by what a force on point p has moved to that by the force; those by
    compliances grow."""
    found = 0.0
    for k in range(4):
        v = points.corners[p, k]
        along = points.shares[p, k] * wanted[v]
        out[v] += along * force
        found += along * points.compliance[v]
    return found


@compiled()
def _height_without(points: Any, motion: Any, p: int, force: float) -> float:
    """The ratio of the height of point p and its distance, without its own force."""
    height = at_point(motion.heights, points.corners, points.shares, p) - points.height
    return (height - points.own[p] * force) / points.distances[p]


@compiled()
def _push(points: Any, motion: Any, sweeps: Any) -> None:
    """As ``solve_normal_forces``."""
    forces = motion.normal
    sweep, only_grow = 0, False
    while True:
        change, is_below, sweeps.grows[sweep] = 0.0, False, only_grow
        for p in range(len(forces)):
            own, distance, before = points.own[p], points.distances[p], forces[p]
            sweeps.normal[sweep, p] = before
            if own > 0.0:
                start = _height_without(points, motion, p, before)
                is_below = is_below or start + own * before / distance <= 0.0
                force = 0.0
                if start < 1.0:
                    root = proximal(start, own * points.weights[p] / distance, points.min_ratio)
                    force = (root - start) * distance / own
                if only_grow:
                    force = max(force, before)
                if force != before:
                    forces[p] = force
                    _move(points, p, force - before, motion.heights)
                    change = max(change, abs(own * (force - before)) / distance)
        sweep += 1
        if only_grow and (not is_below or sweep >= MAX_SWEEPS + MAX_GROWING_SWEEPS):
            break
        only_grow = only_grow or change <= HEIGHT_TOLERANCE_RATIO or sweep >= MAX_SWEEPS
    sweeps.counts[0] = sweep


@compiled()
def _push_back(points: Any, motion: Any, p: int, before: float, grows: bool, out: Any) -> None:
    """Through a normal force, to the one that there was before."""
    after = motion.normal[p]
    own, distance, weight = points.own[p], points.distances[p], points.weights[p]
    along = _move_back(points, p, after - before, out.heights, out.compliance)
    _move(points, p, before - after, motion.heights)
    motion.normal[p] = before
    wanted, out.normal[p] = out.normal[p] + along, -along
    if grows and after == before:
        out.normal[p] += wanted
        return
    start = _height_without(points, motion, p, before)
    if start >= 1.0:
        return
    stiffness = own * weight / distance
    root = proximal(start, stiffness, points.min_ratio)
    first, second = ground_derivatives(root, math.log(root))
    by_start = -wanted * weight * second / (1.0 + stiffness * second)
    by_stiffness = -first * by_start
    out.weights[p] += by_stiffness * own / distance - first * wanted
    out.own[p] += (by_stiffness * weight - by_start * before) / distance
    out.normal[p] -= by_start * own / distance
    out.height[0] -= by_start / distance
    for k in range(4):
        out.heights[points.corners[p, k]] += points.shares[p, k] * by_start / distance


@compiled()
def _stop(points: Any, motion: Any, sweeps: Any, limits: Any, first: int, most: int) -> int:
    """As ``solve_friction``; how many sweeps it took."""
    step = points.step
    velocities, friction = motion.velocities, motion.friction
    for sweep in range(most):
        change = 0.0
        for p in range(len(limits)):
            before_x, before_y = friction[p, 0], friction[p, 1]
            sweeps.friction[first + sweep, p, 0] = before_x
            sweeps.friction[first + sweep, p, 1] = before_y
            if limits[p] > 0.0 or before_x != 0.0 or before_y != 0.0:
                own = points.own[p] / step
                x = before_x - at_point(velocities[0], points.corners, points.shares, p) / own
                y = before_y - at_point(velocities[1], points.corners, points.shares, p) / own
                size = math.sqrt(x * x + y * y)
                if size > limits[p]:
                    x, y = x * (limits[p] / size), y * (limits[p] / size)
                friction[p, 0], friction[p, 1] = x, y
                x, y = x - before_x, y - before_y
                _move(points, p, x / step, velocities[0])
                _move(points, p, y / step, velocities[1])
                change = max(change, own * step * (abs(x) + abs(y)) / points.distances[p])
        if change <= HEIGHT_TOLERANCE_RATIO:
            return sweep + 1
    return most


@compiled()
def _friction_back(points: Any, motion: Any, sweeps: Any, out: Any) -> None:
    """Through all of friction."""
    limits = points.static * motion.normal
    by_limits = np.zeros_like(limits)
    for p in range(len(limits)):
        if sweeps.slides[p]:
            limits[p] = points.kinetic[p] * motion.normal[p]
    for sweep in range(sweeps.counts[1] + sweeps.counts[2] - 1, -1, -1):
        if sweep == sweeps.counts[1] - 1:
            for p in range(len(limits)):
                if sweeps.slides[p]:
                    out.kinetic[p] += by_limits[p] * motion.normal[p]
                    out.normal[p] += by_limits[p] * points.kinetic[p]
                    limits[p], by_limits[p] = points.static[p] * motion.normal[p], 0.0
        for p in range(len(limits) - 1, -1, -1):
            before = sweeps.friction[sweep, p]
            if limits[p] > 0.0 or before[0] != 0.0 or before[1] != 0.0:
                by_limits[p] += _stop_back(points, motion, p, before, limits[p], out)
    for p in range(len(limits)):
        out.static[p] += by_limits[p] * motion.normal[p]
        out.normal[p] += by_limits[p] * points.static[p]
        for axis in range(2):
            force = motion.friction[p, axis] / points.step
            found = _move_back(points, p, force, out.sliding[axis], out.compliance)
            out.friction[p, axis] += found / points.step


@compiled()
def _stop_back(points: Any, motion: Any, p: int, before: Any, limit: float, out: Any) -> float:
    """Through a force of friction, to the one that there was before; the gradient by its limit."""
    own = points.own[p] / points.step
    by_x, slip_x = _slip_back(points, motion, p, 0, before[0], out)
    by_y, slip_y = _slip_back(points, motion, p, 1, before[1], out)
    x, y = before[0] - slip_x / own, before[1] - slip_y / own
    size, by_limit = math.sqrt(x * x + y * y), 0.0
    if size > limit:
        by_limit = (by_x * x + by_y * y) / size
        by_x = limit / size * (by_x - by_limit * x / size)
        by_y = limit / size * (by_y - by_limit * y / size)
    out.friction[p, 0] += by_x
    out.friction[p, 1] += by_y
    out.own[p] += (by_x * slip_x + by_y * slip_y) / (own * own * points.step)
    for k in range(4):
        share = points.shares[p, k] / own
        out.sliding[0, points.corners[p, k]] -= share * by_x
        out.sliding[1, points.corners[p, k]] -= share * by_y
    return by_limit


@compiled()
def _slip_back(points: Any, motion: Any, p: int, axis: int, before: float, out: Any) -> Any:
    """Along one axis: the gradient by the new force, and how fast point p was without its change,
    which velocities go back to."""
    change = (motion.friction[p, axis] - before) / points.step
    found = _move_back(points, p, change, out.sliding[axis], out.compliance) / points.step
    wanted, out.friction[p, axis] = out.friction[p, axis] + found, -found
    _move(points, p, -change, motion.velocities[axis])
    motion.friction[p, axis] = before
    return wanted, at_point(motion.velocities[axis], points.corners, points.shares, p)
