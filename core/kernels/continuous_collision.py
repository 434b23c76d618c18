# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous collision detection: how far a pair may go for certain.

Additive (Li, Kaufman and Jiang, "Codimensional incremental potential contact", ACM Transactions on
Graphics 40(4), 2021): from a lower bound of the distance follows a time in which nothing can
collide; the rest of the trajectory is examined from there. That time is the distance over the
largest relative speed, or that along a normal, if longer: the parts are convex and their corners
move linearly, so that their distance along a fixed normal is the least of linear functions of time.
What slides along or leaves is known to be free at once, however near it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled
from .separation import separation, unit
from .vectors import advanced, dot, minus, plus, scaled

# This ratio of the distance at the start remains, whatever collides.
REMAINING_DISTANCE_RATIO = 0.1
# What is closer than the minimum distance comes closer by this ratio at most.
BELOW_MIN_DISTANCE_RATIO = 0.01
# The time of impact has converged when no more than this ratio of the way there is left.
TOLERANCE_RATIO = 0.02
# After these, the bound found so far is the answer.
MAX_ITERATIONS = 64
# The rounding of distances along a normal, over the largest coordinate from the pair's own origin.
ROUNDING_RATIO = 16.0 * np.finfo(np.float64).eps

ORIGIN = (0.0, 0.0, 0.0)


@compiled()
def pair_step_size(
    before: Any, after: Any, are_edges: bool, min_distance: float, sufficient: float
) -> float:
    """The step size that a pair can take on a linear trajectory, at most 1.

    Its distance stays above ``REMAINING_DISTANCE_RATIO`` of that at the start and above
    ``min_distance`` (m), or if it begins below, all but ``BELOW_MIN_DISTANCE_RATIO`` of that at the
    start. A pair that touches at the start, within rounding, takes no step unless its parts stay as
    they are to each other or part.

    Args:
        before, after: four points each, x, y and z, in metres.
        sufficient: step size from which on any answer tells as much, so that iterations end.
    """
    b, c, d, vb, vc, vd, speed, rounding = _relative(before, after, are_edges)
    if speed == 0.0:
        return 1.0
    time = least = tolerance = 0.0
    for iteration in range(MAX_ITERATIONS):
        at_b, at_c, at_d = advanced(b, time, vb), advanced(c, time, vc), advanced(d, time, vd)
        normal, distance = separation(ORIGIN, at_b, at_c, at_d, are_edges)
        distance -= rounding
        if distance <= 0.0 and iteration == 0:
            if speed <= rounding:
                return 1.0
            return _parting_step_size(normal, (b, c, d), (vb, vc, vd), are_edges, rounding)
        if iteration == 0:
            least = allowed_distance(distance, min_distance)
            tolerance = TOLERANCE_RATIO * (distance - least)
        elif distance - least <= tolerance:
            break
        time_along_normal = 0.0
        if normal[0] != 0.0 or normal[1] != 0.0 or normal[2] != 0.0:
            heights, rates = _along(normal, at_b, at_c, at_d), _along(normal, vb, vc, vd)
            time_along_normal = _time_along(heights, rates, are_edges, least + rounding)
        time += max((distance - least) / speed, time_along_normal, 0.0)
        if time >= sufficient:
            break
    return min(time, 1.0)


@compiled()
def distance_lower_bound(before: Any, after: Any, are_edges: bool) -> float:
    """A lower bound, in metres, of the distance of a pair anywhere on a linear trajectory."""
    b, c, d, vb, vc, vd, speed, rounding = _relative(before, after, are_edges)
    normal, distance = separation(ORIGIN, b, c, d, are_edges)
    heights, rates = _along(normal, b, c, d), _along(normal, vb, vc, vd)
    along, firsts = math.inf, 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            along = min(along, heights[i] - heights[j] + min(rates[i] - rates[j], 0.0))
    return max(along, distance - speed) - rounding


@compiled()
def _relative(before: Any, after: Any, are_edges: bool) -> Any:
    """The three points after the first from that, how they move against it, the largest speed
    between parts, and by how much rounding may make a distance too large."""
    origin = before[0]
    b, c, d = minus(before[1], origin), minus(before[2], origin), minus(before[3], origin)
    va, vb = minus(after[0], before[0]), minus(after[1], before[1])
    vc, vd = minus(after[2], before[2]), minus(after[3], before[3])
    size = max(_largest(va), _largest(vb), _largest(vc), _largest(vd))
    size = max(size, _largest(b), _largest(c), _largest(d))
    # A common translation brings nothing closer.
    vb, vc, vd = minus(vb, va), minus(vc, va), minus(vd, va)
    if are_edges:
        square = max(_square(minus(vb, vc)), _square(minus(vb, vd)), _square(vc), _square(vd))
    else:
        square = max(_square(vb), _square(vc), _square(vd))
    return b, c, d, vb, vc, vd, math.sqrt(square), ROUNDING_RATIO * size


@compiled()
def allowed_distance(distance: float, min_distance: float) -> float:
    """The distance that has to remain of one at the start, in metres."""
    if distance > min_distance:
        return max(REMAINING_DISTANCE_RATIO * distance, min_distance)
    return distance - BELOW_MIN_DISTANCE_RATIO * max(distance, 0.0)


@compiled()
def _time_along(heights: Any, rates: Any, are_edges: bool, least: float) -> float:
    """How long the first part stays above the second by ``least`` along a normal, by the heights of
    the four points and how fast they grow."""
    time = math.inf
    firsts = 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            rate = rates[i] - rates[j]
            if rate < 0.0:
                time = min(time, (heights[i] - heights[j] - least) / -rate)
    return time


@compiled()
def _along(normal: Any, b: Any, c: Any, d: Any) -> Any:
    """The heights along a normal of the first point, which is the origin, and of three others."""
    return (0.0, dot(normal, b), dot(normal, c), dot(normal, d))


@compiled()
def _parting_step_size(
    normal: Any, corners: Any, moves: Any, are_edges: bool, rounding: float
) -> float:
    """1 for a pair in touch whose parts leave each other, along a normal or along their relative
    motion; else 0."""
    b, c, d = moves
    # The motion of the first part relative to the second one, times a positive number.
    against = plus(c, d) if are_edges else plus(b, plus(c, d))
    motion = minus(b, against) if are_edges else minus(ORIGIN, against)
    # Where nothing lies between the parts, rounding alone decides which way a normal points.
    for direction in (normal, scaled(-1.0, normal), unit(motion)):
        heights = _along(direction, corners[0], corners[1], corners[2])
        rates = _along(direction, b, c, d)
        if _leave(heights, rates, are_edges, rounding):
            return 1.0
    return 0.0


@compiled()
def _leave(heights: Any, rates: Any, are_edges: bool, rounding: float) -> bool:
    """Whether the first part is above the second at the start, within rounding, and at the end."""
    firsts = 2 if are_edges else 1
    for i in range(firsts):
        for j in range(firsts, 4):
            height = heights[i] - heights[j]
            if height < -rounding or height + rates[i] - rates[j] <= rounding:
                return False
    return True


@compiled()
def _square(a: Any) -> float:
    return dot(a, a)


@compiled()
def _largest(a: Any) -> float:
    return max(abs(a[0]), abs(a[1]), abs(a[2]))
