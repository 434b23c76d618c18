# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves that keep surfaces apart: pairs that would collide are pushed apart, or divided by a plane.

A pair has a fixed unit normal n along which its parts are g apart. While the corners of each part
stay on their side of a plane across n, the parts cannot meet, since they are the hulls of their
corners. A corner is a sum Σ w x of nodes, and node i goes t_i m_i of its move m_i, 0 ≤ t_i ≤ 1. It
approaches the other part by at most c = Σ max(0, −w_i n·m_i), however the others are shortened: so
that t_i ≤ (s + G)/c for the nodes that approach keeps it on its side, s its distance behind the
nearest corner of its part and G the part's share of the distance. No other pair affects this, so
the least t over all pairs satisfies all of them.

Dividing planes: Chen, Hsu, Ayman and Macklin, arXiv 2604.15513, 2026. Impulses: Harmon, Vouga,
Tamstorf and Grinspun, "Robust treatment of simultaneous collisions", ACM Transactions on Graphics
27(3), 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled, shared_range
from ..math3.vectors import advanced, dot, four_points, minus
from .contact_constraints import height_at
from .continuous_collision import (
    ORIGIN,
    ROUNDING_RATIO,
    allowed_distance,
    closing_bound,
    distance_lower_bound,
    pair_step_size,
    separation,
    stencil,
)
from .flat_tets import relax_flat

# The ratio of the distance above its floor that a pair keeps, for rounding.
KEPT_DISTANCE_RATIO = 0.1
# The least part of the distance between two parts that one of them gets.
MIN_SPLIT_RATIO = 0.05
# The most tests of a pair with shortened moves before it is divided untested.
MAX_TESTS = 2
# The least ratio of a pair's compliance and the mobility of its nodes; a pair with nearly
# canceling common nodes is not pushed.
LEAST_COMPLIANCE_RATIO = 1e-2
# The factor against lengths that rounding makes too short.
ROUNDING_FACTOR = 1.0 + 1e-6


@compiled(parallel=True)
def find_collisions(
    stencils: Any,
    before: Any,
    after: Any,
    distances: Any,
    floors: Any,
    collides: Any,
    distances_after: Any,
) -> None:
    """Finds which candidate pairs come closer than their floor.

    Args:
        before, after: (V, 3) between which points go straight, in metres.
        distances: (P,) of pairs before, or less, in metres.
        floors: (P,) in metres; a pair that begins below may lose a hundredth of its distance.
        collides: (P,) to be filled in.
        distances_after: (P,) less than those of pairs after, in metres, to be filled in.
    """
    for k in shared_range(len(collides)):
        a, b, c, d, are_edges = stencil(stencils, k)
        start, end = four_points(before, a, b, c, d), four_points(after, a, b, c, d)
        closing = closing_bound(
            minus(end[0], start[0]),
            minus(end[1], start[1]),
            minus(end[2], start[2]),
            minus(end[3], start[3]),
        )
        distances_after[k] = distances[k] - ROUNDING_FACTOR * closing
        collides[k] = False
        # A displacement so small cannot collide.
        if distances_after[k] <= allowed_distance(distances[k], floors[k], 0.0):
            collides[k] = _collides(start, end, are_edges, floors[k])


@compiled()
def _collides(start: Any, end: Any, are_edges: bool, floor: float) -> bool:
    if distance_lower_bound(start, end, are_edges) >= floor:
        return False
    return pair_step_size(start, end, are_edges, floor, 1.0, 0.0) < 1.0


@compiled()
def _plane(corners: Any, are_edges: bool, floor: float) -> Any:
    """The normal between two parts, the heights of the four corners along it from the first one on,
    how far the parts are apart, and how far they may not come closer."""
    origin = corners[0]
    b, c, d = minus(corners[1], origin), minus(corners[2], origin), minus(corners[3], origin)
    normal, min_distance = separation(ORIGIN, b, c, d, are_edges)
    heights = (0.0, dot(normal, b), dot(normal, c), dot(normal, d))
    size = 0.0
    for corner in (b, c, d):
        size = max(size, abs(corner[0]), abs(corner[1]), abs(corner[2]))
    min_distance -= ROUNDING_RATIO * size
    return normal, heights, min_distance, min(floor, min_distance)


# Impulses


@compiled()
def _add_corner(
    interpolation: Any, point: int, sign: float, nodes: Any, weights: Any, used: int
) -> int:
    """Adds a point times a sign to a sum of nodes; how many those are then."""
    for i in range(interpolation.nodes.shape[1]):
        node, weight = interpolation.nodes[point, i], interpolation.weights[point, i]
        if node < 0 or weight == 0.0:
            continue
        place = 0
        while place < used and nodes[place] != node:
            place += 1
        if place == used:
            nodes[place], weights[place] = node, 0.0
            used += 1
        weights[place] += sign * weight
    return used


@compiled()
def _push(
    normal: Any,
    missing: float,
    nodes: Any,
    weights: Any,
    used: int,
    mobility: Any,
    displacements: Any,
    moves: Any,
) -> float:
    """Apply equal and opposite impulses to a sum of nodes, so that it moves farther along a normal
    by ``missing`` metres; the work that prescribed nodes do, in joules."""
    compliance = along = prescribed = size = 0.0
    for i in range(used):
        node = nodes[i]
        compliance += weights[i] * weights[i] * mobility[node]
        size = max(size, mobility[node])
        for axis in range(3):
            component = weights[i] * normal[axis] * moves[node, axis]
            along += component
            if mobility[node] == 0.0:
                prescribed += weights[i] * normal[axis] * displacements[node, axis]
    # Parts with nearly the same nodes can hardly be separated.
    if compliance <= LEAST_COMPLIANCE_RATIO * size or along >= missing:
        return 0.0
    force = (missing - along) / compliance
    for i in range(used):
        change = weights[i] * mobility[nodes[i]] * force
        for axis in range(3):
            moves[nodes[i], axis] += change * normal[axis]
    return -force * prescribed


@compiled(allocates=True)
def push_apart(
    pairs: Any,
    stencils: Any,
    points: Any,
    interpolation: Any,
    floors: Any,
    mobility: Any,
    displacements: Any,
    flat_tets: Any,
    flat_count: int,
    flat_floor: float,
    sweeps: int,
    moves: Any,
) -> float:
    """Changes moves by impulses between the corners of pairs, so that those stay apart; the work
    of prescribed nodes, in joules.

    Each impulse projects the moves, in the metric of masses, on a half-space that holds all common
    motions: momentum stays, and kinetic energy does not grow.

    Args:
        pairs: (R,) candidates that collide.
        stencils: all candidate pairs.
        points: (V, 3) of the surfaces, in metres.
        interpolation: of the points.
        floors: (P,) in metres.
        mobility: (N,) of nodes, in metres a newton over the step; zero for prescribed nodes.
        displacements: (N, 3) displacements of prescribed nodes in the whole step, in metres.
        flat_tets, flat_count, flat_floor: tets that answer by pressure where the pairs press them
            flat, how many those are, and η̄, as of ``contact_islands.relax_islands``.
        sweeps: over the pairs.
        moves: (N, 3) of nodes, in metres; changed.
    """
    width = 2 * interpolation.nodes.shape[1]
    nodes, weights, work = np.empty(width, np.int64), np.empty(width), 0.0
    for _ in range(sweeps):
        for row in range(len(pairs)):
            a, b, c, d, are_edges = stencil(stencils, pairs[row])
            corners, indices = four_points(points, a, b, c, d), (a, b, c, d)
            normal, heights, min_distance, min_allowed = _plane(
                corners, are_edges, floors[pairs[row]]
            )
            if min_distance <= 0.0:
                continue
            min_allowed += KEPT_DISTANCE_RATIO * (min_distance - min_allowed)
            firsts = 2 if are_edges else 1
            for i in range(firsts):
                for j in range(firsts, 4):
                    used = _add_corner(interpolation, indices[i], 1.0, nodes, weights, 0)
                    used = _add_corner(interpolation, indices[j], -1.0, nodes, weights, used)
                    missing = min_allowed - (heights[i] - heights[j])
                    row_nodes = (nodes, weights, used)
                    work += _push(normal, missing, *row_nodes, mobility, displacements, moves)
        for tet in range(flat_count):
            relax_flat(flat_tets, tet, flat_floor, mobility, moves)
    return work


@compiled(allocates=True)
def push_up(
    interpolation: Any, floors: Any, height: float, nodes: Any, mobility: Any, moves: Any
) -> int:
    """Changes moves by impulses of the ground, so that points stay above it; how many would not.

    Args:
        interpolation: of the S points.
        floors: (S,) above the ground, in metres; points below it may stay there.
        height: of the ground, in metres.
        nodes, mobility, moves: as of ``push_apart``, nodes where they are (N, 3).
    """
    width = interpolation.nodes.shape[1]
    row, weights = np.empty(width, np.int64), np.empty(width)
    falling = 0
    for point in range(len(floors)):
        before = height_at(interpolation, nodes, point) - height
        missing = min(before, floors[point]) - before
        if height_at(interpolation, moves, point) >= missing:
            continue
        falling += 1
        if before > floors[point]:
            missing += KEPT_DISTANCE_RATIO * (before - floors[point])
        used = _add_corner(interpolation, point, 1.0, row, weights, 0)
        _push((0.0, 0.0, 1.0), missing, row, weights, used, mobility, moves, moves)
    return falling


# Planes


@compiled()
def _shortened_point(
    interpolation: Any, owners: Any, moves: Any, step_sizes: Any, point: int
) -> Any:
    """The move of a point whose nodes go by their step sizes."""
    total = (0.0, 0.0, 0.0)
    for i in range(interpolation.nodes.shape[1]):
        node = interpolation.nodes[point, i]
        if node >= 0:
            factor = interpolation.weights[point, i] * step_sizes[owners[node]]
            move = (moves[node, 0], moves[node, 1], moves[node, 2])
            total = advanced(total, factor, move)
    return total


@compiled()
def _approach(interpolation: Any, i: int, point: int, normal: Any, moves: Any) -> float:
    """The approach of a point against a normal when one node makes its move, in metres."""
    node = interpolation.nodes[point, i]
    if node < 0:
        return 0.0
    along = normal[0] * moves[node, 0] + normal[1] * moves[node, 1] + normal[2] * moves[node, 2]
    return max(0.0, -interpolation.weights[point, i] * along)


@compiled()
def _max_approach(
    interpolation: Any, owners: Any, moves: Any, step_sizes: Any, point: int, normal: Any
) -> float:
    """The farthest approach of a point against a normal at present or smaller step sizes."""
    total = 0.0
    for i in range(interpolation.nodes.shape[1]):
        along = _approach(interpolation, i, point, normal, moves)
        if along > 0.0:
            total += step_sizes[owners[interpolation.nodes[point, i]]] * along
    return total


@compiled()
def _scale_step_sizes(
    interpolation: Any,
    owners: Any,
    moves: Any,
    step_sizes: Any,
    point: int,
    normal: Any,
    ratio: float,
    changed: Any,
) -> None:
    """Scale the step sizes of nodes that move a point against a normal by a ratio."""
    for i in range(interpolation.nodes.shape[1]):
        if _approach(interpolation, i, point, normal, moves) > 0.0:
            owner = owners[interpolation.nodes[point, i]]
            changed[owner] = min(changed[owner], ratio * step_sizes[owner])


@compiled()
def divide_pair(
    indices: Any,
    corners: Any,
    are_edges: bool,
    floor: float,
    interpolation: Any,
    owners: Any,
    moves: Any,
    step_sizes: Any,
    changed: Any,
) -> None:
    """Lowers ``changed`` step sizes so that each part of a pair stays on its side of a plane.

    Args:
        indices, corners: the four points of the pair, and where they are, in metres.
        floor: in metres; parts that are closer come no closer.
        interpolation: of the points.
        owners: (N,) the node whose step size each node has.
        moves: (N, 3) of nodes, in metres.
        step_sizes: (N,) present ones.
        changed: (N,) lowered; at first no larger than ``step_sizes``.
    """
    normal, heights, min_distance, min_allowed = _plane(corners, are_edges, floor)
    firsts = 2 if are_edges else 1
    opposite = (-normal[0], -normal[1], -normal[2])
    if min_distance <= 0.0:
        # No plane is known: everything stays where it is.
        for k in range(4):
            _stop_nodes(interpolation, owners, indices[k], changed)
        return
    lowest, highest = min(heights[0], heights[firsts - 1]), -np.inf
    for k in range(firsts, 4):
        highest = max(highest, heights[k])
    allowed_approach = (1.0 - KEPT_DISTANCE_RATIO) * (min_distance - min_allowed)
    first_excess = second_excess = 0.0
    node_arguments = (interpolation, owners, moves, step_sizes)
    for k in range(4):
        if k < firsts:
            max_approach = _max_approach(*node_arguments, indices[k], normal)
            first_excess = max(first_excess, max_approach - (heights[k] - lowest))
        else:
            max_approach = _max_approach(*node_arguments, indices[k], opposite)
            second_excess = max(second_excess, max_approach - (highest - heights[k]))
    if first_excess + second_excess <= allowed_approach:
        return
    split_ratio = first_excess / (first_excess + second_excess)
    split_ratio = min(max(split_ratio, MIN_SPLIT_RATIO), 1.0 - MIN_SPLIT_RATIO)
    for k in range(4):
        if k < firsts:
            direction, allowed = normal, heights[k] - lowest + split_ratio * allowed_approach
        else:
            direction, allowed = (
                opposite,
                highest - heights[k] + (1.0 - split_ratio) * allowed_approach,
            )
        max_approach = _max_approach(*node_arguments, indices[k], direction)
        if max_approach > allowed:
            _scale_step_sizes(
                *node_arguments, indices[k], direction, allowed / max_approach, changed
            )


@compiled()
def _stop_nodes(interpolation: Any, owners: Any, point: int, changed: Any) -> None:
    for i in range(interpolation.nodes.shape[1]):
        if interpolation.nodes[point, i] >= 0:
            changed[owners[interpolation.nodes[point, i]]] = 0.0


@compiled()
def limit_falls(
    interpolation: Any,
    floors: Any,
    height: float,
    nodes: Any,
    owners: Any,
    moves: Any,
    step_sizes: Any,
) -> int:
    """Lower the step sizes of nodes so that no point comes to the ground for any motion of other
    nodes; return how many points might.

    Args:
        interpolation, floors, height: as of ``push_up``.
        nodes, moves: (N, 3) where nodes are, and their moves, in metres.
        owners, step_sizes: as of ``divide_pair``; lowered.
    """
    up, falling = (0.0, 0.0, 1.0), 0
    for point in range(len(floors)):
        before = height_at(interpolation, nodes, point) - height
        allowed_approach = max(0.0, before - floors[point])
        max_approach = _max_approach(interpolation, owners, moves, step_sizes, point, up)
        if max_approach <= allowed_approach:
            continue
        falling += 1
        ratio = (1.0 - KEPT_DISTANCE_RATIO) * allowed_approach / max_approach
        _scale_step_sizes(interpolation, owners, moves, step_sizes, point, up, ratio, step_sizes)
    return falling


@compiled()
def reaches(interpolation: Any, moves: Any, out: Any) -> None:
    """Write the (V,) distances that each point may travel when its nodes make any parts of their
    (N, 3) moves, in metres.
    """
    for point in range(len(out)):
        total = 0.0
        for i in range(interpolation.nodes.shape[1]):
            node = interpolation.nodes[point, i]
            if node >= 0:
                move = (moves[node, 0], moves[node, 1], moves[node, 2])
                total += abs(interpolation.weights[point, i]) * np.sqrt(dot(move, move))
        out[point] = ROUNDING_FACTOR * total


@compiled(parallel=True)
def find_near(stencils: Any, reaches: Any, distances: Any, floors: Any, out: Any) -> None:
    """Finds which candidate pairs may come to their floor by any parts of the moves.

    Args:
        reaches: (V,) how far points may get, in metres.
        distances: (P,) of pairs, or less, in metres.
        floors: (P,) in metres.
        out: (P,) to be filled in.
    """
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        if are_edges:
            max_travel = max(reaches[a], reaches[b]) + max(reaches[c], reaches[d])
        else:
            max_travel = reaches[a] + max(reaches[b], reaches[c], reaches[d])
        out[k] = max_travel > 0.0 and distances[k] <= floors[k] + max_travel


@compiled()
def _owners_of_pair(interpolation: Any, owners: Any, indices: Any, moves: Any, out: Any) -> int:
    """The owners of the nodes of a pair that move, each once; how many there are."""
    used = 0
    for point in indices:
        for i in range(interpolation.nodes.shape[1]):
            node = interpolation.nodes[point, i]
            if node < 0 or (moves[node, 0] == moves[node, 1] == moves[node, 2] == 0.0):
                continue
            owner, place = owners[node], 0
            while place < used and out[place] != owner:
                place += 1
            if place == used:
                out[used] = owner
                used += 1
    return used


@compiled(allocates=True)
def _pairs_of_owners(
    pairs: Any, stencils: Any, interpolation: Any, owners: Any, moves: Any, count: int
) -> Any:
    """Return the (count + 1,) offsets of the pairs of each owner, and their places among all."""
    pair_owners = np.empty(4 * interpolation.nodes.shape[1], np.int64)
    offsets = np.zeros(count + 1, np.int64)
    for row in range(len(pairs)):
        a, b, c, d, _ = stencil(stencils, pairs[row])
        for i in range(_owners_of_pair(interpolation, owners, (a, b, c, d), moves, pair_owners)):
            offsets[pair_owners[i] + 1] += 1
    for owner in range(count):
        offsets[owner + 1] += offsets[owner]
    places, pairs_of = offsets[:-1].copy(), np.empty(offsets[-1], np.int64)
    for row in range(len(pairs)):
        a, b, c, d, _ = stencil(stencils, pairs[row])
        for i in range(_owners_of_pair(interpolation, owners, (a, b, c, d), moves, pair_owners)):
            pairs_of[places[pair_owners[i]]] = row
            places[pair_owners[i]] += 1
    return offsets, pairs_of


@compiled(allocates=True)
def divide(
    pairs: Any,
    collides: Any,
    stencils: Any,
    points: Any,
    floors: Any,
    interpolation: Any,
    owners: Any,
    moves: Any,
    step_sizes: Any,
) -> Any:
    """Lowers step sizes until no pair collides; (A,) which pairs are divided by a plane.

    Pairs that collide are divided. When step sizes fall, other pairs of their nodes are tested
    with shortened moves, at most ``MAX_TESTS`` times. A pair that passes a test at the final step
    sizes is free, and a divided pair stays so at smaller step sizes.

    Args:
        pairs: (A,) candidates that may come to their floor by any parts of the moves.
        collides: (A,) whether they do by whole moves.
        stencils: all candidate pairs.
        points: (V, 3) of the surfaces, in metres.
        floors: (P,) of candidates, in metres.
        interpolation: of the points.
        owners: (N,) the node whose step size each node has.
        moves: (N, 3) of nodes, in metres.
        step_sizes: (N,) of owners, between 0 and 1; lowered.
    """
    count, pair_owners = len(step_sizes), np.empty(4 * interpolation.nodes.shape[1], np.int64)
    offsets, pairs_of = _pairs_of_owners(pairs, stencils, interpolation, owners, moves, count)
    tests, is_divided = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.bool_)
    # A ring: an owner is in it once.
    queue, is_queued, first, length = np.empty(count, np.int64), np.zeros(count, np.bool_), 0, 0
    for row in range(len(pairs)):
        if collides[row]:
            a, b, c, d, _ = stencil(stencils, pairs[row])
            used = _owners_of_pair(interpolation, owners, (a, b, c, d), moves, pair_owners)
            for i in range(used):
                is_queued[pair_owners[i]] = True
    for owner in range(count):
        # Owners with moves that the ground has shortened are queued, too.
        if is_queued[owner] or (step_sizes[owner] < 1.0 and offsets[owner] < offsets[owner + 1]):
            is_queued[owner] = True
            queue[length] = owner
            length += 1
    changed = step_sizes.copy()
    while length > 0:
        owner = queue[first]
        is_queued[owner] = False
        first, length = (first + 1) % count, length - 1
        for place in range(offsets[owner], offsets[owner + 1]):
            row = pairs_of[place]
            if is_divided[row]:
                continue
            k = pairs[row]
            a, b, c, d, are_edges = stencil(stencils, k)
            indices, start = (a, b, c, d), four_points(points, a, b, c, d)
            tests[row] += 1
            if tests[row] <= MAX_TESTS:
                node_arguments = (interpolation, owners, moves, step_sizes)
                end = (
                    advanced(start[0], 1.0, _shortened_point(*node_arguments, a)),
                    advanced(start[1], 1.0, _shortened_point(*node_arguments, b)),
                    advanced(start[2], 1.0, _shortened_point(*node_arguments, c)),
                    advanced(start[3], 1.0, _shortened_point(*node_arguments, d)),
                )
                if not _collides(start, end, are_edges, floors[k]):
                    continue
            is_divided[row] = True
            all_arguments = (interpolation, owners, moves, step_sizes, changed)
            divide_pair(indices, start, are_edges, floors[k], *all_arguments)
            used = _owners_of_pair(interpolation, owners, indices, moves, pair_owners)
            for i in range(used):
                if changed[pair_owners[i]] < step_sizes[pair_owners[i]]:
                    step_sizes[pair_owners[i]] = changed[pair_owners[i]]
                    if not is_queued[pair_owners[i]]:
                        is_queued[pair_owners[i]] = True
                        queue[(first + length) % count] = pair_owners[i]
                        length += 1
    return is_divided
