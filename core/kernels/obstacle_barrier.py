# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of ``BarrierStep`` on a CPU."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .barrier import derivatives_from_log
from .obstacle_contact import apply_contact_impulse

# Newton from its start value has converged to the last bit of a float64 after so many steps.
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
