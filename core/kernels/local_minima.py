# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pair counts whose closest points lie at a corner or on an edge that others share.

The faces around an edge, and the edges around a corner, have the same closest point where two
surfaces are closest, and count as one there. Where they are not, as beside an inner edge of a flat
floor, the pair that is closer says all: the other would push along the floor.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from ..math3.closest_points import CROSSING, FACE_INSIDE, INSIDE
from ..math3.vectors import cross, dot, minus, scaled, vector_at

# Pairs count in whole from this sine on, of what turns away from the closest points; not at all
# where that does not; and between the two in proportion, so that no force begins at once.
RAMP_SINE = 0.1


@compiled()
def face_share(points: Any, mesh: Any, face: Any, vertex: Any, place: Any, apart: Any) -> Any:
    """Of a face and a vertex that is ``apart`` from its closest place there."""
    if place == FACE_INSIDE:
        return 1.0
    direction = scaled(1.0 / math.sqrt(dot(apart, apart)), apart)
    if place < 3:
        corner = mesh.faces[face, place]
        share, sine, _, _ = of_corner(points, mesh, corner, vertex, direction)
    else:
        share, sine, _ = of_side(points, mesh, mesh.face_edges[face, place - 3], vertex, direction)
    ramp = ramp_of(sine)
    if share == 0.0 or ramp == 0.0:
        return share
    # Right over a face it counts whatever adjoins the vertex; beside all of them, as a tip does.
    turned = turned_from_corner(points, mesh, vertex, scaled(-1.0, direction))[0]
    return share * (1.0 - ramp * (1.0 - turned))


@compiled()
def of_side(points: Any, mesh: Any, edge: Any, vertex: Any, direction: Any) -> Any:
    """One of the faces around an edge, if that is closer than all of them; the least sine between a
    direction and their normals, and the third corner of that face, −1 where none is less than 1."""
    end, faces, least, third = vector_at(points, mesh.edges[edge, 0]), 0, 1.0, -1
    along = minus(vector_at(points, mesh.edges[edge, 1]), end)
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        corner = mesh.edge_corners[place]
        if corner != vertex:
            faces += 1
            across = minus(vector_at(points, corner), end)
            if dot(direction, across) > 0.0:
                return 0.0, 0.0, -1
            sine = _sine_to_normal(direction, along, across)
            if sine < least:
                least, third = sine, corner
    return 1.0 / faces, least, third


@compiled()
def of_corner(points: Any, mesh: Any, corner: Any, vertex: Any, direction: Any) -> Any:
    """One of the faces around a corner, if that is closer than all of them; the least sine between
    a direction and their normals, and the other corners of that face, −1 where none is less than
    1."""
    own, least, second, third = vector_at(points, corner), 1.0, -1, -1
    first, last = mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]
    for place in range(first, last):
        edge = mesh.vertex_edges[place]
        end = _far_end(mesh, edge, corner)
        along = minus(vector_at(points, end), own)
        if end != vertex and dot(direction, along) > 0.0:
            return 0.0, 0.0, -1, -1
        for side in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
            across = minus(vector_at(points, mesh.edge_corners[side]), own)
            sine = _sine_to_normal(direction, along, across)
            if sine < least:
                least, second, third = sine, end, mesh.edge_corners[side]
    faces = mesh.vertex_characteristics[corner] - 1 + last - first
    return 1.0 / faces, least, second, third


@compiled()
def _sine_to_normal(direction: Any, along: Any, across: Any) -> Any:
    """Between a direction and the line that is normal to two edges."""
    normal = cross(along, across)
    cosine = dot(direction, normal)
    return math.sqrt(max(0.0, 1.0 - cosine * cosine / dot(normal, normal)))


@compiled()
def edge_share(
    points: Any, mesh: Any, first: Any, second: Any, code: Any, apart: Any, s: Any, t: Any
) -> Any:
    """Of two edges with a code, the closest point of the first, at its parameter s, being ``apart``
    from that of the other, at t."""
    distance = math.sqrt(dot(apart, apart))
    direction = scaled(1.0 / distance, apart)
    back = scaled(-1.0, direction)
    if code == CROSSING:
        share = of_crossing(points, mesh, first, s, distance, back)
        return share * of_crossing(points, mesh, second, t, distance, direction)
    share = of_edge(points, mesh, first, code // 3, back)
    return share * of_edge(points, mesh, second, code % 3, direction)


@compiled()
def of_crossing(
    points: Any, mesh: Any, edge: Any, parameter: Any, distance: Any, direction: Any
) -> Any:
    """Of an edge that is crossed at a parameter, beside which another begins where it ends."""
    share = ramp_of(sine_to_end(points, mesh, edge, parameter, distance))
    if share == 1.0:
        return share
    corner = mesh.edges[edge, near_end(parameter)]
    return max(share, turned_from_corner(points, mesh, corner, direction)[0])


@compiled()
def near_end(parameter: Any) -> Any:
    """Which end of an edge a parameter is nearer to."""
    return 0 if parameter < 0.5 else 1


@compiled()
def sine_to_end(points: Any, mesh: Any, edge: Any, parameter: Any, distance: Any) -> Any:
    """Of the angle at what is a distance from an edge, between its foot there and the nearer
    end."""
    along = minus(vector_at(points, mesh.edges[edge, 1]), vector_at(points, mesh.edges[edge, 0]))
    square = min(parameter, 1.0 - parameter) ** 2 * dot(along, along)
    return math.sqrt(square / (square + distance * distance))


@compiled()
def of_edge(points: Any, mesh: Any, edge: Any, place: Any, direction: Any) -> Any:
    """One of the edges at an end, or the edge itself inside, as far as what adjoins it turns away
    from a direction."""
    if place == INSIDE:
        return turned_from_side(points, mesh, edge, direction)[0]
    corner = mesh.edges[edge, place]
    edges = mesh.vertex_offsets[corner + 1] - mesh.vertex_offsets[corner]
    return turned_from_corner(points, mesh, corner, direction)[0] / edges


@compiled()
def turned_from_corner(points: Any, mesh: Any, corner: Any, direction: Any) -> Any:
    """How far all edges at a corner turn away from a direction; and the other end of the one that
    does least, −1 where all do in whole."""
    own, least, far = vector_at(points, corner), 1.0, -1
    for place in range(mesh.vertex_offsets[corner], mesh.vertex_offsets[corner + 1]):
        end = _far_end(mesh, mesh.vertex_edges[place], corner)
        turned = _turned(minus(vector_at(points, end), own), direction)
        if turned < least:
            least, far = turned, end
    return least, far


@compiled()
def turned_from_side(points: Any, mesh: Any, edge: Any, direction: Any) -> Any:
    """The same of the faces at an edge, and the third corner of one."""
    start, least, far = vector_at(points, mesh.edges[edge, 0]), 1.0, -1
    for place in range(mesh.edge_offsets[edge], mesh.edge_offsets[edge + 1]):
        corner = mesh.edge_corners[place]
        turned = _turned(minus(vector_at(points, corner), start), direction)
        if turned < least:
            least, far = turned, corner
    return least, far


@compiled()
def _turned(along: Any, direction: Any) -> Any:
    """How far ``along`` turns away from a direction."""
    return ramp_of(-dot(along, direction) / math.sqrt(dot(along, along)))


@compiled()
def ramp_of(sine: Any) -> Any:
    """What a sine counts, 0 … 1."""
    return min(max(sine / RAMP_SINE, 0.0), 1.0)


@compiled()
def _far_end(mesh: Any, edge: Any, vertex: Any) -> Any:
    return mesh.edges[edge, 0] + mesh.edges[edge, 1] - vertex
