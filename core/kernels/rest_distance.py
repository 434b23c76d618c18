# SPDX-License-Identifier: GPL-3.0-or-later
"""The activation distances of pairs: parts of one object, and of objects that are attached to each
other, push from nearer where they are near at rest."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from ..math3.vectors import advanced, dot, four_points, minus
from .collisions import POINT_EDGE, POINT_FACE, POINTS
from .continuous_collision import separation, stencil

#: Parts of one object push from this ratio of their distance at rest, or from nearer.
REST_DISTANCE_RATIO = 0.25
#: Pairs are searched within this ratio of the distance at which they push, for rounding's sake.
SEARCH_RADIUS_RATIO = 1.01
# Parts nearer at rest than this ratio of the distance of their corners touch there: that distance
# counts in place of theirs. The distance of coincident corners, relative to d̂.
TOUCHING_RATIO = 1e-6


@compiled(inline=True)
def nearest_square(x: Any, are_edges: bool) -> float:
    """The least squared distance between corners of two edges, or from a vertex to the corners of a
    face: an upper bound of that of the two parts."""
    if are_edges:
        return min(
            min(_square(x[0], x[2]), _square(x[0], x[3])),
            min(_square(x[1], x[2]), _square(x[1], x[3])),
        )
    return min(_square(x[0], x[1]), _square(x[0], x[2]), _square(x[0], x[3]))


@compiled(inline=True)
def shortening(dhat: float, square: float) -> float:
    """Return the reduction of the search distance for parts of one object that are near at rest, in
    metres.

    Args:
        dhat: that distance, in metres; zero for no push.
        square: an upper bound of their squared distance at rest.
    """
    limit = REST_DISTANCE_RATIO * math.sqrt(square)
    return SEARCH_RADIUS_RATIO * (dhat - min(dhat, max(limit, TOUCHING_RATIO * dhat)))


@compiled()
def activation_distance(
    rest: Any,
    object_of: Any,
    dhats: Any,
    are_joined: Any,
    a: int,
    b: int,
    c: int,
    d: int,
    are_edges: bool,
) -> float:
    """d̂ of a pair, in metres.

    Args:
        rest: (V, 3) points of bodies at rest.
        object_of: (V,) objects of points.
        dhats: (O, O) of every two objects, in metres.
        are_joined: (O, O) whether two objects are one piece, or attached to each other.
    """
    dhat = dhats[object_of[a], object_of[d]]
    if not are_joined[object_of[a], object_of[d]]:
        return dhat
    return _limited(dhat, four_points(rest, a, b, c, d), are_edges)


@compiled(parallel=True)
def activation_distances(
    stencils: Any, rest: Any, object_of: Any, dhats: Any, are_joined: Any, out: Any
) -> None:
    """(P,) d̂ of candidate pairs, in metres."""
    for k in shared_range(len(out)):
        a, b, c, d, are_edges = stencil(stencils, k)
        out[k] = activation_distance(rest, object_of, dhats, are_joined, a, b, c, d, are_edges)


@compiled()
def limit_activation(
    vertices: Any,
    features: Any,
    objects: Any,
    are_joined: Any,
    mesh: Any,
    rest: Any,
    points: Any,
    dhats: Any,
    is_near: Any,
) -> None:
    """Lower the (K,) d̂ of collisions of joined parts to the least of all pairs that share features
    with them, and find which (K,) still push.

    Args:
        are_joined: (O, O) whether two objects are one piece, or attached to each other.
        vertices, features, objects, dhats: as ``NormalCollisions`` has them.
        mesh: ``Topology``.
        rest: (V, 3) points of bodies at rest.
        points: (V, 3) where they are.
        is_near: to be filled in.
    """
    for k in range(len(dhats)):
        is_near[k] = True
        if not are_joined[objects[k, 0], objects[k, 1]]:
            continue
        a, b, c, d = vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        now = _distance(features[k], four_points(points, a, b, c, d))
        dhat = dhats[k]
        if features[k] == POINT_EDGE:
            dhat = _least_of_edge(mesh, rest, dhat, now, a, b, c)
        elif features[k] == POINTS:
            dhat = _least_at_vertices(mesh, rest, dhat, now, a, b)
        else:
            dhat = _limited(dhat, four_points(rest, a, b, c, d), features[k] != POINT_FACE)
        dhats[k], is_near[k] = dhat, now < dhat


@compiled()
def _limited(dhat: float, x: Any, are_edges: bool) -> float:
    """d̂ of a pair within one object, by its four points at rest."""
    corners = math.sqrt(nearest_square(x, are_edges))
    if REST_DISTANCE_RATIO * corners > dhat and _are_far(x, are_edges, dhat):
        return dhat
    distance = separation(x[0], x[1], x[2], x[3], are_edges)[1]
    if distance <= TOUCHING_RATIO * corners:
        distance = corners
    return min(dhat, max(REST_DISTANCE_RATIO * distance, TOUCHING_RATIO * dhat))


@compiled(inline=True)
def _are_far(x: Any, are_edges: bool, dhat: float) -> bool:
    """Whether boxes around the two parts already are so far apart that they push from ``dhat``."""
    square = 0.0
    for i in range(3):
        if are_edges:
            low, high = min(x[0][i], x[1][i]), max(x[0][i], x[1][i])
            gap = max(low - max(x[2][i], x[3][i]), min(x[2][i], x[3][i]) - high)
        else:
            low, high = min(x[1][i], x[2][i], x[3][i]), max(x[1][i], x[2][i], x[3][i])
            gap = max(low - x[0][i], x[0][i] - high)
        square += max(gap, 0.0) ** 2
    return REST_DISTANCE_RATIO**2 * square > dhat * dhat


@compiled()
def _least_of_edge(
    mesh: Any, rest: Any, dhat: float, now: float, tip: int, a: int, b: int
) -> float:
    """d̂ of a vertex and an edge: the least of the pairs that have both in common; any bound up to
    ``now`` is enough."""
    for place in range(mesh.vertex_offsets[tip], mesh.vertex_offsets[tip + 1]):
        end = _other_end(mesh, mesh.vertex_edges[place], tip)
        if dhat > now and end != a and end != b:
            dhat = _limited(dhat, four_points(rest, tip, end, a, b), True)
    for place in range(mesh.vertex_offsets[a], mesh.vertex_offsets[a + 1]):
        edge = mesh.vertex_edges[place]
        if _other_end(mesh, edge, a) != b:
            continue
        for side in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
            corner = mesh.edge_corners[side]
            if dhat > now and corner != tip:
                dhat = _limited(dhat, four_points(rest, tip, a, b, corner), False)
    return dhat


@compiled()
def _least_at_vertices(mesh: Any, rest: Any, dhat: float, now: float, a: int, b: int) -> float:
    """Return the least rest distance around two vertices, at most ``dhat``."""
    for place in range(mesh.vertex_offsets[a], mesh.vertex_offsets[a + 1]):
        end = _other_end(mesh, mesh.vertex_edges[place], a)
        for other in range(mesh.vertex_offsets[b], mesh.vertex_offsets[b + 1]):
            last = _other_end(mesh, mesh.vertex_edges[other], b)
            if dhat > now and end != b and last != a and end != last:
                dhat = _limited(dhat, four_points(rest, a, end, b, last), True)
    for first, second in ((a, b), (b, a)):
        for place in range(mesh.vertex_offsets[second], mesh.vertex_offsets[second + 1]):
            edge = mesh.vertex_edges[place]
            end = _other_end(mesh, edge, second)
            for side in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
                corner = mesh.edge_corners[side]
                if dhat > now and end != first and corner != first:
                    dhat = _limited(dhat, four_points(rest, first, second, end, corner), False)
    return dhat


@compiled(inline=True)
def _other_end(mesh: Any, edge: int, vertex: int) -> int:
    if mesh.edges[edge, 0] == vertex:
        return mesh.edges[edge, 1]
    return mesh.edges[edge, 0]


@compiled()
def _distance(feature: int, x: Any) -> float:
    """The distance of two parts, in metres, whichever features of them are closest."""
    if feature == POINTS:
        return math.sqrt(_square(x[0], x[1]))
    if feature == POINT_EDGE:
        along = minus(x[2], x[1])
        t = min(1.0, max(0.0, dot(minus(x[0], x[1]), along) / dot(along, along)))
        return math.sqrt(_square(x[0], advanced(x[1], t, along)))
    return separation(x[0], x[1], x[2], x[3], feature < POINTS)[1]


@compiled(inline=True)
def _square(a: Any, b: Any) -> float:
    difference = minus(a, b)
    return dot(difference, difference)
