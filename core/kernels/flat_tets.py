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
from .symmetric_matrices import symmetric_in
from .tet_heights import height_gradient, height_margin, height_ratio, stretched
from .vectors import dot, plus, scaled, vector_at


class PressedTets(NamedTuple):
    """M tets of an elasticity.

    Args:
        corners: (4, M) nodes.
        gradients: (M, 3, 3) of the shape functions of corners 1 to 3, in 1/m.
        metric: (7, M) V times the products of these, and 1 / V.
        volumes: (M,) in m³.
        pressures: (M,) P in Pa; what has none is left alone.
    """

    corners: Any
    gradients: Any
    metric: Any
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
def _write_margins(corners: Any, metric: Any, floor: float, at: Any, out: Any) -> None:
    """(M,) below 0 where a tet is below the floor. Of two places in one loop LLVM makes no vector
    instructions."""
    for e in shared_range(corners.shape[1]):
        edges = tet_edges(at, corners, e)
        out[e] = height_margin(edges, symmetric_in(metric, e), metric[6, e], floor)


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
    now, then = np.empty(len(tets.volumes)), np.empty(len(tets.volumes))
    _write_margins(tets.corners, tets.metric, floor, at.T, now)
    _write_margins(tets.corners, tets.metric, floor, wanted.T, then)
    for e in range(len(now)):
        if not (now[e] < 0.0 or then[e] < 0.0) or tets.pressures[e] == 0.0:
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
