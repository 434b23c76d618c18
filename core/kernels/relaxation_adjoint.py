# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through the contact forces at the end of an explicit step, one after the other.

``contact_relaxation`` ends its passes before forces have converged: what is differentiated is what
it did, by taking its passes again and then back. Of a contact whose distance u d̂ without its own
force F is s d̂, u − s = k f(u) and k = w κ/d̂², so that du = (ds + f dk) / (1 − k f').
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from ..math3.vectors import NOTHING, add_to, advanced, dot, minus, plus, scaled, vector_at
from .barrier import surface_force
from .contact_constraints import GROUND
from .contact_relaxation import (
    MIN_DISTANCE_RATIO,
    change_of_difference,
    initialize_force,
    is_awake,
    relax,
    wake,
)
from .obstacles import ground_derivatives


class ByConstraints(NamedTuple):
    """Gradients by the members of K ``Constraints`` of the same name, and by what forces move.

    Args:
        moves: (N, 3) of nodes.
        mobility: (N,) of nodes.
    """

    coefficients: Any
    normals: Any
    distances: Any
    dhats: Any
    scales: Any
    compliances: Any
    static: Any
    kinetic: Any
    forces: Any
    frictions: Any
    moves: Any
    mobility: Any


@compiled()
def _keep(constraints: Any, k: int, trace: Any, place: int) -> None:
    trace[place, 0] = constraints.forces[k]
    for axis in range(3):
        trace[place, 1 + axis] = constraints.frictions[k, axis]


@compiled(allocates=True)
def relax_again(
    islands: Any,
    constraints: Any,
    mobility: Any,
    moves: Any,
    max_passes: int,
    tolerance: float,
    trace: Any,
    passes: Any,
) -> None:
    """As ``contact_islands.relax_islands`` does where no tet is flat, keeping what was before.

    Args:
        trace: (K (1 + max_passes), 4) to be filled in: forces and frictions that contacts had,
            those of one island after those of another, pass by pass; none where a contact rested.
        passes: (I,) to be filled in.
    """
    last_changes = np.zeros(len(mobility), np.int64)
    for island in range(len(passes)):
        first, last = islands.contact_offsets[island], islands.contact_offsets[island + 1]
        place = first * (1 + max_passes)
        for i in range(first, last):
            _keep(constraints, islands.contacts[i], trace, place)
            initialize_force(constraints, islands.contacts[i], mobility, moves)
            place += 1
        count, is_converged = 0, False
        while count < max_passes and not is_converged:
            count, is_converged = count + 1, True
            for i in range(first, last):
                k = islands.contacts[i]
                if not is_awake(constraints.nodes[k], last_changes, count - 1):
                    trace[place, 0] = math.nan
                else:
                    _keep(constraints, k, trace, place)
                    if relax(constraints, k, mobility, moves) > tolerance:
                        is_converged = False
                        wake(constraints.nodes[k], mobility, last_changes, count)
                place += 1
        passes[island] = count


@compiled()
def relax_back(
    islands: Any,
    constraints: Any,
    mobility: Any,
    moves: Any,
    max_passes: int,
    trace: Any,
    passes: Any,
    out: Any,
) -> None:
    """Takes the passes back, to the moves there were before and to the gradients by those.

    Args:
        trace, passes: as ``relax_again`` left them, as well as forces and (N, 3) moves.
        out: ``ByConstraints``, of which those by moves are given; all are changed.
    """
    for island in range(len(passes)):
        first, last = islands.contact_offsets[island], islands.contact_offsets[island + 1]
        place = first * (1 + max_passes) + (1 + passes[island]) * (last - first)
        for _ in range(passes[island]):
            for i in range(last - 1, first - 1, -1):
                place -= 1
                if not math.isnan(trace[place, 0]):
                    k = islands.contacts[i]
                    _contact_back(constraints, k, mobility, moves, trace[place], out)
        for i in range(last - 1, first - 1, -1):
            place -= 1
            _start_back(constraints, islands.contacts[i], mobility, moves, trace[place], out)


@compiled(inline=True)
def _push_back(constraints: Any, k: int, push: Any, mobility: Any, moves: Any, out: Any) -> Any:
    """Takes back what a force did to the moves of its nodes; the gradient by that force."""
    found = NOTHING
    for i in range(constraints.nodes.shape[1]):
        node = constraints.nodes[k, i]
        if node < 0:
            break
        c, wanted = constraints.coefficients[k, i], vector_at(out.moves, node)
        found = advanced(found, c * mobility[node], wanted)
        along = dot(wanted, push)
        out.coefficients[k, i] += mobility[node] * along
        out.mobility[node] += c * along
        for axis in range(3):
            moves[node, axis] -= c * mobility[node] * push[axis]
    return found


@compiled(inline=True)
def _difference_back(constraints: Any, k: int, moves: Any, wanted: Any, out: Any) -> None:
    for i in range(constraints.nodes.shape[1]):
        node = constraints.nodes[k, i]
        if node < 0:
            break
        c = constraints.coefficients[k, i]
        out.coefficients[k, i] += dot(vector_at(moves, node), wanted)
        for axis in range(3):
            out.moves[node, axis] += c * wanted[axis]


@compiled()
def _force_and_slope(kind: int, u: float) -> Any:
    """f and f' of a ratio of distances."""
    if kind == GROUND:
        first, second = ground_derivatives(u, math.log(u))
        return -first, -second
    return surface_force(u)


@compiled(inline=True)
def _contact_back(
    constraints: Any, k: int, mobility: Any, moves: Any, before: Any, out: Any
) -> None:
    """Through ``contact_relaxation.relax``."""
    w = constraints.compliances[k]
    if w == 0.0:
        return
    n, held = vector_at(constraints.normals, k), (before[1], before[2], before[3])
    new, old = constraints.forces[k], before[0]
    slid = minus(vector_at(constraints.frictions, k), held)
    by_push = _push_back(constraints, k, advanced(slid, new - old, n), mobility, moves, out)
    constraints.forces[k] = old
    for axis in range(3):
        constraints.frictions[k, axis] = held[axis]
    e, dhat = change_of_difference(constraints, k, moves), constraints.dhats[k]
    start = (constraints.distances[k] + dot(n, e) - w * old) / dhat
    if start >= 1.0 and old == 0.0:
        return
    add_to(out.normals, k, scaled(new - old, by_push))
    by_new, by_old = out.forces[k] + dot(by_push, n), -dot(by_push, n)
    by_difference = NOTHING
    if constraints.static[k] > 0.0:
        more, by_difference = _friction_back(constraints, k, new, held, e, by_push, out)
        by_new += more
    more, along = _force_back(constraints, k, start, old, new, e, by_new, out)
    out.forces[k] = by_old + more
    _difference_back(constraints, k, moves, advanced(by_difference, along, n), out)


@compiled()
def _force_back(
    constraints: Any,
    k: int,
    start: float,
    old: float,
    new: float,
    e: Any,
    wanted: float,
    out: Any,
) -> Any:
    """From the gradient by a new normal force to those by the old one, and by n·e."""
    if start >= 1.0:
        return 0.0, 0.0
    w, dhat, scale = constraints.compliances[k], constraints.dhats[k], constraints.scales[k]
    stiffness = w * scale / (dhat * dhat)
    force, slope = _force_and_slope(constraints.kinds[k], start + new * w / dhat)
    by_root = wanted * dhat / w / (1.0 - stiffness * slope)
    by_start, by_stiffness = by_root * stiffness * slope, by_root * force
    out.scales[k] += by_stiffness * w / (dhat * dhat)
    along = by_start / dhat
    out.compliances[k] += (by_stiffness * stiffness - wanted * new) / w - along * old
    out.dhats[k] += (wanted * new - 2.0 * by_stiffness * stiffness) / dhat - along * start
    out.distances[k] += along
    add_to(out.normals, k, scaled(along, e))
    return -along * w, along


@compiled()
def _friction_back(
    constraints: Any, k: int, normal_force: float, held: Any, e: Any, by_push: Any, out: Any
) -> Any:
    """From the gradient by a push to those by the normal force, and by the difference e."""
    w, n = constraints.compliances[k], vector_at(constraints.normals, k)
    static, kinetic = constraints.static[k], constraints.kinetic[k]
    whole = plus(vector_at(constraints.displacements, k), e)
    off = dot(whole, n)
    slip = advanced(whole, -off, n)
    pull = advanced(held, -1.0 / w, slip)
    size = math.sqrt(dot(pull, pull))
    by_pull, by_force = plus(vector_at(out.frictions, k), by_push), 0.0
    if size > static * normal_force:
        unit = scaled(1.0 / size, pull)
        along = dot(by_pull, unit)
        by_force = kinetic * along
        out.kinetic[k] += normal_force * along
        share = kinetic * normal_force / size
        by_pull = scaled(share, advanced(by_pull, -along, unit))
    for axis in range(3):
        out.frictions[k, axis] = by_pull[axis] - by_push[axis]
    out.compliances[k] += dot(by_pull, slip) / (w * w)
    by_slip = scaled(-1.0 / w, by_pull)
    across = dot(by_slip, n)
    add_to(out.normals, k, advanced(scaled(-off, by_slip), -across, whole))
    by_whole = advanced(by_slip, -across, n)
    return by_force, by_whole


@compiled(inline=True)
def _start_back(constraints: Any, k: int, mobility: Any, moves: Any, before: Any, out: Any) -> None:
    """Through ``contact_relaxation.initialize_force``."""
    w, dhat = constraints.compliances[k], constraints.dhats[k]
    u = max(MIN_DISTANCE_RATIO, constraints.distances[k] / dhat)
    if u >= 1.0 or w == 0.0:
        return
    n, new = vector_at(constraints.normals, k), constraints.forces[k]
    by_push = _push_back(constraints, k, scaled(new, n), mobility, moves, out)
    add_to(out.normals, k, scaled(new, by_push))
    wanted, scale = out.forces[k] + dot(by_push, n), constraints.scales[k]
    out.forces[k], constraints.forces[k] = 0.0, before[0]
    force, slope = _force_and_slope(constraints.kinds[k], u)
    e = change_of_difference(constraints, k, moves)
    gap = dhat - constraints.distances[k] - dot(n, e)
    if scale * force / dhat < max(0.0, gap) / w:
        out.scales[k] += wanted * force / dhat
        by_ratio = wanted * scale * slope / dhat
        out.distances[k] += by_ratio / dhat
        out.dhats[k] -= (by_ratio * u + wanted * new) / dhat
    elif gap > 0.0:
        along = -wanted / w
        out.dhats[k] -= along
        out.distances[k] += along
        out.compliances[k] += along * new
        add_to(out.normals, k, scaled(along, e))
        _difference_back(constraints, k, moves, scaled(along, n), out)


def by_constraints(constraints: Any, wanted: Any) -> ByConstraints:
    """Gradients that are zero but for the (N, 3) ones by moves."""
    parts = {name: np.zeros_like(getattr(constraints, name)) for name in ByConstraints._fields[:-2]}
    return ByConstraints(**parts, moves=wanted.copy(), mobility=np.zeros(len(wanted)))
