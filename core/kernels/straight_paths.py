# SPDX-License-Identifier: GPL-3.0-or-later
"""Points on straight paths: whether they keep to them, and which pairs may meet there."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .detection import closing_bound, stencil
from .separation import separation
from .vectors import advanced, dot, four_points, minus, vector_at


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


@compiled(parallel=True)
def may_meet(stencils: Any, points: Any, moves: Any, radii: Any, distances: Any, out: Any) -> None:
    """Finds which pairs may come within the sum of their radii while points go straight.

    What goes together stays apart however fast it is, which no box around its way tells.

    Args:
        points, moves: (V, 3) where points are, and how far they go, in metres.
        radii: (V,) in metres; that of an edge or a triangle is the largest of its corners.
        distances: (P,) of pairs at the start, in metres, to be filled in.
        out: (P,) to be filled in.
    """
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        x, m = four_points(points, a, b, c, d), four_points(moves, a, b, c, d)
        near, far = radii[a], max(radii[c], radii[d])
        if are_edges:
            near = max(near, radii[b])
        else:
            far = max(far, radii[b])
        distances[k] = separation(x[0], x[1], x[2], x[3], are_edges)[1]
        out[k] = distances[k] <= near + far + closing_bound(m[0], m[1], m[2], m[3])
