# SPDX-License-Identifier: GPL-3.0-or-later
"""What the compiled loops over vertices at an obstacle share.

What they compute is said in ``ObstacleStep``; passes over whole arrays take longer to be called.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, use_threads

#: Fewer vertices than this a thread cost more to hand out than to compute.
VERTICES_PER_THREAD = 2000


def share(vertex_count: int) -> None:
    """Chooses the threads of the next loop over so many vertices."""
    use_threads(vertex_count, VERTICES_PER_THREAD)


@compiled()
def stopped_share(speed: Any, change: Any, static: Any, kinetic: Any) -> Any:
    """Of a speed along a surface, the share that friction takes where contact changed that along
    the normal by ``change``: all that the static coefficient can stop, else by the kinetic one."""
    if change <= 0.0 or speed <= 0.0:
        return 0.0
    return 1.0 if speed <= static * change else kinetic * change / speed


@compiled()
def push_off(
    positions: Any,
    velocities: Any,
    v: Any,
    normal: Any,
    change: Any,
    static: Any,
    kinetic: Any,
    step: float,
) -> None:
    """Adds ``change`` to the speed of vertex v along the normal and lets friction, by the
    coefficients of the vertex, slow the rest."""
    along = 0.0
    for axis in range(3):
        along += velocities[axis, v] * normal[axis]
    squared = 0.0
    for axis in range(3):
        squared += (velocities[axis, v] - along * normal[axis]) ** 2
    lost = stopped_share(math.sqrt(squared), change, static, kinetic)
    for axis in range(3):
        stopped = lost * (velocities[axis, v] - along * normal[axis])
        velocities[axis, v] += change * normal[axis] - stopped
        # A vertex moved on by its old tangential velocity; take back what friction stopped.
        positions[axis, v] -= step * stopped
