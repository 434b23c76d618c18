# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of one explicit step: the motion of vertices, and the nodes of contact at both ends."""

from __future__ import annotations

import math
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


@compiled()
def write_nodes(
    start: Any, positions: Any, colliders: Any, targets: Any, first: Any, predicted: Any
) -> Any:
    """Write the (N + C, 3) positions of nodes at the beginning of a step, and at its predicted end.

    Args:
        start, positions: (3, N) of the vertices of tetrahedra, in metres.
        colliders, targets: (C, 3) of those of colliders, likewise.
        first, predicted: to be filled in.

    Returns:
        The largest component of the moves of vertices of tetrahedra, which is no number where any
        is none; and that of where nodes would end; in metres.
    """
    longest = largest = total = 0.0
    count = start.shape[1]
    for v in range(count):
        for i in range(3):
            first[v, i], predicted[v, i] = start[i, v], positions[i, v]
            move = predicted[v, i] - first[v, i]
            total += move
            longest, largest = max(longest, abs(move)), max(largest, abs(predicted[v, i]))
    for v in range(len(colliders)):
        for i in range(3):
            first[count + v, i], predicted[count + v, i] = colliders[v, i], targets[v, i]
            largest = max(largest, abs(targets[v, i]))
    # Comparisons do not find NaN; a sum does.
    return (longest if total == total else math.nan), largest


@compiled(parallel=True)
def end_step(last: Any, step: float, positions: Any, velocities: Any) -> None:
    """Takes (3, N) vertices to where (N, 3) nodes are last, with the precision that they have, and
    changes their velocities as a step of ``step`` seconds that led there does."""
    for v in shared_range(positions.shape[1]):
        for i in range(3):
            predicted = positions[i, v]
            positions[i, v] = last[v, i]
            velocities[i, v] += (positions[i, v] - predicted) / step


@compiled()
def write_fixed_moves(mobility: Any, first: Any, last: Any, moves: Any) -> bool:
    """(N, 3) the moves of nodes that do not move freely, and nothing for others, in metres; whether
    there are any."""
    is_any = False
    for node in range(len(mobility)):
        for i in range(3):
            moves[node, i] = last[node, i] - first[node, i] if mobility[node] == 0.0 else 0.0
            is_any |= moves[node, i] != 0.0
    return is_any
