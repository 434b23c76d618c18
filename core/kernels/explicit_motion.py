# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of one explicit step of the vertices."""

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


@compiled()
def work_done(forces: Any, before: Any, after: Any) -> float:
    """The work of (3, N) forces on vertices that go from ``before`` to ``after``, in joules."""
    # Three sums, since each waits for its last addition.
    x = y = z = 0.0
    for v in range(forces.shape[1]):
        x += forces[0, v] * (after[0, v] - before[0, v])
        y += forces[1, v] * (after[1, v] - before[1, v])
        z += forces[2, v] * (after[2, v] - before[2, v])
    return x + y + z
