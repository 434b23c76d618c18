# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through what a pair counts beside others.

That is a product of ramps of sines, of which each is the least around a corner or an edge: it
changes with the closest points of the pair, and with the face or edge that has the least.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from ..math3.closest_points import CROSSING, FACE_INSIDE, INSIDE
from ..math3.vectors import NOTHING, add_to, advanced, cross, dot, minus, plus, scaled, vector_at
from .local_minima import (
    RAMP_SINE,
    near_end,
    of_corner,
    of_crossing,
    of_edge,
    of_side,
    ramp_of,
    sine_to_end,
    turned_from_corner,
    turned_from_side,
)


@compiled()
def unit_back(direction: Any, size: float, wanted: Any) -> Any:
    """The gradient by a vector of a size from that by its direction."""
    return scaled(1.0 / size, advanced(wanted, -dot(wanted, direction), direction))


@compiled()
def face_share_back(
    points: Any,
    mesh: Any,
    face: Any,
    vertex: Any,
    place: Any,
    apart: Any,
    wanted: float,
    out: Any,
) -> Any:
    """Through ``local_minima.face_share``: the gradient by ``apart``; those by (V, 3) points of
    what adjoins grow in ``out``."""
    if place == FACE_INSIDE:
        return NOTHING
    distance = math.sqrt(dot(apart, apart))
    direction = scaled(1.0 / distance, apart)
    if place < 3:
        own = mesh.faces[face, place]
        share, sine, second, third = of_corner(points, mesh, own, vertex, direction)
    else:
        edge = mesh.face_edges[face, place - 3]
        own, second = mesh.edges[edge, 0], mesh.edges[edge, 1]
        share, sine, third = of_side(points, mesh, edge, vertex, direction)
    ramp = ramp_of(sine)
    if share == 0.0 or ramp == 0.0:
        return NOTHING
    back = scaled(-1.0, direction)
    turned, far = turned_from_corner(points, mesh, vertex, back)
    by_direction = scaled(-1.0, _turned_back(points, vertex, far, back, wanted * share * ramp, out))
    if ramp < 1.0:
        by_sine = -wanted * share * (1.0 - turned) / RAMP_SINE
        more = _sine_back(points, own, second, third, direction, by_sine, out)
        by_direction = plus(by_direction, more)
    return unit_back(direction, distance, by_direction)


@compiled()
def _sine_back(
    points: Any, own: int, second: int, third: int, direction: Any, wanted: float, out: Any
) -> Any:
    """From the gradient by the sine between a direction and the normal of a face to that by the
    direction."""
    start = vector_at(points, own)
    along, across = minus(vector_at(points, second), start), minus(vector_at(points, third), start)
    normal = cross(along, across)
    size = math.sqrt(dot(normal, normal))
    normal = scaled(1.0 / size, normal)
    cosine = dot(direction, normal)
    by_cosine = -wanted * cosine / math.sqrt(1.0 - cosine * cosine)
    by_normal = unit_back(normal, size, scaled(by_cosine, direction))
    by_along, by_across = cross(across, by_normal), cross(by_normal, along)
    add_to(out, second, by_along)
    add_to(out, third, by_across)
    add_to(out, own, scaled(-1.0, plus(by_along, by_across)))
    return scaled(by_cosine, normal)


@compiled()
def _turned_back(points: Any, own: int, far: int, direction: Any, wanted: float, out: Any) -> Any:
    """From the gradient by how far the way from one point to another turns away from a direction to
    that by the direction."""
    if far < 0:
        return NOTHING
    along = minus(vector_at(points, far), vector_at(points, own))
    size = math.sqrt(dot(along, along))
    along = scaled(1.0 / size, along)
    if not dot(along, direction) < 0.0:
        return NOTHING
    by_cosine = -wanted / RAMP_SINE
    by_along = unit_back(along, size, scaled(by_cosine, direction))
    add_to(out, far, by_along)
    add_to(out, own, scaled(-1.0, by_along))
    return scaled(by_cosine, along)


@compiled()
def edge_share_back(
    points: Any,
    mesh: Any,
    first: Any,
    second: Any,
    code: Any,
    apart: Any,
    s: Any,
    t: Any,
    wanted: float,
    out: Any,
) -> Any:
    """Through ``local_minima.edge_share``: the gradients by ``apart``, s and t; those by (V, 3)
    points of what adjoins grow in ``out``."""
    distance = math.sqrt(dot(apart, apart))
    direction = scaled(1.0 / distance, apart)
    back = scaled(-1.0, direction)
    if code == CROSSING:
        one = of_crossing(points, mesh, first, s, distance, back)
        other = of_crossing(points, mesh, second, t, distance, direction)
        of_first = points, mesh, first, s, distance, back
        of_second = points, mesh, second, t, distance, direction
        by_back, by_s, of_one = _crossing_back(of_first, wanted * other, out)
        by_direction, by_t, of_other = _crossing_back(of_second, wanted * one, out)
        by_unit = unit_back(direction, distance, minus(by_direction, by_back))
        return advanced(by_unit, of_one + of_other, direction), by_s, by_t
    one = of_edge(points, mesh, first, code // 3, back)
    other = of_edge(points, mesh, second, code % 3, direction)
    by_back = _edge_back(points, mesh, first, code // 3, back, wanted * other, out)
    by_direction = _edge_back(points, mesh, second, code % 3, direction, wanted * one, out)
    return unit_back(direction, distance, minus(by_direction, by_back)), 0.0, 0.0


@compiled(inline=True)
def _crossing_back(crossed: Any, wanted: float, out: Any) -> Any:
    """Through ``local_minima.of_crossing``: the gradients by the direction, the parameter and the
    distance."""
    points, mesh, edge, parameter, distance, direction = crossed
    sine = sine_to_end(points, mesh, edge, parameter, distance)
    share, end = ramp_of(sine), near_end(parameter)
    if share == 1.0:
        return NOTHING, 0.0, 0.0
    corner = mesh.edges[edge, end]
    turned, far = turned_from_corner(points, mesh, corner, direction)
    if turned > share:
        return _turned_back(points, corner, far, direction, wanted, out), 0.0, 0.0
    a, b = mesh.edges[edge, 0], mesh.edges[edge, 1]
    along = minus(vector_at(points, b), vector_at(points, a))
    length, near = math.sqrt(dot(along, along)), min(parameter, 1.0 - parameter)
    # The sine is that of a foot l beside the end and a distance d: l / √(l² + d²).
    foot = near * length
    by_foot = wanted / RAMP_SINE * distance * distance / math.hypot(foot, distance) ** 3
    by_length = by_foot * near / length
    add_to(out, b, scaled(by_length, along))
    add_to(out, a, scaled(-by_length, along))
    by_parameter = by_foot * length if end == 0 else -by_foot * length
    return NOTHING, by_parameter, -by_foot * foot / distance


@compiled()
def _edge_back(
    points: Any, mesh: Any, edge: Any, place: Any, direction: Any, wanted: float, out: Any
) -> Any:
    """Through ``local_minima.of_edge``, to the gradient by the direction."""
    if place == INSIDE:
        far = turned_from_side(points, mesh, edge, direction)[1]
        return _turned_back(points, mesh.edges[edge, 0], far, direction, wanted, out)
    corner = mesh.edges[edge, place]
    edges = mesh.vertex_offsets[corner + 1] - mesh.vertex_offsets[corner]
    far = turned_from_corner(points, mesh, corner, direction)[1]
    return _turned_back(points, corner, far, direction, wanted / edges, out)
