# SPDX-License-Identifier: GPL-3.0-or-later
"""How far points are from straight paths."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .vectors import advanced, dot, minus, scaled, vector_at


@compiled()
def deviation(point: Any, origin: Any, velocity: Any, time: float) -> float:
    """How far a point is from where its path has led after ``time`` seconds, in metres."""
    apart = minus(point, advanced(origin, time, velocity))
    return math.sqrt(dot(apart, apart))


@compiled()
def deviation_ratios(
    before: Any,
    after: Any,
    origins: Any,
    velocities: Any,
    since: float,
    until: float,
    allowed: Any,
    out: Any,
) -> float:
    """(V,) how far (V, 3) points are from their paths at two times, in seconds since the paths
    began, the farther of both over what is ``allowed``; the largest of them."""
    largest = 0.0
    for v in range(len(out)):
        origin, velocity = vector_at(origins, v), vector_at(velocities, v)
        first = deviation(vector_at(before, v), origin, velocity, since)
        out[v] = max(first, deviation(vector_at(after, v), origin, velocity, until)) / allowed[v]
        largest = max(largest, out[v])
    return largest


@compiled(parallel=True)
def follow(
    before: Any, after: Any, step: float, memory: float, velocities: Any, changes: Any
) -> None:
    """Brings (V, 3) velocities, in m/s, up to those of a step of ``step`` seconds between two
    (V, 3) places, and (V,) how much they change in a step, of which the ratio ``memory`` stays."""
    for v in shared_range(len(changes)):
        velocity = scaled(1.0 / step, minus(vector_at(after, v), vector_at(before, v)))
        change = minus(velocity, vector_at(velocities, v))
        changes[v] = max(math.sqrt(dot(change, change)), memory * changes[v])
        velocities[v, 0], velocities[v, 1], velocities[v, 2] = velocity
