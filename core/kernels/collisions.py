# SPDX-License-Identifier: GPL-3.0-or-later
"""Collisions of closest features: keys that make pairs one, weights, and stencils of vertices.

A collision is of two vertices, of an edge and a vertex, of two edges that cross or are almost
parallel, or of a face and a vertex.

Every point of a surface has to count once against each near part, although adjacent faces and
edges share their closest points. The improved max operator subtracts the surplus (Li et al.,
"Convergent Incremental Potential Contact", 2023, arXiv:2307.15908).
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..math3.closest_points import (
    CROSSING,
    END,
    FACE_INSIDE,
    INSIDE,
    START,
    between_edges,
    code_of_edges,
    from_edge,
    from_face,
    from_plane,
)
from ..math3.vectors import NOTHING, advanced, cross, dot, four_points, minus, scaled, vector_at
from .barrier import mollifier_of, squared_cross

# The offsets of the keys of each kind; those of two vertices begin at none.
EDGE_VERTEX, EDGE_EDGE, FACE_VERTEX = 1 << 60, 2 << 60, 3 << 60
#: Features of collisions that are not of two edges; those of two edges are their codes.
POINTS, POINT_EDGE, POINT_FACE = 9, 10, 11
#: The code of parts that are too far apart to push.
FAR = -1
#: The offset of codes of almost parallel edges.
PARALLEL = 9
# Edges are mollified below this ratio of the product of their squared lengths at rest.
PARALLEL_SHARE = 1e-3


@compiled()
def parallel_threshold(mesh: Any, first: Any, second: Any) -> Any:
    """Return the squared cross product of two edges below which they are mollified, in m⁴."""
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
    """Return the code of two edges' closest points, if closer than the square root of
    ``squared``.
    """
    a, b = vector_at(points, mesh.edges[first, 0]), vector_at(points, mesh.edges[first, 1])
    c, d = vector_at(points, mesh.edges[second, 0]), vector_at(points, mesh.edges[second, 1])
    code = code_of_edges(a, b, c, d)
    difference = between_edges(a, b, c, d, code)[0]
    if not dot(difference, difference) < squared:
        return FAR
    return code + PARALLEL if are_parallel(points, mesh, first, second) else code


@compiled()
def face_vertex_code(points: Any, mesh: Any, face: Any, vertex: Any, squared: Any) -> Any:
    """Return the code of a face's point closest to a vertex, if closer than the square root of
    ``squared``.
    """
    a = vector_at(points, mesh.faces[face, 0])
    b = vector_at(points, mesh.faces[face, 1])
    c = vector_at(points, mesh.faces[face, 2])
    difference, place = from_face(vector_at(points, vertex), a, b, c)
    return place if dot(difference, difference) < squared else FAR


@compiled()
def vertices_key(mesh: Any, first: Any, second: Any) -> Any:
    """Return the key of a pair of two vertices."""
    return min(first, second) * len(mesh.object_of) + max(first, second)


@compiled()
def edge_vertex_key(mesh: Any, edge: Any, vertex: Any, place: Any) -> Any:
    """Return the key of an edge and a vertex, from the place of the closest point on the edge."""
    if place == INSIDE:
        return EDGE_VERTEX + edge * len(mesh.object_of) + vertex
    return vertices_key(mesh, mesh.edges[edge, place], vertex)


@compiled()
def parallel_key(mesh: Any, first: Any, second: Any, code: Any) -> Any:
    """Return the key of two edges, whichever features of them are closest."""
    if first > second:
        return EDGE_EDGE + 9 * (second * len(mesh.edges) + first) + 3 * (code % 3) + code // 3
    return EDGE_EDGE + 9 * (first * len(mesh.edges) + second) + code


@compiled()
def edge_edge_key(mesh: Any, first: Any, second: Any, code: Any) -> Any:
    """Return the key of two edges, from the code of their closest points."""
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
    """Return the key of a face and a vertex, from the place of the closest point on the face."""
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
    """Return the weight of two close edges."""
    one, other = mesh.object_of[mesh.edges[first, 0]], mesh.object_of[mesh.edges[second, 0]]
    return QUARTER * (edge_area(mesh, first, other) + edge_area(mesh, second, one))


@compiled()
def face_vertex_weight(mesh: Any, face: Any, vertex: Any) -> Any:
    """Return the weight of a face and a close vertex."""
    return QUARTER * vertex_area(mesh, vertex, mesh.object_of[mesh.faces[face, 0]])


@compiled()
def edge_excess(mesh: Any, edge: Any, vertex: Any) -> Any:
    """Return the surplus weight of the faces around an edge against a vertex, all but one of
    them; negative.
    """
    faces = 0
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        faces += mesh.edge_corners[place] != vertex
    area = vertex_area(mesh, vertex, mesh.object_of[mesh.edges[edge, 0]])
    return -QUARTER * max(faces - 1, 0) * area


@compiled()
def corner_excess(mesh: Any, corner: Any, vertex: Any) -> Any:
    """Return the missing weight of the faces around a corner against a vertex: one, less theirs
    and the excess of the edges around it.
    """
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
    """Compute the surplus weight of the edges at a vertex against an edge, all but one of them;
    negative.

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
        point, limits = vector_at(points, vertex), squared[mesh.object_of[vertex]]
        for side in range(3):
            edge, corner = mesh.face_edges[face, side], mesh.faces[face, side]
            is_near = _is_near(points, mesh, edge, vertex, squared)
            near[k, side] = edge_vertex_key(mesh, edge, vertex, INSIDE) if is_near else FAR
            difference = minus(point, vector_at(points, corner))
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


@compiled()
def difference_of(feature: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """The closest point of the first part less that of the other, and the coefficient of each
    vertex in it."""
    if feature == POINTS:
        return minus(x0, x1), 1.0, -1.0, 0.0, 0.0
    if feature == POINT_EDGE:
        t = dot(minus(x0, x1), minus(x2, x1)) / dot(minus(x2, x1), minus(x2, x1))
        difference = advanced(minus(x0, x1), -t, minus(x2, x1))
        return difference, 1.0, t - 1.0, -t, 0.0
    if feature == POINT_FACE:
        difference, s, t = from_plane(x0, x1, x2, x3)
        return difference, 1.0, s + t - 1.0, -s, -t
    difference, s, t = between_edges(x0, x1, x2, x3, feature)
    return difference, 1.0 - s, s, t - 1.0, -t


@compiled()
def edge_normal_jacobian(a: Any, b: Any) -> Any:
    """Return the normal Jacobian of the vertex a of the edge ab, in 1/m; that of b is its
    negative.
    """
    along = minus(b, a)
    return scaled(1.0 / dot(along, along), along)


@compiled()
def plane_normal_jacobians(first: Any, second: Any) -> Any:
    """The vector in the plane of two edges that is perpendicular to the second and has a product of
    1 with the first, and the other way round."""
    a, b, c = dot(first, first), dot(first, second), dot(second, second)
    normal = cross(first, second)
    inverse = 1.0 / dot(normal, normal)
    one = minus(scaled(c, first), scaled(b, second))
    other = minus(scaled(a, second), scaled(b, first))
    return scaled(inverse, one), scaled(inverse, other)


@compiled()
def normal_jacobian_of(feature: Any, x0: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """For each vertex w, in 1/m: as vertices go by δx, the unit normal n turns by Σ w n·δx."""
    if feature == POINT_FACE:
        u, v = plane_normal_jacobians(minus(x2, x1), minus(x3, x1))
        return NOTHING, advanced(u, 1.0, v), scaled(-1.0, u), scaled(-1.0, v)
    if feature == POINT_EDGE:
        u = edge_normal_jacobian(x1, x2)
        return NOTHING, u, scaled(-1.0, u), NOTHING
    u, v = NOTHING, NOTHING
    if feature == CROSSING:
        u, v = plane_normal_jacobians(minus(x1, x0), minus(x3, x2))
    elif feature < CROSSING and feature // 3 == INSIDE:
        u = edge_normal_jacobian(x0, x1)
    elif feature < CROSSING and feature % 3 == INSIDE:
        v = edge_normal_jacobian(x2, x3)
    return u, scaled(-1.0, u), v, scaled(-1.0, v)


@compiled()
def evaluate_stencils(
    points: Any,
    vertices: Any,
    features: Any,
    thresholds: Any,
    differences: Any,
    coefficients: Any,
    mollifiers: Any,
) -> None:
    """Write the ``Stencils`` of each collision."""
    for k in range(len(features)):
        x0, x1, x2, x3 = four_points(
            points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        )
        difference, c0, c1, c2, c3 = difference_of(features[k], x0, x1, x2, x3)
        for i in range(3):
            differences[k, i] = difference[i]
        coefficients[k, 0], coefficients[k, 1] = c0, c1
        coefficients[k, 2], coefficients[k, 3] = c2, c3
        mollifiers[k] = 1.0
        if features[k] <= CROSSING:
            mollifiers[k] = mollifier_of(squared_cross(x0, x1, x2, x3)[0], thresholds[k])[0]


@compiled()
def fill_normal_jacobians(points: Any, vertices: Any, features: Any, jacobians: Any) -> None:
    """Write the (K, 4, 3) normal Jacobians, as ``Stencils`` has them."""
    for k in range(len(features)):
        x0, x1, x2, x3 = four_points(
            points, vertices[k, 0], vertices[k, 1], vertices[k, 2], vertices[k, 3]
        )
        rows = normal_jacobian_of(features[k], x0, x1, x2, x3)
        for i in range(3):
            jacobians[k, 0, i], jacobians[k, 1, i] = rows[0][i], rows[1][i]
            jacobians[k, 2, i], jacobians[k, 3, i] = rows[2][i], rows[3][i]
