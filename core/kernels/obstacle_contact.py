# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that the kernels of obstacles share; ``ObstacleStep`` documents what they compute."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, use_threads

#: Fewer vertices than this a thread cost more to hand out than to compute.
VERTICES_PER_THREAD = 2000


def choose_threads(vertex_count: int) -> None:
    """Chooses the threads of the next loop over so many vertices."""
    use_threads(vertex_count, VERTICES_PER_THREAD)


@compiled()
def stopped_share(speed: Any, change: Any, static: Any, kinetic: Any) -> Any:
    """Of a tangential speed, the share that friction takes where contact changed the normal one by
    ``change``: all where the static coefficient can stop it, else by the kinetic one."""
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
    stopped_ratio = stopped_share(math.sqrt(squared), change, static, kinetic)
    for axis in range(3):
        stopped = stopped_ratio * (velocities[axis, v] - along * normal[axis])
        velocities[axis, v] += change * normal[axis] - stopped
        # A vertex moved on by its old tangential velocity; take back what friction stopped.
        positions[axis, v] -= step * stopped
