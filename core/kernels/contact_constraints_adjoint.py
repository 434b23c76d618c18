# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how contacts are made linear: where surfaces are, and would go, tells the nodes'
coefficients, normals, distances and what pairs count."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from ..math3.closest_points import FIXED, closest_points, closest_points_back
from ..math3.vectors import (
    NOTHING,
    add_to_four,
    advanced,
    combined,
    dot,
    four_points,
    minus,
    plus,
    scaled,
    vector_at,
)
from .barrier import mollifier_of, squared_cross
from .collisions import edge_edge_weight, face_vertex_weight, parallel_threshold
from .contact_constraints import energy_scale, painted_parts
from .continuous_collision import stencil
from .local_minima_adjoint import edge_share_back, face_share_back, unit_back
from .pair_weights import pair_weight, within_step


@compiled()
def compliances_back(constraints: Any, mobility: Any, out: Any) -> None:
    """From the gradients by compliances Σ c² m to those by coefficients and mobility, which
    grow."""
    for k in range(len(constraints.compliances)):
        for i in range(constraints.nodes.shape[1]):
            node, c = constraints.nodes[k, i], constraints.coefficients[k, i]
            if node < 0:
                break
            out.coefficients[k, i] += 2.0 * c * mobility[node] * out.compliances[k]
            out.mobility[node] += c * c * out.compliances[k]


@compiled()
def _sum(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


@compiled(inline=True)
def _shares_back(interpolation: Any, corners: Any, constraints: Any, k: int, out: Any) -> Any:
    """The gradients by what the four corners of a pair count, from those by what nodes do."""
    found = FIXED
    for corner in range(4):
        point, own = corners[corner], 0.0
        for i in range(interpolation.nodes.shape[1]):
            node = interpolation.nodes[point, i]
            for place in range(constraints.nodes.shape[1]):
                if node >= 0 and constraints.nodes[k, place] == node:
                    own += interpolation.weights[point, i] * out.coefficients[k, place]
        found = found[1], found[2], found[3], own
    return found


@compiled(inline=True)
def _paint_back(factors: Any, corners: Any, closest: Any, wanted: float) -> Any:
    """What paint leaves of friction between the closest points of a pair, and the gradients by what
    corners count there."""
    _, c0, c1, c2, c3, _ = closest
    shares = c0, c1, c2, c3
    first, second = painted_parts(factors, corners, shares)
    root, found = math.sqrt(first * second), FIXED
    if len(factors) == 0 or root == 0.0:
        return root, found
    for i in range(4):
        opposite = second if shares[i] > 0.0 else -first
        own = 0.5 * wanted * opposite / root * factors[corners[i]]
        found = found[1], found[2], found[3], own
    return root, found


@compiled(inline=True)
def _weight_back(
    stencils: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    pair: int,
    x: Any,
    closest: Any,
    share: float,
    is_shared: bool,
    wanted: float,
    out: Any,
) -> Any:
    """Through what a pair counts: the gradients by the difference of its closest points and by
    their parameters; those by (V, 3) points grow.

    Args:
        share: what it counts beside others, which changes if ``is_shared``.
    """
    apart, _, s, _, t, place = closest
    if pair >= len(stencils.edge_edges):
        own = pair - len(stencils.edge_edges)
        face, vertex = stencils.face_vertices[own, 0], stencils.face_vertices[own, 1]
        if not is_shared:
            return NOTHING, 0.0, 0.0
        wanted *= face_vertex_weight(mesh, face, vertex)
        return face_share_back(points, mesh, face, vertex, place, apart, wanted, out), 0.0, 0.0
    first, second = stencils.edge_edges[pair, 0], stencils.edge_edges[pair, 1]
    square, by_second, by_last = squared_cross(x[0], x[1], x[2], x[3])
    fade, slope = mollifier_of(square, parallel_threshold(mesh, first, second))
    if laws.area_weighted:
        wanted *= edge_edge_weight(mesh, first, second)
    if slope != 0.0:
        a, b, c, d, _ = stencil(stencils, pair)
        by_second = scaled(2.0 * slope * share * wanted, by_second)
        by_last = scaled(2.0 * slope * share * wanted, by_last)
        changes = scaled(-1.0, by_second), by_second, scaled(-1.0, by_last), by_last
        add_to_four(out, (a, b, c, d), changes)
    if not is_shared:
        return NOTHING, 0.0, 0.0
    wanted *= fade
    return edge_share_back(points, mesh, first, second, place, apart, s, -t, wanted, out)


@compiled(inline=True)
def _ahead_back(
    x: Any, corners: Any, closest: Any, normal: Any, by_normal: Any, by_distance: float, out: Any
) -> Any:
    """Through the normal n of other points than those that the distance |Σ c x·n| is of: the
    gradients by n and c; those by (V, 3) points grow."""
    _, c0, c1, c2, c3, _ = closest
    first, second, third = minus(x[1], x[0]), minus(x[2], x[0]), minus(x[3], x[0])
    apart = combined(c1, first, c2, second, c3, third)
    sign = math.copysign(1.0, dot(apart, normal))
    push = scaled(sign * by_distance, normal)
    changes = scaled(c0, push), scaled(c1, push), scaled(c2, push), scaled(c3, push)
    add_to_four(out, corners, changes)
    by_shares = 0.0, dot(push, first), dot(push, second), dot(push, third)
    return advanced(scaled(sign, by_normal), sign * by_distance, apart), by_shares


@compiled(inline=True)
def _held(
    stencils: Any,
    mesh: Any,
    laws: Any,
    dhat: float,
    points: Any,
    ends: Any,
    pair: int,
    x: Any,
    closest: Any,
) -> Any:
    """What a pair counts beside others; whether that changes, or it counts in whole since it would
    else meet within the step; and whether it is made linear by the closest points of the end of
    that."""
    share = pair_weight(stencils, mesh, laws, points, pair, x, closest)[1]
    if share > 0.0:
        return share, laws.area_weighted, False
    then, share = within_step(stencils, mesh, laws, dhat, ends, pair, x, closest)
    return share, False, share > 0.0 and then[0] != closest[0]


@compiled()
def pairs_back(
    pairs: Any,
    stencils: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    ends: Any,
    interpolation: Any,
    constraints: Any,
    found: Any,
    objects: Any,
    painted: Any,
    by_points: Any,
    by_ends: Any,
) -> None:
    """Through ``contact_constraints.write_pairs``, of pairs that were in nobody's way.

    Args:
        pairs, stencils, mesh, laws, points, ends, interpolation: as there.
        constraints: that it wrote.
        found: ``ByConstraints``.
        objects: (2, P) of the pairs, to be filled in.
        painted: (P,) what paint leaves of their friction, to be filled in.
        by_points, by_ends: (V, 3) gradients, which grow.
    """
    for k in range(len(pairs)):
        pair = pairs[k]
        a, b, c, d, are_edges = stencil(stencils, pair)
        dhat = constraints.dhats[k]
        corners, one, other = (a, b, c, d), mesh.object_of[a], mesh.object_of[d]
        objects[0, k], objects[1, k] = one, other
        x = four_points(points, a, b, c, d)
        closest, y, out = closest_points(are_edges, x), x, by_points
        share, is_shared, is_ahead = _held(
            stencils, mesh, laws, dhat, points, ends, pair, x, closest
        )
        if is_ahead:
            y, out = four_points(ends, a, b, c, d), by_ends
            closest = closest_points(are_edges, y)
        size = math.sqrt(dot(closest[0], closest[0]))
        normal, by_distance = scaled(1.0 / size, closest[0]), found.distances[k]
        by_normal = vector_at(found.normals, k)
        by_shares = _shares_back(interpolation, corners, constraints, k, found)
        wanted = found.static[k] * laws.static[one, other]
        wanted += found.kinetic[k] * laws.kinetic[one, other]
        painted[k], more = _paint_back(laws.friction_factors, corners, closest, wanted)
        by_shares = _sum(by_shares, more)
        if is_ahead:
            by_normal, more = _ahead_back(
                x, corners, closest, normal, by_normal, by_distance, by_points
            )
            by_shares, by_distance = _sum(by_shares, more), 0.0
        by_difference = advanced(unit_back(normal, size, by_normal), by_distance, normal)
        wanted = found.scales[k] * energy_scale(laws, one, other, dhat)
        by_apart, by_s, by_t = _weight_back(
            stencils, mesh, laws, points, pair, x, closest, share, is_shared, wanted, by_points
        )
        by_shares = _sum(by_shares, (0.0, by_s, 0.0, -by_t))
        by_difference = plus(by_difference, by_apart)
        by_corners = closest_points_back(are_edges, y, closest, by_difference, by_shares)
        add_to_four(out, corners, by_corners)
