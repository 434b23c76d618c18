# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices and points of surfaces that explicit steps bring to the ground or a sphere: barrier,
projection, friction.

The ground pushes points, points share vertices, and a vertex that one lifts lifts others: normal
forces are found point by point, again and again, each time exactly for one of them (projected
Gauss–Seidel on the forces), always in the order of the points.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, shared_range, use_threads
from .barrier import derivatives_from_log

#: Fewer vertices than this a thread cost more to hand out than to compute.
VERTICES_PER_THREAD = 2000


def choose_threads(vertex_count: int) -> None:
    """Choose the threads of the next loop by its number of vertices."""
    use_threads(vertex_count, VERTICES_PER_THREAD)


@compiled()
def friction_stop_ratio(speed: Any, change: Any, static: Any, kinetic: Any) -> Any:
    """Return the share of a tangential speed that friction takes where contact changed the
    normal one by ``change``: all where the static coefficient can stop it, else by the kinetic
    one.
    """
    if change <= 0.0 or speed <= 0.0:
        return 0.0
    return 1.0 if speed <= static * change else kinetic * change / speed


@compiled()
def apply_contact_impulse(
    positions: Any,
    velocities: Any,
    v: Any,
    normal: Any,
    change: Any,
    static: Any,
    kinetic: Any,
    step: float,
) -> None:
    """Adds ``change`` to the normal speed of vertex v and lets friction, by the coefficients of the
    vertex, slow the tangential one."""
    along = 0.0
    for axis in range(3):
        along += velocities[axis, v] * normal[axis]
    squared = 0.0
    for axis in range(3):
        squared += (velocities[axis, v] - along * normal[axis]) ** 2
    stopped_ratio = friction_stop_ratio(math.sqrt(squared), change, static, kinetic)
    for axis in range(3):
        stopped = stopped_ratio * (velocities[axis, v] - along * normal[axis])
        velocities[axis, v] += change * normal[axis] - stopped
        # A vertex moved on by its old tangential velocity; undo the displacement that friction
        # stopped.
        positions[axis, v] -= step * stopped


# The Newton steps from below the root to the last bit of a float64, and one from a guess.
MAX_ITERATIONS = 8
# A change by less than this ratio of the height ends them; the next is its square.
TOLERANCE_RATIO = 1e-9
# A first change by more than this ratio of how far a guess is from both ends: the root without the
# logarithm is then nearer.
MAX_CHANGE_RATIO = 0.1

#: β'(u) and β''(u) by u and its logarithm.
ground_derivatives = compiled()(derivatives_from_log)


@compiled(parallel=True)
def apply_barrier(
    positions: Any,
    velocities: Any,
    vertices: Any,
    stiffness: Any,
    height: float,
    distances: Any,
    static: Any,
    kinetic: Any,
    step: float,
    impulse_times: Any,
    min_ratio: float,
) -> None:
    """Changes (3, N) positions and velocities.

    Args:
        stiffness: (S,) of the barrier over mass, in 1/s².
        distances: (S,) at which it begins to act, in metres.
        static, kinetic: (S,) coefficients of friction.
        impulse_times: (N,) over which forces change velocities, in seconds.
    """
    for i in shared_range(len(vertices)):
        v, distance = vertices[i], distances[i]
        start = (positions[2, v] - height) / distance
        if start < 1.0:
            ratio = proximal(start, step * impulse_times[v] * stiffness[i], min_ratio, 0.0)
            raised = height + ratio * distance
            speed_change = (raised - positions[2, v]) / step
            positions[2, v] = raised
            normal = (0.0, 0.0, 1.0)
            apply_contact_impulse(
                positions, velocities, v, normal, speed_change, static[i], kinetic[i], step
            )


@compiled()
def proximal(start: Any, stiffness: Any, min_ratio: float, guess: Any) -> Any:
    """See ``obstacles.barrier_proximal``. Newton's method begins at ``guess`` if it is positive.
    From above the root its first step leads below, since the function is concave."""
    start = min(start, 1.0)
    ratio = min(guess, 1.0)
    if not ratio > 0.0:
        ratio = below_root(start, stiffness, min_ratio)
    for _ in range(MAX_ITERATIONS):
        first, second = ground_derivatives(ratio, math.log(ratio))
        change = (ratio - start + stiffness * first) / (1.0 + stiffness * second)
        is_near = abs(change) < MAX_CHANGE_RATIO * min(ratio, 1.0 - ratio)
        ratio = min(1.0, ratio - change)
        if not is_near:
            ratio = max(ratio, below_root(start, stiffness, min_ratio))
        elif abs(change) < TOLERANCE_RATIO * ratio:
            break
    return ratio


@compiled()
def below_root(start: Any, stiffness: Any, min_ratio: float) -> Any:
    """The root without the logarithm, which lies below the true one."""
    half = 2.0 * stiffness - start
    root = math.sqrt(max(0.0, half * half + 4.0 * stiffness * (1.0 - stiffness)))
    if half > 0.0:
        ratio = 2.0 * stiffness / (half + root)
    else:
        ratio = (root - half) / max(0.5, 2.0 * (1.0 - stiffness))
    return min(1.0, max(min_ratio, ratio))


@compiled(parallel=True)
def proximal_of_each(start: Any, stiffness: Any, min_ratio: float, out: Any) -> None:
    """``proximal`` of (S,) vertices."""
    for i in shared_range(len(out)):
        out[i] = proximal(start[i], stiffness[i], min_ratio, 0.0)


PLANE, BALL = 0, 1


@compiled(parallel=True)
def project_onto_surface(
    positions: Any,
    velocities: Any,
    vertices: Any,
    surface: Any,
    response: Any,
    friction: Any,
    step: float,
) -> None:
    """Changes (3, N) positions and velocities.

    Args:
        surface: its ``numbers``.
        response: restitution, and the share of the speed that the penalty adds.
        friction: (S,) static and (S,) kinetic coefficients.
    """
    kind, x, y, z, radius = surface
    restitution, penalty = response
    static, kinetic = friction
    for i in shared_range(len(vertices)):
        v = vertices[i]
        offset = (positions[0, v] - x, positions[1, v] - y, positions[2, v] - z)
        distance, normal = nearest(kind, radius, offset)
        if distance < 0.0:
            before, squared = 0.0, 0.0
            for axis in range(3):
                positions[axis, v] -= distance * normal[axis]
                before += velocities[axis, v] * normal[axis]
                squared += velocities[axis, v] ** 2
            speed = before + penalty * math.sqrt(squared)
            # A vertex that already leaves is not slowed down.
            after = max(speed, -restitution * speed)
            speed_change = after - before
            apply_contact_impulse(
                positions, velocities, v, normal, speed_change, static[i], kinetic[i], step
            )


@compiled()
def nearest(kind: int, radius: float, offset: Any) -> Any:
    """See ``Surface.nearest``; ``offset`` is from the surface's coordinates to the point."""
    if kind == PLANE:
        return offset[2], (0.0, 0.0, 1.0)
    away = math.sqrt(offset[0] ** 2 + offset[1] ** 2 + offset[2] ** 2)
    if away == 0.0:
        return -radius, (0.0, 0.0, 1.0)
    return away - radius, (offset[0] / away, offset[1] / away, offset[2] / away)


# Sweeps through the points near the ground in an explicit step, at most; they end when no height
# changes by more than this ratio of the activation distance.
MAX_SWEEPS, HEIGHT_TOLERANCE_RATIO = 3, 1e-4
# Sweeps at the end in which forces only grow, at most.
MAX_GROWING_SWEEPS = 20
# The search radius in activation distances; farther points do not come near by the correction of
# others.
SEARCH_RADIUS_RATIO = 2.0


class EmbeddedGround(NamedTuple):
    """The ground's barrier, and the S points that it pushes.

    Args:
        corners: (S, 4) vertices of each point.
        shares: (S, 4) of them in it, which sum to one.
        weights: (S,) of the barrier in N.
        distances: (S,) activation distances in metres.
        height: of the ground in metres.
        min_ratio: the least ratio of height and distance that differs from zero.
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
        outside: (G,) depth of points below the corners of their tet, relative to its height, at
            most.
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
    """Interpolate (N,) vertex values at point p."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] * values[corners[p, k]]
    return total


@compiled()
def compliance_at(corners: Any, shares: Any, compliance: Any, p: Any) -> Any:
    """The displacement of point p by a unit force on it."""
    total = 0.0
    for k in range(4):
        total += shares[p, k] ** 2 * compliance[corners[p, k]]
    return total


class NearPoints(NamedTuple):
    """K points near the ground, as sweeps read them.

    Args:
        points: (K,) of all.
        corners, shares: (K, 4) as of ``EmbeddedGround``.
        moves: (K, 4) displacements of the corners by a unit force on a point, in m/N.
        compliances: (K,) displacements of points by a unit force on them, in m/N.
    """

    points: Any
    corners: Any
    shares: Any
    moves: Any
    compliances: Any


# Points that follow each other in sweeps come from so many parts of all of them. A processor then
# works on several at once; sweeps over the 1681 points of a sheet take 0.7 times as long.
PARTS = 4


@compiled(allocates=True)
def near_points(ground: Any, compliance: Any, near: Any) -> Any:
    """Return the (K,) points ``near``, in an order in which few share vertices with the one before.

    Args:
        ground: ``EmbeddedGround``.
        compliance: (N,) of each vertex in m/N; zero holds it.
    """
    count, kind = len(near), compliance.dtype
    points, corners = np.empty_like(near), np.empty((count, 4), ground.corners.dtype)
    shares, moves = np.empty((count, 4), kind), np.empty((count, 4), kind)
    compliances, row, stride = np.empty(count, kind), 0, (count + PARTS - 1) // PARTS
    for first in range(stride):
        for i in range(first, count, stride):
            p = points[row] = near[i]
            for k in range(4):
                v, share = ground.corners[p, k], ground.shares[p, k]
                corners[row, k], shares[row, k], moves[row, k] = v, share, share * compliance[v]
            compliances[row] = compliance_at(corners, shares, compliance, row)
            row += 1
    return NearPoints(points, corners, shares, moves, compliances)


@compiled(inline=True)
def add_force(force: Any, points: Any, i: Any, out: Any) -> None:
    """Adds the displacements by a force on the ith of some ``NearPoints`` to (N,) values of
    vertices."""
    for k in range(4):
        out[points.corners[i, k]] += points.moves[i, k] * force


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
    points: Any,
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
        points: the K ``NearPoints`` that may be in contact.
        forces: (S,) in newtons; they are changed.
        max_sweeps: through all of them.
        tolerance: change of a height over its distance at which it ends.
        trace: the ``SweepTrace`` that records each sweep, or None.
    """
    corners, shares, level, min_ratio = (
        points.corners,
        points.shares,
        ground.height,
        ground.min_ratio,
    )
    count, kind = len(points.points), points.compliances.dtype
    # The changes of ratios by a unit force, and by that of the barrier.
    mobilities, stiffness = np.empty(count, kind), np.empty(count, kind)
    for i in range(count):
        p = points.points[i]
        mobilities[i] = points.compliances[i] / ground.distances[p]
        stiffness[i] = mobilities[i] * ground.weights[p]
    sweep, only_grow = 0, False
    while True:
        change, is_below = 0.0, False
        for i in range(count):
            p, mobility = points.points[i], mobilities[i]
            if mobility > 0.0:
                before = forces[p]
                ratio = (at_point(heights, corners, shares, i) - level) / ground.distances[p]
                is_below = is_below or ratio <= 0.0
                start = ratio - mobility * before
                force, root = 0.0, 1.0
                if start < 1.0:
                    root = proximal(start, stiffness[i], min_ratio, ratio)
                    force = (root - start) / mobility
                if only_grow:
                    force = max(force, before)
                if trace is not None:
                    trace.normal[sweep, i, 0], trace.normal[sweep, i, 1] = before, root
                if force != before:
                    forces[p] = force
                    add_force(force - before, points, i, heights)
                    change = max(change, abs(mobility * (force - before)))
        sweep += 1
        if trace is not None:
            trace.counts[1], trace.counts[2] = sweep, trace.counts[2] + only_grow
        # Points that others let sink are lifted at the end, and no force falls any more.
        if only_grow and (not is_below or sweep >= max_sweeps + MAX_GROWING_SWEEPS):
            break
        only_grow = only_grow or change <= tolerance or sweep >= max_sweeps


# Points end on a surface to this ratio of how deep the deepest was.
DEPTH_TOLERANCE_RATIO = 1e-9


@compiled()
def project_points(
    positions: Any,
    velocities: Any,
    points: Any,
    surface: Any,
    response: Any,
    friction: Any,
    step: float,
) -> None:
    """Changes (3, N) positions and velocities.

    Args:
        points: their corners and shares of these, and the vertices' inverse masses.
        surface: its ``numbers``.
        response: restitution, and the share of the speed that the penalty adds.
        friction: (S,) static and (S,) kinetic coefficients.
    """
    corners, shares, inverse_mass = points
    kind, x, y, z, radius = surface
    restitution, penalty = response
    static, kinetic = friction
    first = 0.0
    for sweep in range(MAX_SWEEPS):
        deepest = 0.0
        for p in range(len(corners)):
            mass_inverse = compliance_at(corners, shares, inverse_mass, p)
            offset = (
                at_point(positions[0], corners, shares, p) - x,
                at_point(positions[1], corners, shares, p) - y,
                at_point(positions[2], corners, shares, p) - z,
            )
            distance, normal = nearest(kind, radius, offset)
            if distance < 0.0 and mass_inverse > 0.0:
                deepest = min(deepest, distance)
                project_point(
                    positions,
                    velocities,
                    points,
                    p,
                    mass_inverse,
                    (distance, normal),
                    (restitution, penalty if sweep == 0 else 0.0),
                    (static[p], kinetic[p]),
                    step,
                )
        first = min(first, deepest)
        if deepest >= DEPTH_TOLERANCE_RATIO * first:
            break


@compiled()
def project_point(
    positions: Any,
    velocities: Any,
    points: Any,
    p: Any,
    mass_inverse: Any,
    contact: Any,
    response: Any,
    friction: Any,
    step: float,
) -> None:
    """Moves point p, of inverse mass ``mass_inverse``, to the surface, and lets it bounce.

    Args:
        contact: its distance to the surface, which is negative, and the normal.
        response, friction: as above, of this point.
    """
    corners, shares, inverse_mass = points
    (distance, normal), (restitution, penalty), (static, kinetic) = contact, response, friction
    depth, step_over_mass = distance / mass_inverse, step / mass_inverse
    u = at_point(velocities[0], corners, shares, p)
    v = at_point(velocities[1], corners, shares, p)
    w = at_point(velocities[2], corners, shares, p)
    before = u * normal[0] + v * normal[1] + w * normal[2]
    speed = before + penalty * math.sqrt(u * u + v * v + w * w)
    # A point that already leaves is not slowed down.
    change = max(speed, -restitution * speed) - before
    along = (u - before * normal[0], v - before * normal[1], w - before * normal[2])
    sliding_speed = math.sqrt(along[0] ** 2 + along[1] ** 2 + along[2] ** 2)
    stopped_ratio = friction_stop_ratio(sliding_speed, change, static, kinetic)
    for k in range(4):
        vertex = corners[p, k]
        part = shares[p, k] * inverse_mass[vertex]
        for axis in range(3):
            stopped = stopped_ratio * along[axis]
            velocities[axis, vertex] += part / mass_inverse * (change * normal[axis] - stopped)
            positions[axis, vertex] -= part * (depth * normal[axis] + step_over_mass * stopped)


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
    """The record of sweeps over at most S points near the ground, for the adjoint.

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
        compliance, near: (N,) and (S,) to work with; the latter begins with the points near in the
            end, in the order of the trace.
        trace: ``SweepTrace`` or None.
    """
    corners, step = ground.corners, motion.step
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
    points = near_points(ground, compliance, near)
    near[:] = points.points
    for i in range(len(near)):
        # Points are mostly pushed as in the previous step.
        add_force(normal[near[i]], points, i, heights)
    solve_normal_forces(heights, ground, points, normal, MAX_SWEEPS, HEIGHT_TOLERANCE_RATIO, trace)
    for i in range(len(near)):
        if normal[near[i]] > 0.0:
            add_force(normal[near[i]] / step, points, i, vertical)
    if coefficients.act:
        apply_friction(motion, ground.distances, coefficients, forces, points, trace)


@compiled(allocates=True)
def apply_friction(
    motion: Any,
    distances: Any,
    coefficients: Any,
    forces: Any,
    points: Any,
    trace: Any,
) -> None:
    """Lets Coulomb friction slow the points that the ground pushes.

    Points that the static coefficient does not stop slide, and are slowed by the kinetic one.

    Args:
        distances: (S,) activation distances in metres.
        points: the K ``NearPoints`` that may be in contact, by compliances over the step.
        trace: ``SweepTrace`` or None.
    """
    static, kinetic, near = coefficients.static, coefficients.kinetic, points.points
    normal, friction, step = forces.normal, forces.friction, motion.step
    limits, kinetic_is_lower = np.empty(len(near), points.compliances.dtype), False
    for i in range(len(near)):
        p = near[i]
        limits[i] = static[p] * normal[p]
        kinetic_is_lower = kinetic_is_lower or kinetic[p] < static[p]
        slow_point(motion, points, i, friction[p, 0], friction[p, 1])
    sweeps = MAX_STICKING_SWEEPS if kinetic_is_lower else MAX_SWEEPS
    solve_friction(sweeps, limits, motion, distances, points, friction, trace)
    if trace is not None:
        trace.counts[4] = trace.counts[3]
    any_slides = False
    for i in range(len(near)):
        p = near[i]
        if kinetic_is_lower and kinetic[p] < static[p]:
            x, y = velocity_at(motion, points, i)
            if step * math.sqrt(x * x + y * y) > SLIDING_RATIO * distances[p]:
                limits[i], any_slides = kinetic[p] * normal[p], True
                if trace is not None:
                    trace.slides[i] = True
    if any_slides:
        solve_friction(MAX_SWEEPS, limits, motion, distances, points, friction, trace)
    # Vertices moved on by their old velocity; undo the displacement that friction stopped.
    for i in range(len(near)):
        p = near[i]
        if friction[p, 0] != 0.0 or friction[p, 1] != 0.0:
            add_force(friction[p, 0], points, i, motion.positions[0])
            add_force(friction[p, 1], points, i, motion.positions[1])


@compiled()
def solve_friction(
    max_sweeps: int,
    limits: Any,
    motion: Any,
    distances: Any,
    points: Any,
    friction: Any,
    trace: Any,
) -> None:
    """Stops points by forces of at most (K,) ``limits``, one point after the other.

    Args:
        max_sweeps: through all points.
        friction: (S, 2) forces so far; they are changed.
        distances, points, trace: as of ``apply_friction``.
    """
    for _ in range(max_sweeps):
        change = 0.0
        for i in range(len(limits)):
            p = points.points[i]
            limit, before_x, before_y = limits[i], friction[p, 0], friction[p, 1]
            if trace is not None:
                record = trace.friction[trace.counts[3], i]
                record[0], record[1] = before_x, before_y
            if limit > 0.0 or before_x != 0.0 or before_y != 0.0:
                compliance, (x, y) = points.compliances[i], velocity_at(motion, points, i)
                x = before_x - x * motion.step / compliance
                y = before_y - y * motion.step / compliance
                if trace is not None:
                    record[2], record[3] = x, y
                size = math.sqrt(x * x + y * y)
                if size > limit:
                    x, y = x * (limit / size), y * (limit / size)
                friction[p, 0], friction[p, 1] = x, y
                x, y = x - before_x, y - before_y
                slow_point(motion, points, i, x, y)
                change = max(change, compliance * (abs(x) + abs(y)) / distances[p])
        if trace is not None:
            trace.counts[3] += 1
        if change <= HEIGHT_TOLERANCE_RATIO:
            break


@compiled(inline=True)
def velocity_at(motion: Any, points: Any, i: Any) -> Any:
    """The horizontal velocity of the ith of some ``NearPoints``, in m/s."""
    x = at_point(motion.velocities[0], points.corners, points.shares, i)
    return x, at_point(motion.velocities[1], points.corners, points.shares, i)


@compiled(inline=True)
def slow_point(motion: Any, points: Any, i: Any, x: Any, y: Any) -> None:
    """Lets a horizontal force on the ith of some ``NearPoints`` change velocities over a step."""
    add_force(x / motion.step, points, i, motion.velocities[0])
    add_force(y / motion.step, points, i, motion.velocities[1])


@compiled()
def gather(values: Any, corners: Any, shares: Any, out: Any) -> None:
    """Interpolate (K, N) values of vertices to (K, S) values at points; corners and shares are
    (4, S).
    """
    for k in range(out.shape[0]):
        for p in range(out.shape[1]):
            total = shares[0, p] * values[k, corners[0, p]]
            for corner in range(1, 4):
                total += shares[corner, p] * values[k, corners[corner, p]]
            out[k, p] = total


@compiled()
def add(values: Any, corners: Any, shares: Any, out: Any) -> None:
    """Adds (K, S) at points to (K, N) at vertices, one point after the other."""
    for k in range(values.shape[0]):
        for p in range(values.shape[1]):
            if values[k, p] != 0.0:
                for corner in range(4):
                    out[k, corners[corner, p]] += shares[corner, p] * values[k, p]


@compiled()
def add_pulls(values: Any, goals: Any, factors: Any, corners: Any, shares: Any, out: Any) -> None:
    """Adds factor × (value − goal) of points to (K, N) at vertices, one point after the other.

    Args:
        values: (K, N) at vertices.
        goals: (K, S) of points.
        factors: (S,) of points.
        corners, shares: (4, S); a point that is a vertex has it as all of its corners.
    """
    for p in range(corners.shape[1]):
        if factors[p] == 0.0:
            continue
        if corners[0, p] == corners[1, p]:
            v = corners[0, p]
            for k in range(values.shape[0]):
                out[k, v] += factors[p] * (values[k, v] - goals[k, p])
            continue
        a, b, c, d = corners[0, p], corners[1, p], corners[2, p], corners[3, p]
        x, y, z, w = shares[0, p], shares[1, p], shares[2, p], shares[3, p]
        for k in range(values.shape[0]):
            value = x * values[k, a] + y * values[k, b] + z * values[k, c] + w * values[k, d]
            pull = factors[p] * (value - goals[k, p])
            out[k, a] += x * pull
            out[k, b] += y * pull
            out[k, c] += z * pull
            out[k, d] += w * pull


@compiled()
def add_spring_forces(
    vertices: Any, offsets: Any, columns: Any, values: Any, positions: Any, pulls: Any, out: Any
) -> None:
    """Adds K x − b of some vertices to (3, N), in newtons.

    Args:
        vertices: (A,) of the rows of K and b.
        offsets: (A + 1,) where the rows of K begin among its entries.
        columns, values: (E,) of the entries of K: their vertices, and stiffnesses in N/m.
        positions: (3, N) x in metres.
        pulls: (3, A) b in newtons.
    """
    for a in range(len(vertices)):
        x = y = z = 0.0
        for entry in range(offsets[a], offsets[a + 1]):
            v = columns[entry]
            x += values[entry] * positions[0, v]
            y += values[entry] * positions[1, v]
            z += values[entry] * positions[2, v]
        v = vertices[a]
        out[0, v] += x - pulls[0, a]
        out[1, v] += y - pulls[1, a]
        out[2, v] += z - pulls[2, a]


@compiled()
def pull_energy_change(
    values: Any, before: Any, after: Any, factors: Any, corners: Any, shares: Any
) -> float:
    """Σ factor × ½ (|value − after|² − |value − before|²) over points: see ``add_pulls``.

    Args:
        before, after: (K, S) goals of points.
    """
    total = 0.0
    for p in range(corners.shape[1]):
        change = 0.0
        for k in range(values.shape[0]):
            value = 0.0
            for corner in range(4):
                value += shares[corner, p] * values[k, corners[corner, p]]
            step = before[k, p] - after[k, p]
            change += step * (value - 0.5 * (before[k, p] + after[k, p]))
        total += factors[p] * change
    return total


@compiled()
def add_blocks(blocks: Any, places: Any, shares: Any, out: Any) -> None:
    """Adds (S, 9) second derivatives at points to (B, 9) blocks of a matrix, one point after the
    other.

    Args:
        places: (4, 4, S) of the block of each two corners; -1 where there is none.
    """
    for p in range(len(blocks)):
        if not blocks[p].any():
            continue
        for a in range(4):
            for b in range(4):
                place, share = places[a, b, p], shares[a, p] * shares[b, p]
                if place >= 0:
                    for k in range(9):
                        out[place, k] += share * blocks[p, k]
