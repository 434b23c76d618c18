# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices that explicit steps bring to the ground or a sphere: barrier, projection, friction."""

from __future__ import annotations

import math
from typing import Any

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


# The Newton steps from its start value to the last bit of a float64.
MAX_ITERATIONS = 7
# A change by less than this ratio of the height ends them; the next is its square.
TOLERANCE_RATIO = 1e-9

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
            ratio = proximal(start, step * impulse_times[v] * stiffness[i], min_ratio)
            raised = height + ratio * distance
            speed_change = (raised - positions[2, v]) / step
            positions[2, v] = raised
            normal = (0.0, 0.0, 1.0)
            apply_contact_impulse(
                positions, velocities, v, normal, speed_change, static[i], kinetic[i], step
            )


@compiled()
def proximal(start: Any, stiffness: Any, min_ratio: float) -> Any:
    """See ``barrier_step.barrier_proximal``."""
    start = min(start, 1.0)
    half = 2.0 * stiffness - start
    root = math.sqrt(max(0.0, half * half + 4.0 * stiffness * (1.0 - stiffness)))
    if half > 0.0:
        ratio = 2.0 * stiffness / (half + root)
    else:
        ratio = (root - half) / max(0.5, 2.0 * (1.0 - stiffness))
    ratio = min(1.0, max(min_ratio, ratio))
    for _ in range(MAX_ITERATIONS):
        first, second = ground_derivatives(ratio, math.log(ratio))
        change = (ratio - start + stiffness * first) / (1.0 + stiffness * second)
        ratio = min(1.0, ratio - change)
        if abs(change) < TOLERANCE_RATIO * ratio:
            break
    return ratio


@compiled(parallel=True)
def proximal_of_each(start: Any, stiffness: Any, min_ratio: float, out: Any) -> None:
    """``proximal`` of (S,) vertices."""
    for i in shared_range(len(out)):
        out[i] = proximal(start[i], stiffness[i], min_ratio)


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
