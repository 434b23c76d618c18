# SPDX-License-Identifier: GPL-3.0-or-later
"""How far each vertex may go by itself before anything meets."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range
from ..math3.vectors import four_points, minus
from .contact_constraints import height_at
from .continuous_collision import allowed_distance, closing_bound, pair_step_size, stencil

# Of a height above the ground, what a step through it leaves.
KEPT_HEIGHT_RATIO = 0.1
# What rounding may make too short.
ROUNDING_FACTOR = 1.0 + 1e-6


@compiled()
def _closing(start: Any, end: Any) -> float:
    """By how much four points on their way may bring a pair closer at most, in metres."""
    return ROUNDING_FACTOR * closing_bound(
        minus(end[0], start[0]),
        minus(end[1], start[1]),
        minus(end[2], start[2]),
        minus(end[3], start[3]),
    )


@compiled(parallel=True)
def pair_step_sizes(
    stencils: Any,
    before: Any,
    after: Any,
    distances: Any,
    object_of: Any,
    min_distances: Any,
    out: Any,
    distances_after: Any,
) -> None:
    """(P,) the step size, of its way, that each candidate pair can go.

    Args:
        before, after: (V, 3) between which points go straight, in metres.
        distances: (P,) of pairs before, or less, in metres.
        object_of: (V,) objects of points.
        min_distances: (O, O) below which no step brings two objects, in metres.
        distances_after: (P,) less than those of pairs after, in metres, to be filled in.
    """
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        start, end = four_points(before, a, b, c, d), four_points(after, a, b, c, d)
        min_distance = min_distances[object_of[a], object_of[d]]
        distances_after[k] = distances[k] - _closing(start, end)
        out[k] = 1.0
        # What does so little on its way cannot meet.
        if distances_after[k] <= allowed_distance(distances[k], min_distance):
            out[k] = pair_step_size(start, end, are_edges, min_distance, 1.0)


@compiled()
def _hold_back(interpolation: Any, point: int, step_size: float, step_sizes: Any) -> None:
    """Lets the nodes that carry a point go no farther than a step size."""
    for i in range(interpolation.nodes.shape[1]):
        node = interpolation.nodes[point, i]
        if node >= 0 and interpolation.weights[point, i] != 0.0:
            step_sizes[node] = min(step_sizes[node], step_size)


@compiled()
def shorten(stencils: Any, steps: Any, interpolation: Any, step_sizes: Any) -> int:
    """Lowers the (N,) step sizes of the nodes that carry pairs which meet, by those that these
    can go; how many pairs do."""
    cut = 0
    for k in range(len(steps)):
        if steps[k] >= 1.0:
            continue
        cut += 1
        a, b, c, d, _ = stencil(stencils, k)
        for point in (a, b, c, d):
            _hold_back(interpolation, point, steps[k], step_sizes)
    return cut


@compiled()
def shorten_falls(
    interpolation: Any, laws: Any, least_height: float, nodes: Any, moves: Any, step_sizes: Any
) -> int:
    """Lowers the (N,) step sizes of the nodes that carry points which would come to the ground,
    by those that leave them ``KEPT_HEIGHT_RATIO`` of their height; how many would.

    Args:
        interpolation: of the points.
        laws: ``GroundLaws``.
        least_height: above the ground, in metres; who is there already may stay.
        nodes, moves: (N, 3) where nodes are, and the moves they are about to make.
    """
    cut = 0
    for point in range(len(interpolation.nodes)):
        before = height_at(interpolation, nodes, point) - laws.height
        change = height_at(interpolation, moves, point)
        if before + change >= min(before, least_height):
            continue
        cut += 1
        step_size = max(0.0, (KEPT_HEIGHT_RATIO - 1.0) * before / change)
        _hold_back(interpolation, point, step_size, step_sizes)
    return cut
