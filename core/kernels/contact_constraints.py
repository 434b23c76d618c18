# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts linearized in the positions of their nodes: active candidate pairs, and points near the
ground.

Nodes are the vertices of tetrahedra, then those of colliders. A surface point is a weighted sum of
few of them, and so is the difference e = Σ c x of the two closest points of a contact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import as_index, compiled, shared_range
from ..math3.closest_points import closest_points
from ..math3.vectors import advanced, dot, four_points, minus, scaled
from .barrier import surface_force
from .continuous_collision import closing_bound, stencil
from .pair_weights import pair_share, pair_weight, within_step

#: Which barrier a contact has: the one of squared distances between surfaces, or the ground's.
SURFACES, GROUND = 0, 1
# The distance over d̂ to which the barrier of a pair that was in the way keeps it apart, however it
# is pressed: it has to be opened before it can slide or turn.
OPEN_RATIO = 0.05
# In which threads share the writing of contacts.
CHUNKS = 16


class Constraints(NamedTuple):
    """K contacts.

    Args:
        nodes: (K, E) that a contact is between, −1 where there are fewer.
        coefficients: (K, E) c of each.
        normals: (K, 3) n, from the second part to the first.
        distances: (K,) n·e where it was made linear, in metres.
        displacements: (K, 3) by how much e has changed there since the step began, in metres.
        dhats: (K,) d̂ in metres.
        scales: (K,) of its energy, in joules.
        compliances: (K,) in metres a newton over the step, zero where nothing moves freely.
        static, kinetic: (K,) coefficients of friction.
        kinds: (K,) ``SURFACES`` or ``GROUND``.
        forces: (K,) along the normal, in newtons.
        frictions: (K, 3) across it, in newtons.
    """

    nodes: Any
    coefficients: Any
    normals: Any
    distances: Any
    displacements: Any
    dhats: Any
    scales: Any
    compliances: Any
    static: Any
    kinetic: Any
    kinds: Any
    forces: Any
    frictions: Any


class Interpolation(NamedTuple):
    """V points as weighted sums of nodes.

    Args:
        nodes: (V, E), −1 where there are fewer.
        weights: (V, E).
    """

    nodes: Any
    weights: Any


class PairLaws(NamedTuple):
    """The (O, O) laws of every two objects: d̂ in metres, κ in Pa or J/m⁴, coefficients of
    friction.

    ``area_weighted``: whether pairs count by area. ``friction_factors``: (V,) on the friction where
    points are painted; empty where nothing is.
    """

    distances: Any
    stiffness: Any
    static: Any
    kinetic: Any
    area_weighted: bool
    friction_factors: Any = np.empty(0)


@compiled()
def point_at(interpolation: Any, values: Any, point: int) -> Any:
    """The sum of (N, 3) values of nodes that a point is."""
    x = y = z = 0.0
    for i in range(interpolation.nodes.shape[1]):
        node = interpolation.nodes[point, i]
        if node >= 0:
            weight = interpolation.weights[point, i]
            x += weight * values[node, 0]
            y += weight * values[node, 1]
            z += weight * values[node, 2]
    return x, y, z


@compiled(inline=True)
def height_at(interpolation: Any, values: Any, point: int) -> float:
    """The third component of that sum."""
    z = 0.0
    for i in range(interpolation.nodes.shape[1]):
        node = interpolation.nodes[point, i]
        if node >= 0:
            z += interpolation.weights[point, i] * values[node, 2]
    return z


@compiled(parallel=True)
def gather(interpolation: Any, values: Any, out: Any) -> None:
    """Write the (V, 3) points of the surface from (N, 3) values of the nodes."""
    for point in shared_range(len(out)):
        value = point_at(interpolation, values, as_index(point))
        out[point, 0], out[point, 1], out[point, 2] = value[0], value[1], value[2]


@compiled(parallel=True)
def carry(interpolation: Any, points: Any, moves: Any, out: Any) -> None:
    """Write the (V, 3) points after (N, 3) moves of the nodes have carried them along."""
    for point in shared_range(len(out)):
        move = point_at(interpolation, moves, as_index(point))
        for i in range(3):
            out[point, i] = points[point, i] + move[i]


@compiled(inline=True)
def add_point(interpolation: Any, point: int, factor: float, out: Any, k: int, used: int) -> int:
    """Adds ``factor`` times a point to the nodes of a contact; how many those are then."""
    if factor == 0.0:
        return used
    for i in range(interpolation.nodes.shape[1]):
        node, value = interpolation.nodes[point, i], factor * interpolation.weights[point, i]
        if node < 0 or value == 0.0:
            continue
        place = 0
        while place < used and out.nodes[k, place] != node:
            place += 1
        if place == used:
            out.nodes[k, place], out.coefficients[k, place] = node, 0.0
            used += 1
        out.coefficients[k, place] += value
    return used


@compiled(inline=True)
def finish(out: Any, k: int, used: int, displacements: Any, mobility: Any) -> None:
    """Closes the nodes of a contact; ``displacements`` (N, 3) are theirs since the step began."""
    compliance = x = y = z = 0.0
    for i in range(used):
        node, c = out.nodes[k, i], out.coefficients[k, i]
        compliance += c * c * mobility[node]
        x += c * displacements[node, 0]
        y += c * displacements[node, 1]
        z += c * displacements[node, 2]
    for i in range(used, out.nodes.shape[1]):
        out.nodes[k, i] = -1
    out.compliances[k] = compliance
    out.displacements[k, 0], out.displacements[k, 1], out.displacements[k, 2] = x, y, z
    out.forces[k] = 0.0
    out.frictions[k, 0] = out.frictions[k, 1] = out.frictions[k, 2] = 0.0


@compiled(inline=True)
def energy_scale(laws: Any, first: int, second: int, dhat: float) -> float:
    """Return the energy scale of a pair of two objects with weight 1, in joules, or by area in
    joules per square metre.
    """
    return laws.stiffness[first, second] * (dhat if laws.area_weighted else dhat**4)


@compiled(inline=True)
def _write_pair(
    laws: Any,
    objects: Any,
    dhat: float,
    difference: Any,
    distance: float,
    weight: float,
    paint_factor: float,
    out: Any,
    k: int,
) -> None:
    """Fill in all arrays of a contact but its nodes."""
    first, second = objects
    normal = scaled(1.0 / distance, difference)
    out.normals[k, 0], out.normals[k, 1], out.normals[k, 2] = normal[0], normal[1], normal[2]
    out.distances[k], out.dhats[k], out.kinds[k] = distance, dhat, SURFACES
    out.scales[k] = weight * energy_scale(laws, first, second, dhat)
    out.static[k] = paint_factor * laws.static[first, second]
    out.kinetic[k] = paint_factor * laws.kinetic[first, second]


@compiled(inline=True)
def painted_parts(factors: Any, vertices: Any, coefficients: Any) -> Any:
    """Return the painted factors f₁ and f₂ at the closest points of a pair; friction uses √(f₁
    f₂)."""
    if len(factors) == 0:
        return 1.0, 1.0
    first = second = 0.0
    for i in range(4):
        part = coefficients[i] * factors[vertices[i]]
        first += max(part, 0.0)
        second -= min(part, 0.0)
    return first, second


@compiled(parallel=True)
def find_pairs(
    stencils: Any,
    dhats: Any,
    blocked: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    ends: Any,
    pair_distances: Any,
    shares: Any,
) -> None:
    """Finds which candidate pairs may push in a step.

    Args:
        stencils: candidate pairs.
        dhats: (P,) d̂ of pairs, in metres.
        blocked: (P,) not zero for those that were in the way in this step, which count in whole.
        mesh: topology of the surfaces.
        laws: of their objects.
        points: (V, 3) of the surfaces.
        ends: (V, 3) where they would go.
        pair_distances: (P,) lower bounds, made exact if they do not decide, in metres.
        shares: (P,) to be filled in: 0 for those that do not push, −1 for those that count in whole
            where they are at the end.
    """
    for each in shared_range(len(pair_distances)):
        pair = as_index(each)
        a, b, c, d, are_edges = stencil(stencils, pair)
        x, e = four_points(points, a, b, c, d), four_points(ends, a, b, c, d)
        m = minus(e[0], x[0]), minus(e[1], x[1]), minus(e[2], x[2]), minus(e[3], x[3])
        limit = dhats[pair] + closing_bound(m[0], m[1], m[2], m[3])
        shares[pair] = 0.0
        if pair_distances[pair] < limit:
            closest = closest_points(are_edges, x)
            pair_distances[pair] = math.sqrt(dot(closest[0], closest[0]))
            if pair_distances[pair] < limit:
                share = pair_share(stencils, mesh, laws, points, pair, closest)
                if share == 0.0:
                    then = within_step(stencils, mesh, laws, dhats[pair], ends, pair, x, closest)
                    share = -then[1]
                if share >= 0.0 and blocked[pair] != 0:
                    share = 1.0
                if share != 0.0 and pair_weight(stencils, mesh, laws, pair, x)[0] > 0.0:
                    shares[pair] = share


@compiled()
def _write_range(
    first: int,
    last: int,
    pairs: Any,
    stencils: Any,
    dhats: Any,
    blocked: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    ends: Any,
    shares: Any,
    interpolation: Any,
    displacements: Any,
    mobility: Any,
    out: Any,
) -> None:
    for k in range(first, last):
        pair = pairs[k]
        a, b, c, d, are_edges = stencil(stencils, pair)
        x = four_points(points, a, b, c, d)
        closest = closest_points(are_edges, x)
        if shares[pair] < 0.0:
            closest = within_step(stencils, mesh, laws, dhats[pair], ends, pair, x, closest)[0]
        weight, has_friction = pair_weight(stencils, mesh, laws, pair, x)
        weight *= abs(shares[pair])
        difference, c0, c1, c2, c3, _ = closest
        distance = math.sqrt(dot(difference, difference))
        objects = (mesh.object_of[a], mesh.object_of[d])
        one, other = painted_parts(laws.friction_factors, (a, b, c, d), (c0, c1, c2, c3))
        paint_factor = math.sqrt(one * other) if has_friction else 0.0
        _write_pair(laws, objects, dhats[pair], difference, distance, weight, paint_factor, out, k)
        used = add_point(interpolation, a, c0, out, k, 0)
        used = add_point(interpolation, b, c1, out, k, used)
        used = add_point(interpolation, c, c2, out, k, used)
        used = add_point(interpolation, d, c3, out, k, used)
        finish(out, k, used, displacements, mobility)
        if blocked[pair] != 0:
            e = four_points(ends, a, b, c, d)
            ahead = advanced(scaled(c0, e[0]), c1, e[1])
            ahead = advanced(advanced(ahead, c2, e[2]), c3, e[3])
            _stiffen(out, k, ahead)


@compiled(inline=True)
def _stiffen(out: Any, k: int, ahead: Any) -> None:
    """Makes a contact so stiff that it opens to ``OPEN_RATIO`` by itself.

    Args:
        ahead: the difference of its points where they would go without contacts, in metres.
    """
    if out.compliances[k] == 0.0:
        return
    along = out.normals[k, 0] * ahead[0] + out.normals[k, 1] * ahead[1]
    along += out.normals[k, 2] * ahead[2]
    dhat = out.dhats[k]
    stiffness = (OPEN_RATIO - along / dhat) / surface_force(OPEN_RATIO)[0]
    out.scales[k] = max(out.scales[k], stiffness * dhat * dhat / out.compliances[k])


@compiled(parallel=True)
def write_pairs(
    pairs: Any,
    stencils: Any,
    dhats: Any,
    blocked: Any,
    mesh: Any,
    laws: Any,
    points: Any,
    ends: Any,
    shares: Any,
    interpolation: Any,
    displacements: Any,
    mobility: Any,
    out: Any,
) -> None:
    """Makes contacts of pairs, linear where they are.

    Args:
        pairs: (K,) candidates.
        stencils: all candidate pairs.
        dhats: (P,) of these, in metres.
        blocked: (P,) not zero for those that were in the way in this step, which are stiffened.
        mesh: topology of the surfaces.
        laws: of their objects.
        points: (V, 3) of the surfaces.
        ends: (V, 3) where they would go.
        shares: (P,) by ``find_pairs``.
        interpolation: of the points.
        displacements: (N, 3) of the nodes since the step began.
        mobility: (N,) in metres a newton over the step.
        out: the first K are filled in.
    """
    for chunk in shared_range(CHUNKS):
        first, last = chunk * len(pairs) // CHUNKS, (chunk + 1) * len(pairs) // CHUNKS
        pair_data = (pairs, stencils, dhats, blocked, mesh, laws)
        point_data = (points, ends, shares, interpolation, displacements, mobility)
        _write_range(first, last, *pair_data, *point_data, out)


class GroundLaws(NamedTuple):
    """The contact laws of S points: weights in newtons, d̂ in metres, coefficients of friction;
    and the height of the ground in metres.
    """

    weights: Any
    distances: Any
    static: Any
    kinetic: Any
    height: float


@compiled()
def find_ground(
    interpolation: Any,
    laws: Any,
    nodes: Any,
    moves: Any,
    displacements: Any,
    mobility: Any,
    out: Any,
    count: int,
) -> int:
    """Adds the contacts with the ground to ``count`` others; how many there are then.

    Args:
        interpolation: of the S points.
        nodes, moves: (N, 3) where nodes are, and the moves they are about to make.
    """
    for point in range(len(laws.weights)):
        height = height_at(interpolation, nodes, point) - laws.height
        ahead = height + height_at(interpolation, moves, point)
        dhat = laws.distances[point]
        if min(height, ahead) >= dhat:
            continue
        if count < len(out.forces):
            out.normals[count, 0] = out.normals[count, 1] = 0.0
            out.normals[count, 2] = 1.0
            out.distances[count], out.dhats[count] = height, dhat
            out.scales[count] = laws.weights[point] * dhat
            out.kinds[count] = GROUND
            out.static[count], out.kinetic[count] = laws.static[point], laws.kinetic[point]
            used = add_point(interpolation, point, 1.0, out, count, 0)
            finish(out, count, used, displacements, mobility)
        count += 1
    return count
