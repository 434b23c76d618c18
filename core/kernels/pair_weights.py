# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the weight of a pair in an explicit step, its share beside the pairs around it, and the
closest points at which it is made linear.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from ..math3.closest_points import closest_points
from ..math3.vectors import dot, four_points, plus, scaled
from .barrier import mollifier_of, squared_cross
from .collisions import edge_edge_weight, face_vertex_weight, parallel_threshold
from .continuous_collision import stencil
from .local_minima import edge_weight, face_weight

# The largest distance relative to d̂; farther pairs are not urgent. Resting soft bodies would sink
# without contact by their barrier's compression, which predicts nothing.
MAX_DISTANCE_RATIO = 0.25
# The least factor by which a distance shrinks within a step before its end counts.
MIN_CLOSING_FACTOR = 2.0
# The plane that parts a pair at the end of a step serves where it does so at the start, by at least
# this ratio of the distance then.
MIN_GAP_RATIO = 0.1


@compiled(inline=True)
def pair_share(stencils: Any, mesh: Any, laws: Any, points: Any, pair: int, closest: Any) -> Any:
    """Return the share, 0 … 1, of a pair with the closest points beside the pairs around it."""
    apart, _, weight_second, _, weight_last, place = closest
    if not laws.area_weighted:
        return 1.0
    edge_count = len(stencils.edge_edges)
    if pair < edge_count:
        first, second = stencils.edge_edges[pair, 0], stencils.edge_edges[pair, 1]
        return edge_weight(points, mesh, first, second, place, apart, weight_second, -weight_last)
    row = pair - edge_count
    face, vertex = stencils.face_vertices[row, 0], stencils.face_vertices[row, 1]
    return face_weight(points, mesh, face, vertex, place, apart)


@compiled(inline=True)
def pair_weight(stencils: Any, mesh: Any, laws: Any, pair: int, x: Any) -> Any:
    """Return the weight of a pair at four points x if its share is 1, and whether it has
    friction."""
    edge_count = len(stencils.edge_edges)
    if pair < edge_count:
        first, second = stencils.edge_edges[pair, 0], stencils.edge_edges[pair, 1]
        square = squared_cross(x[0], x[1], x[2], x[3])[0]
        mollifier = mollifier_of(square, parallel_threshold(mesh, first, second))[0]
        # Edges that are nearly parallel have no friction: their closest points could be anywhere.
        if not laws.area_weighted:
            return mollifier, mollifier == 1.0
        return mollifier * edge_edge_weight(mesh, first, second), mollifier == 1.0
    if not laws.area_weighted:
        return 1.0, True
    row = pair - edge_count
    face, vertex = stencils.face_vertices[row, 0], stencils.face_vertices[row, 1]
    return face_vertex_weight(mesh, face, vertex), True


@compiled(inline=True)
def within_step(
    stencils: Any,
    mesh: Any,
    laws: Any,
    dhat: float,
    ends: Any,
    pair: int,
    x: Any,
    closest: Any,
) -> Any:
    """Return the closest points at which to linearize a pair without a share at the start of a
    step, and its share. They are those of the end if the pair has its whole share there and
    closes, as two nearly touching edges do that come to cross within the step.
    """
    a, b, c, d, are_edges = stencil(stencils, pair)
    square = dot(closest[0], closest[0])
    if square > (MAX_DISTANCE_RATIO * dhat) ** 2:
        return closest, 0.0
    last = four_points(ends, a, b, c, d)
    then = closest_points(are_edges, last)
    size = math.sqrt(dot(then[0], then[0]))
    if size == 0.0:
        return closest, 0.0
    apart = plus(
        plus(scaled(then[1], x[0]), scaled(then[2], x[1])),
        plus(scaled(then[3], x[2]), scaled(then[4], x[3])),
    )
    gap = dot(apart, then[0]) / size
    if 0.0 < gap < MIN_CLOSING_FACTOR * size:
        return closest, 0.0
    if pair_share(stencils, mesh, laws, ends, pair, then) < 1.0:
        return closest, 0.0
    if gap * gap < MIN_GAP_RATIO**2 * square:
        return closest, 1.0
    return (scaled(gap / size, then[0]), *then[1:]), 1.0
