# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of ``ProjectionStep`` on a CPU, for all surfaces, chosen by number."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .obstacle_contact import apply_contact_impulse

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
