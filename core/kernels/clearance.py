# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether anything comes near within a frame, or leaves a straight path.

A path is (V, K + 1, 3) positions in metres, vertex by vertex, since pairs are scattered, with
(K + 1,) times in frames, from 0 to 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import compiled, shared_range
from ..math3.vectors import advanced, dot, four_points, minus, scaled, vector_at
from .continuous_collision import (
    distance_lower_bound,
    pair_step_size,
    relative_move,
    relative_square,
    separation,
    stencil,
)
from .held_pairs import is_held
from .rest_distance import activation_distance

NO_POINTS = ((0.0, 0.0, 0.0),) * 4


@compiled()
def deviation(point: Any, origin: Any, velocity: Any, time: float) -> float:
    """Return the distance of a point from its extrapolated path after ``time`` seconds, in
    metres.
    """
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
    """Write the (V,) distances of (V, 3) points from their paths at two times, in seconds since
    the paths began: the larger of both over the ``allowed`` distance. Return the largest of them.
    """
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
    """Update (V, 3) velocities, in m/s, to those of a step of ``step`` seconds between two (V, 3)
    places, and (V,) their changes in a step; the ratio ``memory`` of earlier changes is
    retained."""
    for v in shared_range(len(changes)):
        velocity = scaled(1.0 / step, minus(vector_at(after, v), vector_at(before, v)))
        change = minus(velocity, vector_at(velocities, v))
        changes[v] = max(math.sqrt(dot(change, change)), memory * changes[v])
        velocities[v, 0], velocities[v, 1], velocities[v, 2] = velocity


# The deviation of a path from its secant over the change of its velocity times the time: an eighth
# under a constant acceleration, and a quarter if all of the change is in the middle.
DEVIATION_RATIO = 0.25


@compiled()
def max_own_displacement(path: Any, first: int, last: int) -> float:
    """The largest displacement of the vertices of one object, from the first to before the last, in
    metres, less the mean of all."""
    farthest = 0.0
    for k in range(1, path.shape[1]):
        total = (0.0, 0.0, 0.0)
        for v in range(first, last):
            total = advanced(total, 1.0, _displacement(path[v], 0, k))
        mean = scaled(1.0 / max(last - first, 1), total)
        for v in range(first, last):
            farthest = max(farthest, _square(minus(_displacement(path[v], 0, k), mean)))
    return math.sqrt(farthest)


@compiled()
def path_bends(path: Any, times: Any, out: Any) -> None:
    """Write the (V, K + 1, 3) deviations of each vertex from the straight lines to its positions
    before and after, in metres; zero at both ends.
    """
    last = path.shape[1] - 1
    for v in range(len(path)):
        for k in range(last + 1):
            bend = (0.0, 0.0, 0.0)
            if 0 < k < last:
                ahead, behind = times[k + 1] - times[k], times[k] - times[k - 1]
                rate = scaled(1.0 / ahead, _displacement(path[v], k, k + 1))
                change = advanced(rate, -1.0 / behind, _displacement(path[v], k - 1, k))
                bend = scaled(DEVIATION_RATIO * max(ahead, behind), change)
            out[v, k, 0], out[v, k, 1], out[v, k, 2] = bend


@compiled()
def fit_parabolas(
    path: Any, times: Any, bends: Any, first: int, last: int, sagittas: Any, deviations: Any
) -> None:
    """Write the (V, 3) sagittas d of parabolas like the paths between two times, in metres, and
    the (V,) largest deviations of paths from these.

    A parabola leaves the secant by 4 τ (1 − τ) d, where τ goes from 0 to 1, and fits the positions
    best by least squares.

    Args:
        bends: (V, K + 1, 3) by ``path_bends``; zeros where all move linearly from each position to
            the next.
    """
    span = times[last] - times[first]
    for v in range(len(path)):
        start, displacement = vector_at(path[v], first), _displacement(path[v], first, last)
        weight, total = 0.0, (0.0, 0.0, 0.0)
        for k in range(first + 1, last):
            share = (times[k] - times[first]) / span
            height = 4.0 * share * (1.0 - share)
            secant = advanced(start, share, displacement)
            weight += height * height
            total = advanced(total, height, minus(vector_at(path[v], k), secant))
        sagitta = scaled(1.0 / weight, total) if weight > 0.0 else total
        sagittas[v, 0], sagittas[v, 1], sagittas[v, 2] = sagitta
        sample_deviation = bend_deviation = 0.0
        for k in range(first, last + 1):
            share = (times[k] - times[first]) / span
            parabola = advanced(
                advanced(start, share, displacement), 4.0 * share * (1.0 - share), sagitta
            )
            deviation = minus(vector_at(path[v], k), parabola)
            sample_deviation = max(sample_deviation, _square(deviation))
            bend_deviation = max(bend_deviation, _square(vector_at(bends[v], k)))
        deviations[v] = math.sqrt(sample_deviation) + math.sqrt(bend_deviation)


@compiled(parallel=True, allocates=True)
def stay_separated(
    stencils: Any,
    paths: Any,
    bends: Any,
    first: int,
    last: int,
    rest: Any,
    object_of: Any,
    distances: Any,
    are_joined: Any,
    hold: Any,
    out: Any,
) -> None:
    """Write for each chunk of the pairs (S,) 1 where all stay separated on their paths, else 0;
    chunks with 1 are left as they are.

    The motion that both parts of a pair have in common brings them no nearer, nor do tetrahedra
    that hardly deform.

    Args:
        paths, bends: (V, K + 1, 3), the latter by ``path_bends``.
        first, last: indices of times, between which they are looked at.
        rest: (V, 3) where bodies are at rest.
        object_of: (V,) objects.
        distances: (O, O) how near those may come, in metres.
        are_joined: (O, O) whether two objects are one piece, or attached to each other.
        hold: of the surface in this time (``held_pairs.Hold``).
    """
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for chunk in shared_range(len(out)):
        if out[chunk] == 1:
            continue
        out[chunk], most = 1, 4 * hold.nodes.shape[1]
        scratch = np.empty(most, np.int32), np.empty(most)
        for k in range(chunk, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            if object_of[a] == object_of[d] and is_held(
                hold, rest, (a, b, c, d), are_edges, scratch[0], scratch[1]
            ):
                continue
            start = _corners(paths, first, a, b, c, d)
            distance = distance_lower_bound(start, start, are_edges)
            approach = _most_relative(paths, first, last, start, a, b, c, d, are_edges)
            approach += _most_relative(bends, first, last, NO_POINTS, a, b, c, d, are_edges)
            # Most are farther apart than they come nearer.
            if distance > distances[object_of[a], object_of[d]] + approach:
                continue
            min_distance = activation_distance(
                rest, object_of, distances, are_joined, a, b, c, d, are_edges
            )
            if distance > min_distance + approach:
                continue
            for piece in range(first, last):
                start = _corners(paths, piece, a, b, c, d)
                end = _corners(paths, piece + 1, a, b, c, d)
                bend = _corners(bends, piece, a, b, c, d)
                next_bend = _corners(bends, piece + 1, a, b, c, d)
                least = min_distance + max(
                    relative_move(bend, are_edges), relative_move(next_bend, are_edges)
                )
                if distance_lower_bound(start, end, are_edges) <= least and _approach(
                    start, end, are_edges, least
                ):
                    out[chunk] = 0
                    break
            if out[chunk] == 0:
                break


@compiled()
def _corners(paths: Any, index: int, a: int, b: int, c: int, d: int) -> Any:
    """Return the places of four vertices at one of the times of paths."""
    return (
        vector_at(paths[a], index),
        vector_at(paths[b], index),
        vector_at(paths[c], index),
        vector_at(paths[d], index),
    )


@compiled()
def _most_relative(
    paths: Any, first: int, last: int, origin: Any, a: int, b: int, c: int, d: int, are_edges: bool
) -> float:
    """The largest ``relative_move`` of a pair from four points between two times, in metres."""
    most = 0.0
    for index in range(first, last + 1):
        at = _corners(paths, index, a, b, c, d)
        moves = (
            minus(at[0], origin[0]),
            minus(at[1], origin[1]),
            minus(at[2], origin[2]),
            minus(at[3], origin[3]),
        )
        most = max(most, relative_square(moves, are_edges))
    return math.sqrt(most)


@compiled()
def _approach(start: Any, end: Any, are_edges: bool, least: float) -> bool:
    """Whether a pair comes closer than a distance on a linear trajectory."""
    distance = separation(start[0], start[1], start[2], start[3], are_edges)[1]
    return distance <= least or pair_step_size(start, end, are_edges, least, 1.0) < 1.0


@compiled(parallel=True)
def min_clearances(
    stencils: Any,
    points: Any,
    rest: Any,
    object_of: Any,
    distances: Any,
    are_joined: Any,
    out: Any,
) -> None:
    """Write for each chunk of the pairs within one object (S,) the least distance by which they
    may still come nearer, in metres; infinite where there is none.
    """
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    for chunk in shared_range(len(out)):
        least = math.inf
        for k in range(chunk, count, len(out)):
            a, b, c, d, are_edges = stencil(stencils, k)
            if object_of[a] == object_of[d]:
                x = four_points(points, a, b, c, d)
                distance = separation(x[0], x[1], x[2], x[3], are_edges)[1]
                min_distance = activation_distance(
                    rest, object_of, distances, are_joined, a, b, c, d, are_edges
                )
                least = min(least, distance - min_distance)
        out[chunk] = least


@compiled()
def _displacement(positions: Any, first: int, last: int) -> Any:
    """Return the displacement of one vertex between two of its (K + 1, 3) positions."""
    return minus(vector_at(positions, last), vector_at(positions, first))


@compiled()
def _square(a: Any) -> float:
    return dot(a, a)
