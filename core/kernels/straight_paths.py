# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether points keep to straight paths."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from .vectors import advanced, dot, minus, vector_at


@compiled()
def deviation(point: Any, origin: Any, velocity: Any, time: float) -> float:
    """How far a point is from where its path has led after ``time`` seconds, in metres."""
    apart = minus(point, advanced(origin, time, velocity))
    return math.sqrt(dot(apart, apart))


@compiled()
def keep_to_paths(
    before: Any,
    after: Any,
    origins: Any,
    velocities: Any,
    since: float,
    until: float,
    allowed: Any,
) -> bool:
    """Whether (V, 3) points are no farther from their paths than (V,) ``allowed`` metres at two
    times, in seconds since the paths began."""
    for v in range(len(allowed)):
        origin, velocity = vector_at(origins, v), vector_at(velocities, v)
        if deviation(vector_at(before, v), origin, velocity, since) > allowed[v]:
            return False
        if deviation(vector_at(after, v), origin, velocity, until) > allowed[v]:
            return False
    return True
