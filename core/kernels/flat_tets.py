# SPDX-License-Identifier: GPL-3.0-or-later
"""The pressure on flat tets at the end of an explicit step, tet by tet as contacts are relaxed.

It is that of ``potentials/height_floor``: P (1 − η/η̄)² below η̄. With the height ratio η made
linear in the positions of the four corners and with inertia alone, that of one tet is the root of a
square.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, shared_range
from .matrices import tet_edges
from .tet_heights import height_gradient, height_ratio, is_lower, stretched
from .vectors import dot, plus, scaled, vector_at


class PressedTets(NamedTuple):
    """M tets of an elasticity.

    Args:
        corners: (4, M) nodes.
        gradients: (M, 3, 3) of the shape functions of corners 1 to 3, in 1/m.
        volumes: (M,) in m³.
        pressures: (M,) P in Pa; what has none is left alone.
    """

    corners: Any
    gradients: Any
    volumes: Any
    pressures: Any


class FlatTets(NamedTuple):
    """A tets that are flat, or about to be.

    Args:
        corners: (A, 4) nodes.
        gradients: (A, 4, 3) of η in their positions, in 1/m.
        ratios: (A,) η where it was made linear.
        energies: (A,) V P in joules.
        compliances: (A,) by how much η grows a joule, in 1/J.
        forces: (A,) −dE/dη in joules.
    """

    corners: Any
    gradients: Any
    ratios: Any
    energies: Any
    compliances: Any
    forces: Any


@compiled(parallel=True)
def _find_low(tets: Any, floor: float, at: Any, wanted: Any, out: Any) -> None:
    """(M,) whether a tet is below the floor, or would come there."""
    for e in shared_range(len(out)):
        gradients = tets.gradients[e]
        x, y, z = stretched(tet_edges(wanted.T, tets.corners, e), gradients)
        low = is_lower(x, y, z, floor)
        if not low:
            x, y, z = stretched(tet_edges(at.T, tets.corners, e), gradients)
            low = is_lower(x, y, z, floor)
        out[e] = low and tets.pressures[e] != 0.0


@compiled(allocates=True)
def find_flat(
    tets: Any, floor: float, at: Any, wanted: Any, mobility: Any, out: Any, count: int
) -> int:
    """Adds the tets that are below the floor, or would come there, to ``count`` others; how many
    there are then. Those for which there is no place are counted alone.

    Args:
        tets: ``PressedTets``.
        floor: η̄.
        at, wanted: (N, 3) where nodes are, and would go, in metres.
        mobility: (N,) in metres a newton over the step.
    """
    flat = np.empty(len(tets.volumes), dtype=np.bool_)
    _find_low(tets, floor, at, wanted, flat)
    for e in range(len(flat)):
        if not flat[e]:
            continue
        if count < len(out.forces):
            gradients = tets.gradients[e]
            x, y, z = stretched(tet_edges(at.T, tets.corners, e), gradients)
            out.ratios[count], out.forces[count] = height_ratio(x, y, z), 0.0
            out.energies[count] = tets.volumes[e] * tets.pressures[e]
            _write_gradients(height_gradient(x, y, z), gradients, out.gradients[count])
            compliance = 0.0
            for corner in range(4):
                node = tets.corners[corner, e]
                out.corners[count, corner] = node
                slope = vector_at(out.gradients[count], corner)
                compliance += mobility[node] * dot(slope, slope)
            out.compliances[count] = compliance
        count += 1
    return count


@compiled()
def _write_gradients(rows: Any, gradients: Any, out: Any) -> None:
    """(4, 3) in the positions of corners, of what has a derivative with such rows in F."""
    x, y, z = rows
    total = (0.0, 0.0, 0.0)
    for corner in range(3):
        g = vector_at(gradients, corner)
        slope = (dot(x, g), dot(y, g), dot(z, g))
        out[corner + 1, 0], out[corner + 1, 1], out[corner + 1, 2] = slope
        total = plus(total, slope)
    out[0, 0], out[0, 1], out[0, 2] = scaled(-1.0, total)


@compiled()
def pressed_depth(start: float, stiffness: float, floor: float) -> float:
    """1 − η/η̄ of a tet that has η = ``start`` without a pressure, below η̄: the root of
    η̄ (1 − r) = start + stiffness r²."""
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
