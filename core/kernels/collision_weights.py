# SPDX-License-Identifier: GPL-3.0-or-later
"""What pairs of close surface parts add to the weights of collisions, by area.

Every place of a surface is to count once against whatever is close to it, although several faces
and edges have the same closest place where they meet: what is too much is taken off by the improved
max operator (Li et al., "Convergent Incremental Potential Contact", 2023, arXiv:2307.15908).
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .closest_features import END, INSIDE, START, from_edge
from .collision_keys import (
    FAR,
    are_parallel,
    edge_edge_key,
    edge_vertex_key,
    face_vertex_key,
    parallel_key,
    vertices_key,
)
from .vectors import dot, minus, vector_at

# Every place is counted from either surface, and by points as well as by edges.
QUARTER = 0.25


@compiled()
def vertex_area(mesh: Any, vertex: Any, other: Any) -> Any:
    """The area of a vertex against another object, in m². A collider's large faces touch a body
    with a small part of them: their corners count for no more than the body's on average."""
    area = mesh.vertex_areas[vertex]
    if mesh.object_of[vertex] < mesh.body_objects:
        return area
    return min(area, mesh.mean_vertex_areas[other])


@compiled()
def edge_area(mesh: Any, edge: Any, other: Any) -> Any:
    """The area of an edge against another object, in m², limited in the same way."""
    area = mesh.edge_areas[edge]
    if mesh.object_of[mesh.edges[edge, 0]] < mesh.body_objects:
        return area
    return min(area, mesh.mean_edge_areas[other])


@compiled()
def edge_edge_weight(mesh: Any, first: Any, second: Any) -> Any:
    """Of two edges that are close."""
    one, other = mesh.object_of[mesh.edges[first, 0]], mesh.object_of[mesh.edges[second, 0]]
    return QUARTER * (edge_area(mesh, first, other) + edge_area(mesh, second, one))


@compiled()
def face_vertex_weight(mesh: Any, face: Any, vertex: Any) -> Any:
    """Of a face and a vertex that are close."""
    return QUARTER * vertex_area(mesh, vertex, mesh.object_of[mesh.faces[face, 0]])


@compiled()
def edge_excess(mesh: Any, edge: Any, vertex: Any) -> Any:
    """What the faces around an edge weigh against a vertex, but for one of them; negative."""
    faces = 0
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        faces += mesh.edge_corners[place] != vertex
    area = vertex_area(mesh, vertex, mesh.object_of[mesh.edges[edge, 0]])
    return -QUARTER * max(faces - 1, 0) * area


@compiled()
def corner_excess(mesh: Any, corner: Any, vertex: Any) -> Any:
    """What the faces around a corner, less the excess of the edges around it, lack of one against
    a vertex."""
    for place in range(mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]):
        edge = mesh.vertex_edges[place]
        if mesh.edges[edge, 0] == vertex or mesh.edges[edge, 1] == vertex:
            return 0.0
    area = vertex_area(mesh, vertex, mesh.object_of[corner])
    return QUARTER * mesh.vertex_characteristics[corner] * area


@compiled()
def add_crossing_excess(
    points: Any, mesh: Any, edge: Any, vertex: Any, keys: Any, weights: Any
) -> None:
    """What the edges at a vertex weigh against an edge, but for one of them; negative.

    Each almost parallel one is taken off for itself, so that it is mollified as the edge is.

    Args:
        keys, weights: (1 + edges at the vertex,) of collisions, to be filled.
    """
    a, b = vector_at(points, mesh.edges[edge, 0]), vector_at(points, mesh.edges[edge, 1])
    on_edge = from_edge(vector_at(points, vertex), a, b)[1]
    weight = -QUARTER * edge_area(mesh, edge, mesh.object_of[vertex])
    crossing = 0
    for place in range(mesh.vertex_offsets[vertex], mesh.vertex_offsets[vertex + 1]):
        other, slot = mesh.vertex_edges[place], 1 + place - mesh.vertex_offsets[vertex]
        keys[slot], weights[slot] = FAR, 0.0
        end = START if mesh.edges[other, 0] == vertex else END
        far_end = mesh.edges[other, 1 - end]
        if far_end == mesh.edges[edge, 0] or far_end == mesh.edges[edge, 1]:
            continue
        if are_parallel(points, mesh, edge, other):
            keys[slot] = parallel_key(mesh, edge, other, 3 * on_edge + end)
            weights[slot] = weight
        else:
            crossing += 1
    keys[0] = edge_vertex_key(mesh, edge, vertex, on_edge)
    weights[0] = weight * (crossing - 1)


# Over arrays


@compiled()
def weigh_edge_edges(
    mesh: Any, pairs: Any, codes: Any, area_weighted: bool, keys: Any, weights: Any
) -> None:
    """Fills in the (E,) keys and weights of (E, 2) edges with codes; 1 unless by area."""
    for k in range(len(pairs)):
        first, second = pairs[k, 0], pairs[k, 1]
        keys[k] = edge_edge_key(mesh, first, second, codes[k])
        weights[k] = edge_edge_weight(mesh, first, second) if area_weighted else 1.0


@compiled()
def weigh_face_vertices(
    mesh: Any, pairs: Any, codes: Any, area_weighted: bool, keys: Any, weights: Any
) -> None:
    """Fills in the (F,) keys and weights of (F, 2) faces and vertices with codes."""
    for k in range(len(pairs)):
        face, vertex = pairs[k, 0], pairs[k, 1]
        keys[k] = face_vertex_key(mesh, face, vertex, codes[k])
        weights[k] = face_vertex_weight(mesh, face, vertex) if area_weighted else 1.0


@compiled()
def _is_near(points: Any, mesh: Any, edge: Any, vertex: Any, squared: Any) -> Any:
    a, b = vector_at(points, mesh.edges[edge, 0]), vector_at(points, mesh.edges[edge, 1])
    difference = from_edge(vector_at(points, vertex), a, b)[0]
    limit = squared[mesh.object_of[mesh.edges[edge, 0]], mesh.object_of[vertex]]
    return dot(difference, difference) < limit


@compiled()
def ends_near_edges(points: Any, mesh: Any, pairs: Any, squared: Any, near: Any) -> None:
    """Fills in (E, 4) the keys of either edge and an end of the other that are close; else
    ``FAR``."""
    for k in range(len(pairs)):
        for side in range(2):
            edge = pairs[k, side]
            for end in range(2):
                vertex = mesh.edges[pairs[k, 1 - side], end]
                is_near = _is_near(points, mesh, edge, vertex, squared)
                key = edge_vertex_key(mesh, edge, vertex, INSIDE)
                near[k, 2 * side + end] = key if is_near else FAR


@compiled()
def vertices_near_faces(points: Any, mesh: Any, pairs: Any, squared: Any, near: Any) -> None:
    """Fills in (F, 6) the keys of the vertex and the three edges and corners of the face that are
    close to it; else ``FAR``."""
    for k in range(len(pairs)):
        face, vertex = pairs[k, 0], pairs[k, 1]
        own, limits = vector_at(points, vertex), squared[mesh.object_of[vertex]]
        for side in range(3):
            edge, corner = mesh.face_edges[face, side], mesh.faces[face, side]
            is_near = _is_near(points, mesh, edge, vertex, squared)
            near[k, side] = edge_vertex_key(mesh, edge, vertex, INSIDE) if is_near else FAR
            difference = minus(own, vector_at(points, corner))
            is_near = dot(difference, difference) < limits[mesh.object_of[corner]]
            near[k, 3 + side] = vertices_key(mesh, vertex, corner) if is_near else FAR


@compiled()
def add_crossing_excesses(
    points: Any, mesh: Any, edges: Any, vertices: Any, offsets: Any, keys: Any, weights: Any
) -> None:
    """Fills in the (C,) keys and weights of (K,) edges and vertices, each from a start on."""
    for k in range(len(edges)):
        start, end = offsets[k], offsets[k + 1]
        add_crossing_excess(
            points, mesh, edges[k], vertices[k], keys[start:end], weights[start:end]
        )


@compiled()
def add_face_excesses(
    points: Any, mesh: Any, edges: Any, vertices: Any, keys: Any, weights: Any
) -> None:
    """Fills in the (K,) keys and weights of edges and vertices."""
    for k in range(len(edges)):
        edge, vertex = edges[k], vertices[k]
        a, b = vector_at(points, mesh.edges[edge, 0]), vector_at(points, mesh.edges[edge, 1])
        place = from_edge(vector_at(points, vertex), a, b)[1]
        keys[k] = edge_vertex_key(mesh, edge, vertex, place)
        weights[k] = edge_excess(mesh, edge, vertex)


@compiled()
def add_corner_excesses(mesh: Any, first: Any, second: Any, weights: Any) -> None:
    """Fills in the (K,) weights of two vertices."""
    for k in range(len(first)):
        weights[k] = corner_excess(mesh, first[k], second[k])
        weights[k] += corner_excess(mesh, second[k], first[k])
