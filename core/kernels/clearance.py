# SPDX-License-Identifier: GPL-3.0-or-later
"""How far things went, and whether pairs stayed apart on ways that contact had no part in, in
compiled loops.

Ways are given as (K + 1, V, 3) places in metres, with the (K + 1,) shares of the frame, from 0 to
1, at which vertices were there.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from .continuous_collision import least_on_way, pair_step_size
from .detection import stencil
from .separation import separation
from .vectors import advanced, dot, four_points, minus, scaled, vector_at

# Parts of one object that are near at rest may come to this share of their distance there.
REST_SHARE = 0.5
# How far a way leaves its chord, in changes of its rate there times the time: under a constant
# acceleration an eighth, and a quarter where all of it comes at once, in the middle.
BEND = 0.25


@compiled()
def own_way(path: Any, first: int, last: int) -> float:
    """The farthest that the vertices of one object, from the first to before the last, go from
    where they begin, in metres, the mean of all left out."""
    farthest = 0.0
    for k in range(1, len(path)):
        total = (0.0, 0.0, 0.0)
        for v in range(first, last):
            total = advanced(total, 1.0, _way(path, 0, k, v))
        mean = scaled(1.0 / max(last - first, 1), total)
        for v in range(first, last):
            farthest = max(farthest, _square(minus(_way(path, 0, k, v), mean)))
    return math.sqrt(farthest)


@compiled()
def bends(path: Any, shares: Any, first: int, last: int, is_straight: bool, out: Any) -> None:
    """(V,) how far the ways from one place to a later one leave the straight line, in metres.

    Args:
        is_straight: whether all go straight from each place to the next; else how far they may
            leave that line is told by how their rates change.
    """
    span = shares[last] - shares[first]
    for v in range(path.shape[1]):
        start, whole = vector_at(path[first], v), _way(path, first, last, v)
        aside = turn = 0.0
        for k in range(first + 1, last):
            chord = advanced(start, (shares[k] - shares[first]) / span, whole)
            aside = max(aside, _square(minus(vector_at(path[k], v), chord)))
        if not is_straight:
            for k in range(max(first, 1), min(last, len(path) - 2) + 1):
                ahead, behind = shares[k + 1] - shares[k], shares[k] - shares[k - 1]
                rate = scaled(1.0 / ahead, _way(path, k, k + 1, v))
                change = advanced(rate, -1.0 / behind, _way(path, k - 1, k, v))
                turn = max(turn, max(ahead, behind) * math.sqrt(_square(change)))
        out[v] = math.sqrt(aside) + BEND * turn


@compiled(parallel=True)
def stay_apart(
    stencils: Any,
    path: Any,
    bends: Any,
    rest: Any,
    object_of: Any,
    distances: Any,
    out: Any,
) -> None:
    """(S,) of so many shares of the pairs, 1 where all stay apart on their ways, else 0.

    Args:
        bends: (K, V) how far vertices may leave the straight line between two places, in metres.
        rest: (V, 3) where bodies are at rest.
        object_of: (V,) objects.
        distances: (O, O) how near those may come, in metres.
    """
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for share in shared_range(len(out)):
        out[share] = 1
        for k in range(share, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            nearest = _nearest(rest, object_of, distances, a, b, c, d, are_edges)
            for piece in range(len(bends)):
                least = nearest + _bend(bends[piece], a, b, c, d, are_edges)
                start = four_points(path[piece], a, b, c, d)
                end = four_points(path[piece + 1], a, b, c, d)
                if least_on_way(start, end, are_edges) <= least and _come_near(
                    start, end, are_edges, least
                ):
                    out[share] = 0
                    break
            if out[share] == 0:
                break


@compiled()
def _come_near(start: Any, end: Any, are_edges: bool, least: float) -> bool:
    """Whether a pair does to less than a distance on a straight way."""
    distance = separation(start[0], start[1], start[2], start[3], are_edges)[1]
    return distance <= least or pair_step_size(start, end, are_edges, least, 1.0) < 1.0


@compiled(parallel=True)
def least_room(
    stencils: Any, points: Any, rest: Any, object_of: Any, distances: Any, out: Any
) -> None:
    """(S,) of so many shares of the pairs within one object, how much nearer they may come at
    least, in metres; infinite where there is none."""
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for share in shared_range(len(out)):
        least = math.inf
        for k in range(share, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            if object_of[a] == object_of[d]:
                x = four_points(points, a, b, c, d)
                distance = separation(x[0], x[1], x[2], x[3], are_edges)[1]
                nearest = _nearest(rest, object_of, distances, a, b, c, d, are_edges)
                least = min(least, distance - nearest)
        out[share] = least


@compiled()
def _nearest(
    rest: Any, object_of: Any, distances: Any, a: int, b: int, c: int, d: int, are_edges: bool
) -> float:
    """How near a pair may come, in metres."""
    nearest = distances[object_of[a], object_of[d]]
    if object_of[a] != object_of[d]:
        return nearest
    x = four_points(rest, a, b, c, d)
    return min(nearest, REST_SHARE * separation(x[0], x[1], x[2], x[3], are_edges)[1])


@compiled()
def _bend(bends: Any, a: int, b: int, c: int, d: int, are_edges: bool) -> float:
    """Of both parts of a pair together."""
    if are_edges:
        return max(bends[a], bends[b]) + max(bends[c], bends[d])
    return bends[a] + max(bends[b], bends[c], bends[d])


@compiled()
def _way(path: Any, first: int, last: int, v: int) -> Any:
    return minus(vector_at(path[last], v), vector_at(path[first], v))


@compiled()
def _square(a: Any) -> float:
    return dot(a, a)
