# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of pairs whose closest points lie at a corner or on an edge that other pairs share.

The faces at an edge, and the edges at a corner, have the same closest point where two surfaces are
closest, and count as one pair there. If they are not closest, as beside an inner edge of a flat
floor, only the closer pair counts; the other one would push along the floor.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from ..math3.closest_points import CROSSING, FACE_INSIDE, INSIDE
from ..math3.vectors import cross, dot, minus, scaled, vector_at

# A pair has its full weight from this sine on, by which its neighbours turn away from the closest
# points. Below it the weight is proportional, so that no force begins with a jump.
RAMP_SINE = 0.1


@compiled()
def face_weight(points: Any, mesh: Any, face: Any, vertex: Any, place: Any, apart: Any) -> Any:
    """Return the weight of a face and a vertex, whose difference from the closest point is
    ``apart``."""
    if place == FACE_INSIDE:
        return 1.0
    direction = scaled(1.0 / math.sqrt(dot(apart, apart)), apart)
    if place < 3:
        corner = mesh.faces[face, place]
        weight, sine = corner_weight(points, mesh, corner, vertex, direction)
    else:
        edge = mesh.face_edges[face, place - 3]
        weight, sine = side_weight(points, mesh, edge, vertex, direction)
    ramp = ramp_of(sine)
    if weight == 0.0 or ramp == 0.0:
        return weight
    # A vertex right over a face always counts; one beside all faces counts as a tip.
    turned = turned_from_corner(points, mesh, vertex, scaled(-1.0, direction))
    return weight * (1.0 - ramp * (1.0 - turned))


@compiled()
def side_weight(points: Any, mesh: Any, edge: Any, vertex: Any, direction: Any) -> Any:
    """Return the weight of a face at an edge, 0 where one of the faces is closer than the edge, and
    the least sine between a direction and the normals of these faces."""
    end, faces, least = vector_at(points, mesh.edges[edge, 0]), 0, 1.0
    along = minus(vector_at(points, mesh.edges[edge, 1]), end)
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        corner = mesh.edge_corners[place]
        if corner != vertex:
            faces += 1
            across = minus(vector_at(points, corner), end)
            if dot(direction, across) > 0.0:
                return 0.0, 0.0
            least = min(least, _sine_to_normal(direction, along, across))
    return 1.0 / faces, least


@compiled()
def corner_weight(points: Any, mesh: Any, corner: Any, vertex: Any, direction: Any) -> Any:
    """Return the weight of a face at a corner, 0 where one of the faces is closer than the corner,
    and the least sine between a direction and the normals of these faces."""
    origin, least = vector_at(points, corner), 1.0
    first, last = mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]
    for place in range(first, last):
        edge = mesh.vertex_edges[place]
        end = _far_end(mesh, edge, corner)
        along = minus(vector_at(points, end), origin)
        if end != vertex and dot(direction, along) > 0.0:
            return 0.0, 0.0
        for side in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
            across = minus(vector_at(points, mesh.edge_corners[side]), origin)
            least = min(least, _sine_to_normal(direction, along, across))
    faces = mesh.vertex_characteristics[corner] - 1 + last - first
    return 1.0 / faces, least


@compiled()
def _sine_to_normal(direction: Any, along: Any, across: Any) -> Any:
    """Return the sine of the angle between a direction and the normal of two edges."""
    normal = cross(along, across)
    cosine = dot(direction, normal)
    return math.sqrt(max(0.0, 1.0 - cosine * cosine / dot(normal, normal)))


@compiled()
def edge_weight(
    points: Any, mesh: Any, first: Any, second: Any, code: Any, apart: Any, s: Any, t: Any
) -> Any:
    """Return the weight of two edges, whose closest points are at the parameters s and t and
    differ by ``apart``."""
    distance = math.sqrt(dot(apart, apart))
    direction = scaled(1.0 / distance, apart)
    back = scaled(-1.0, direction)
    if code == CROSSING:
        weight = _crossing_weight(points, mesh, first, s, distance, back)
        if weight == 0.0:
            return weight
        return weight * _crossing_weight(points, mesh, second, t, distance, direction)
    weight = _end_weight(points, mesh, first, code // 3, back)
    if weight == 0.0:
        return weight
    return weight * _end_weight(points, mesh, second, code % 3, direction)


@compiled()
def _crossing_weight(
    points: Any, mesh: Any, edge: Any, parameter: Any, distance: Any, direction: Any
) -> Any:
    """Return the weight of an edge whose closest point is inside it: near an end, the edges that
    meet there share it."""
    along = minus(vector_at(points, mesh.edges[edge, 1]), vector_at(points, mesh.edges[edge, 0]))
    square = min(parameter, 1.0 - parameter) ** 2 * dot(along, along)
    weight = ramp_of(math.sqrt(square / (square + distance * distance)))
    if weight == 1.0:
        return weight
    corner = mesh.edges[edge, 0 if parameter < 0.5 else 1]
    return max(weight, turned_from_corner(points, mesh, corner, direction))


@compiled()
def _end_weight(points: Any, mesh: Any, edge: Any, place: Any, direction: Any) -> Any:
    """Return the weight of an edge in a pair of parallel edges, or of one of the edges at its
    end."""
    if place == INSIDE:
        return turned_from_side(points, mesh, edge, direction)
    corner = mesh.edges[edge, place]
    edges = mesh.vertex_offsets[corner + 1] - mesh.vertex_offsets[corner]
    return turned_from_corner(points, mesh, corner, direction) / edges


@compiled()
def turned_from_corner(points: Any, mesh: Any, corner: Any, direction: Any) -> Any:
    """Return how far the edges at a corner turn away from a direction, by the one that does
    least, 0 … 1."""
    origin, least = vector_at(points, corner), 1.0
    for place in range(mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]):
        end = _far_end(mesh, mesh.vertex_edges[place], corner)
        least = min(least, _turned(minus(vector_at(points, end), origin), direction))
        if least == 0.0:
            break
    return least


@compiled()
def turned_from_side(points: Any, mesh: Any, edge: Any, direction: Any) -> Any:
    """Return how far the faces at an edge turn away from a direction, by the one that does least,
    0 … 1."""
    origin, least = vector_at(points, mesh.edges[edge, 0]), 1.0
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        across = minus(vector_at(points, mesh.edge_corners[place]), origin)
        least = min(least, _turned(across, direction))
        if least == 0.0:
            break
    return least


@compiled()
def _turned(along: Any, direction: Any) -> Any:
    """Return how far an edge turns away from a direction, 0 … 1."""
    return ramp_of(-dot(along, direction) / math.sqrt(dot(along, along)))


@compiled()
def ramp_of(sine: Any) -> Any:
    """Return the weight of a sine, 0 … 1."""
    return min(max(sine / RAMP_SINE, 0.0), 1.0)


@compiled()
def _far_end(mesh: Any, edge: Any, vertex: Any) -> Any:
    return mesh.edges[edge, 0] + mesh.edges[edge, 1] - vertex
