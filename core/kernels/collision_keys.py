# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers for collisions, so that pairs whose closest features are the same have the same one.

A collision is of two vertices, of an edge and a vertex, of two edges that cross or are almost
parallel, or of a face and a vertex.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import CROSSING, FACE_INSIDE, INSIDE, between_edges, code_of_edges, from_face
from .vectors import cross, dot, minus, vector_at

# What the keys of each kind begin at; those of two vertices begin at none.
EDGE_VERTEX, EDGE_EDGE, FACE_VERTEX = 1 << 60, 2 << 60, 3 << 60
#: Features of collisions that are not of two edges; those of two edges are their codes.
POINTS, POINT_EDGE, POINT_FACE = 9, 10, 11
#: The code of parts that are too far apart to push.
FAR = -1
#: Codes of almost parallel edges are by so much above those of others.
PARALLEL = 9
# Edges are mollified below this ratio of the product of their squared lengths at rest.
PARALLEL_SHARE = 1e-3


@compiled()
def parallel_threshold(mesh: Any, first: Any, second: Any) -> Any:
    """Of the squared cross product of two edges, below which they are mollified, in m⁴."""
    return PARALLEL_SHARE * mesh.squared_lengths[first] * mesh.squared_lengths[second]


@compiled()
def are_parallel(points: Any, mesh: Any, first: Any, second: Any) -> Any:
    """Whether two edges are so nearly parallel that they are mollified."""
    a, b = vector_at(points, mesh.edges[first, 0]), vector_at(points, mesh.edges[first, 1])
    c, d = vector_at(points, mesh.edges[second, 0]), vector_at(points, mesh.edges[second, 1])
    normal = cross(minus(b, a), minus(d, c))
    return dot(normal, normal) < parallel_threshold(mesh, first, second)


@compiled()
def edge_edge_code(points: Any, mesh: Any, first: Any, second: Any, squared: Any) -> Any:
    """Where two edges come closest, if closer than the square root of ``squared``."""
    a, b = vector_at(points, mesh.edges[first, 0]), vector_at(points, mesh.edges[first, 1])
    c, d = vector_at(points, mesh.edges[second, 0]), vector_at(points, mesh.edges[second, 1])
    code = code_of_edges(a, b, c, d)
    difference = between_edges(a, b, c, d, code)[0]
    if not dot(difference, difference) < squared:
        return FAR
    return code + PARALLEL if are_parallel(points, mesh, first, second) else code


@compiled()
def face_vertex_code(points: Any, mesh: Any, face: Any, vertex: Any, squared: Any) -> Any:
    """Where a vertex comes closest to a face, if closer than the square root of ``squared``."""
    a = vector_at(points, mesh.faces[face, 0])
    b = vector_at(points, mesh.faces[face, 1])
    c = vector_at(points, mesh.faces[face, 2])
    difference, place = from_face(vector_at(points, vertex), a, b, c)
    return place if dot(difference, difference) < squared else FAR


@compiled()
def vertices_key(mesh: Any, first: Any, second: Any) -> Any:
    """Of two vertices."""
    return min(first, second) * len(mesh.object_of) + max(first, second)


@compiled()
def edge_vertex_key(mesh: Any, edge: Any, vertex: Any, place: Any) -> Any:
    """Of an edge and a vertex whose closest point on it has a place."""
    if place == INSIDE:
        return EDGE_VERTEX + edge * len(mesh.object_of) + vertex
    return vertices_key(mesh, mesh.edges[edge, place], vertex)


@compiled()
def parallel_key(mesh: Any, first: Any, second: Any, code: Any) -> Any:
    """Of two edges, whichever features of them are closest."""
    if first > second:
        return EDGE_EDGE + 9 * (second * len(mesh.edges) + first) + 3 * (code % 3) + code // 3
    return EDGE_EDGE + 9 * (first * len(mesh.edges) + second) + code


@compiled()
def edge_edge_key(mesh: Any, first: Any, second: Any, code: Any) -> Any:
    """Of two edges with a code."""
    if code >= PARALLEL:
        return parallel_key(mesh, first, second, code - PARALLEL)
    if code == CROSSING:
        return parallel_key(mesh, first, second, code)
    on_first, on_second = code // 3, code % 3
    if on_second == INSIDE:
        return edge_vertex_key(mesh, second, mesh.edges[first, on_first], INSIDE)
    return edge_vertex_key(mesh, first, mesh.edges[second, on_second], on_first)


@compiled()
def face_vertex_key(mesh: Any, face: Any, vertex: Any, place: Any) -> Any:
    """Of a face and a vertex whose closest point on it has a place."""
    if place == FACE_INSIDE:
        return FACE_VERTEX + face * len(mesh.object_of) + vertex
    if place >= 3:
        return edge_vertex_key(mesh, mesh.face_edges[face, place - 3], vertex, INSIDE)
    return vertices_key(mesh, mesh.faces[face, place], vertex)


@compiled()
def find_edge_edges(points: Any, mesh: Any, pairs: Any, squared: Any, codes: Any) -> None:
    """Fills in the (E,) codes of (E, 2) edges, ``squared`` (O, O) being d̂² of objects."""
    for k in range(len(pairs)):
        one, other = mesh.edges[pairs[k, 0], 0], mesh.edges[pairs[k, 1], 0]
        limit = squared[mesh.object_of[one], mesh.object_of[other]]
        codes[k] = edge_edge_code(points, mesh, pairs[k, 0], pairs[k, 1], limit)


@compiled()
def find_face_vertices(points: Any, mesh: Any, pairs: Any, squared: Any, codes: Any) -> None:
    """Fills in the (F,) codes of (F, 2) faces and vertices."""
    for k in range(len(pairs)):
        one, other = mesh.faces[pairs[k, 0], 0], pairs[k, 1]
        limit = squared[mesh.object_of[one], mesh.object_of[other]]
        codes[k] = face_vertex_code(points, mesh, pairs[k, 0], pairs[k, 1], limit)
