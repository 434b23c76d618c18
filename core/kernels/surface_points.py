# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that project embedded points onto a sphere or a bouncy ground."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from .obstacle_contact import stopped_share
from .obstacle_points import MAX_SWEEPS, at_point, compliance_at
from .obstacle_projection import nearest

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
            own = compliance_at(corners, shares, inverse_mass, p)
            offset = (
                at_point(positions[0], corners, shares, p) - x,
                at_point(positions[1], corners, shares, p) - y,
                at_point(positions[2], corners, shares, p) - z,
            )
            distance, normal = nearest(kind, radius, offset)
            if distance < 0.0 and own > 0.0:
                deepest = min(deepest, distance)
                project_point(
                    positions,
                    velocities,
                    points,
                    p,
                    own,
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
    own: Any,
    contact: Any,
    response: Any,
    friction: Any,
    step: float,
) -> None:
    """Moves point p, of inverse mass ``own``, to the surface, and lets it bounce.

    Args:
        contact: its distance to the surface, which is negative, and the normal.
        response, friction: as above, of this point.
    """
    corners, shares, inverse_mass = points
    (distance, normal), (restitution, penalty), (static, kinetic) = contact, response, friction
    depth, step_over_mass = distance / own, step / own
    u = at_point(velocities[0], corners, shares, p)
    v = at_point(velocities[1], corners, shares, p)
    w = at_point(velocities[2], corners, shares, p)
    before = u * normal[0] + v * normal[1] + w * normal[2]
    speed = before + penalty * math.sqrt(u * u + v * v + w * w)
    # A point that already leaves is not slowed down.
    change = max(speed, -restitution * speed) - before
    along = (u - before * normal[0], v - before * normal[1], w - before * normal[2])
    sliding_speed = math.sqrt(along[0] ** 2 + along[1] ** 2 + along[2] ** 2)
    stopped_ratio = stopped_share(sliding_speed, change, static, kinetic)
    for k in range(4):
        vertex = corners[p, k]
        part = shares[p, k] * inverse_mass[vertex]
        for axis in range(3):
            stopped = stopped_ratio * along[axis]
            velocities[axis, vertex] += part / own * (change * normal[axis] - stopped)
            positions[axis, vertex] -= part * (depth * normal[axis] + step_over_mass * stopped)
