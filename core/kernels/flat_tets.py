# SPDX-License-Identifier: GPL-3.0-or-later
"""The pressure on flat tets at the end of an explicit step, tet by tet as contacts are relaxed.

It is that of ``potentials/volume_floor``: P (1 − J/J̄)² below J̄. With J made linear in the positions
of the four corners and with inertia alone, that of one tet is the root of a square.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import compiled
from .vectors import cross, dot, minus, scaled, vector_at


class FlatTets(NamedTuple):
    """A tets that are flat, or about to be.

    Args:
        corners: (A, 4) nodes.
        gradients: (A, 4, 3) of J in their positions, in 1/m.
        ratios: (A,) J where it was made linear.
        energies: (A,) V P in joules.
        compliances: (A,) by how much J grows a joule, in 1/J.
        forces: (A,) −dE/dJ in joules.
    """

    corners: Any
    gradients: Any
    ratios: Any
    energies: Any
    compliances: Any
    forces: Any


@compiled()
def _edges(nodes: Any, corners: Any, e: int) -> Any:
    origin = vector_at(nodes, corners[0, e])
    return (
        minus(vector_at(nodes, corners[1, e]), origin),
        minus(vector_at(nodes, corners[2, e]), origin),
        minus(vector_at(nodes, corners[3, e]), origin),
    )


@compiled()
def find_flat(
    corners: Any,
    volumes: Any,
    pressures: Any,
    floor: float,
    at: Any,
    wanted: Any,
    mobility: Any,
    out: Any,
    count: int,
) -> int:
    """Adds the tets that are below the floor, or would come there, to ``count`` others; how many
    there are then. Those for which there is no place are counted alone.

    Args:
        corners: (4, M) nodes.
        volumes, pressures: (M,) in m³ and Pa; what has no pressure is left alone.
        floor: J̄.
        at, wanted: (N, 3) where nodes are, and would go, in metres.
        mobility: (N,) in metres a newton over the step.
    """
    for e in range(len(volumes)):
        if pressures[e] == 0.0:
            continue
        u, v, w = _edges(wanted, corners, e)
        ahead = dot(u, cross(v, w))
        limit = 6.0 * floor * volumes[e]
        u, v, w = _edges(at, corners, e)
        now = dot(u, cross(v, w))
        if ahead >= limit and now >= limit:
            continue
        if count < len(out.forces):
            size = 1.0 / (6.0 * volumes[e])
            one, two, three = cross(v, w), cross(w, u), cross(u, v)
            compliance = 0.0
            for axis in range(3):
                total = 0.0
                for corner, slope in ((1, one[axis]), (2, two[axis]), (3, three[axis])):
                    out.gradients[count, corner, axis] = size * slope
                    total += size * slope
                out.gradients[count, 0, axis] = -total
            for corner in range(4):
                node = corners[corner, e]
                out.corners[count, corner] = node
                slope = vector_at(out.gradients[count], corner)
                compliance += mobility[node] * dot(slope, slope)
            out.ratios[count], out.energies[count] = size * now, volumes[e] * pressures[e]
            out.compliances[count], out.forces[count] = compliance, 0.0
        count += 1
    return count


@compiled()
def pressed_depth(start: float, stiffness: float, floor: float) -> float:
    """1 − J/J̄ of a tet that has J = ``start`` without a pressure, below J̄: the root of
    J̄ (1 − r) = start + stiffness r²."""
    root = math.sqrt(floor * floor + 4.0 * stiffness * (floor - start))
    return 2.0 * (floor - start) / (floor + root)


@compiled(inline=True)
def relax_flat(tets: Any, k: int, floor: float, mobility: Any, moves: Any) -> None:
    """Solves a tet once; ``moves`` (N, 3) of the nodes, in metres, are changed."""
    compliance = tets.compliances[k]
    if compliance == 0.0:
        return
    start = tets.ratios[k] - compliance * tets.forces[k]
    for corner in range(4):
        move = vector_at(moves, tets.corners[k, corner])
        start += dot(vector_at(tets.gradients[k], corner), move)
    new = 0.0
    if start < floor:
        depth = pressed_depth(start, compliance * tets.energies[k], floor)
        new = tets.energies[k] * depth * depth
    change = new - tets.forces[k]
    if change == 0.0:
        return
    tets.forces[k] = new
    for corner in range(4):
        node = tets.corners[k, corner]
        push = scaled(change * mobility[node], vector_at(tets.gradients[k], corner))
        moves[node, 0] += push[0]
        moves[node, 1] += push[1]
        moves[node, 2] += push[2]
