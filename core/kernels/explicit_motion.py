# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of one explicit step of the vertices."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range


@compiled(parallel=True)
def advance_vertices(
    positions: Any, velocities: Any, gradient: Any, dt_over_mass: Any, retention: Any, step: float
) -> None:
    """See ``integrators.motion.move``."""
    for v in shared_range(len(retention)):
        for axis in range(3):
            velocity = retention[v] * velocities[axis, v] - dt_over_mass[v] * gradient[axis, v]
            velocities[axis, v] = velocity
            positions[axis, v] += step * velocity
