# SPDX-License-Identifier: GPL-3.0-or-later
"""How far each vertex may go by itself before anything meets."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range
from .continuous_collision import allowed_distance, pair_step_size
from .detection import closing_bound, stencil
from .vectors import four_points, minus

# What rounding may make too short.
ROUNDED = 1.0 + 1e-6


@compiled()
def _stay_apart(start: Any, end: Any, distance: float, min_distance: float) -> bool:
    """Whether four points do so little on their way that a pair so far apart cannot meet."""
    closing = ROUNDED * closing_bound(
        minus(end[0], start[0]),
        minus(end[1], start[1]),
        minus(end[2], start[2]),
        minus(end[3], start[3]),
    )
    return distance - closing > allowed_distance(distance, min_distance)


@compiled(parallel=True)
def pair_step_sizes(
    stencils: Any,
    before: Any,
    after: Any,
    distances: Any,
    object_of: Any,
    min_distances: Any,
    out: Any,
) -> None:
    """(P,) the share of its way that each candidate pair can go.

    Args:
        before, after: (V, 3) between which points go straight, in metres.
        distances: (P,) of pairs before, or less, in metres.
        object_of: (V,) objects of points.
        min_distances: (O, O) below which no step brings two objects, in metres.
    """
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        start, end = four_points(before, a, b, c, d), four_points(after, a, b, c, d)
        min_distance = min_distances[object_of[a], object_of[d]]
        out[k] = 1.0
        if not _stay_apart(start, end, distances[k], min_distance):
            out[k] = pair_step_size(start, end, are_edges, min_distance, 1.0)


@compiled()
def shorten(stencils: Any, steps: Any, interpolation: Any, step_sizes: Any) -> int:
    """Lowers the (N,) step sizes of the nodes that carry pairs which meet, by the share that these
    can go; how many pairs do."""
    cut = 0
    for k in range(len(steps)):
        if steps[k] >= 1.0:
            continue
        cut += 1
        a, b, c, d, _ = stencil(stencils, k)
        for point in (a, b, c, d):
            for i in range(interpolation.nodes.shape[1]):
                node = interpolation.nodes[point, i]
                if node >= 0 and interpolation.weights[point, i] != 0.0:
                    step_sizes[node] = min(step_sizes[node], steps[k])
    return cut
