# SPDX-License-Identifier: GPL-3.0-or-later
"""Height ratios of tets, and the energy of nearly flat tets.

It is that of ``potentials/height_floor``: P (1 − η/η̄)² below η̄. With the height ratio η made
linear in the positions of the four corners and with inertia alone, that of one tet is the root of a
square.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from ..math3.matrices import (
    add3,
    cofactors,
    contracted,
    determinant,
    matmul3,
    matrix_of,
    squared,
    symmetric_cofactors,
    symmetric_in,
    tet_edges,
)
from ..math3.matrices import scaled as scaled3
from ..math3.vectors import cross, dot, plus, scaled, vector_at
from .deformation import write_volume_ratios

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 5_000
#: Added to |cof F|², so that a tet which is a line has a height ratio, of zero.
LEAST_SQUARE = 1e-6
ROOT_3 = math.sqrt(3.0)


def height_ratios_on_cpu(positions: Tensor, corners: Tensor, gradients: Any) -> Tensor:
    """Return the (M,) height ratios of tets with (4, M) int32 corners among (3, N) positions,
    and (M, 3, 3) gradients of the shape functions of corners 1 to 3, in 1/m.
    """
    ratios = positions.new_empty(len(gradients))
    use_threads(len(ratios), TETS_PER_THREAD)
    _height_ratios(positions.numpy(), corners.numpy(), gradients, ratios.numpy())
    return ratios


@compiled(parallel=True)
def _height_ratios(positions: Any, corners: Any, gradients: Any, out: Any) -> None:
    for e in shared_range(corners.shape[1]):
        x, y, z = stretched(tet_edges(positions, corners, e), gradients[e])
        out[e] = height_ratio(x, y, z)


@compiled()
def stretched(edges: Any, g: Any) -> Any:
    """The rows of F, by the edges of a tet from corner 0 and the (3, 3) gradients of the shape
    functions of the others, in 1/m."""
    f = matmul3(edges, matrix_of(g))
    return (f[0], f[1], f[2]), (f[3], f[4], f[5]), (f[6], f[7], f[8])


@compiled()
def height_ratio(x: Any, y: Any, z: Any) -> float:
    """√3 J / |cof F|, by the rows of F."""
    a, b, c = cross(y, z), cross(z, x), cross(x, y)
    return ROOT_3 * dot(x, a) / math.sqrt(dot(a, a) + dot(b, b) + dot(c, c) + LEAST_SQUARE)


@compiled()
def height_margin(d: Any, metric: Any, inverse_volume: float, ratio: float) -> float:
    """Below 0 where the height ratio of a tet with edges D is less than a positive one: without its
    root, and by |cof F|² = cof(DᵀD) : cof S, so that a loop becomes vector instructions.

    Args:
        metric: V times the products S of the shape gradients of corners 1 to 3.
    """
    c = cofactors(d)
    height = ROOT_3 / 6.0 * inverse_volume * determinant(d, c)
    square = inverse_volume * inverse_volume * contracted(squared(c), symmetric_cofactors(metric))
    return height * abs(height) - ratio * ratio * (square + LEAST_SQUARE)


@compiled()
def height_gradient(x: Any, y: Any, z: Any) -> Any:
    """The rows of its derivative in F."""
    a, b, c = cross(y, z), cross(z, x), cross(x, y)
    square = dot(a, a) + dot(b, b) + dot(c, c) + LEAST_SQUARE
    outer = ROOT_3 / math.sqrt(square)
    # Against half the derivative of |cof F|².
    inner = -outer * dot(x, a) / square
    return (
        plus(scaled(outer, a), scaled(inner, plus(cross(y, c), cross(b, z)))),
        plus(scaled(outer, b), scaled(inner, plus(cross(z, a), cross(c, x)))),
        plus(scaled(outer, c), scaled(inner, plus(cross(x, b), cross(a, y)))),
    )


class PressedTets(NamedTuple):
    """M tets of an elasticity.

    Args:
        corners: (4, M) nodes.
        gradients: (M, 3, 3) of the shape functions of corners 1 to 3, in 1/m.
        metric: (7, M) V times the products of these, and 1 / V.
        volumes: (M,) in m³.
        pressures: (M,) P in Pa; tets without one are left alone.
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


def no_flat_tets(count: int) -> FlatTets:
    """Places for ``count`` flat tets."""
    return FlatTets(
        corners=np.empty((count, 4), dtype=np.int32),
        gradients=np.empty((count, 4, 3)),
        ratios=np.empty(count),
        energies=np.empty(count),
        compliances=np.empty(count),
        forces=np.empty(count),
    )


@compiled(parallel=True)
def _write_margins(corners: Any, metric: Any, floor: float, at: Any, out: Any) -> None:
    """Write the (M,) margins, below 0 where a tet is below the floor. LLVM makes no vector
    instructions of two places in one loop.
    """
    for e in shared_range(corners.shape[1]):
        edges = tet_edges(at, corners, e)
        out[e] = height_margin(edges, symmetric_in(metric, e), metric[6, e], floor)


@compiled(allocates=True)
def find_flat(
    tets: Any, floor: float, at: Any, ends: Any, mobility: Any, out: Any, count: int
) -> int:
    """Adds the tets that are below the floor, or would come there, to ``count`` others; how many
    there are then. Tets beyond the capacity are only counted.

    Args:
        tets: ``PressedTets``.
        floor: η̄.
        at, ends: (N, 3) where nodes are, and would go, in metres.
        mobility: (N,) in metres a newton over the step.
    """
    now, then = np.empty(len(tets.volumes)), np.empty(len(tets.volumes))
    _write_margins(tets.corners, tets.metric, floor, at.T, now)
    _write_margins(tets.corners, tets.metric, floor, ends.T, then)
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


@compiled(allocates=True)
def find_inverted(tets: Any, least: float, before: Any, after: Any, mobility: Any) -> Any:
    """Indices of the tets that a move leaves less than a ratio ``least`` of their volume, or turns
    inside out.

    Args:
        tets: ``PressedTets``; those inside out before, those without a pressure, and those with a
            prescribed corner may turn.
        before, after: (N, 3) where nodes are, in metres.
        mobility: (N,) zero for prescribed nodes.
    """
    start, end = np.empty(len(tets.volumes)), np.empty(len(tets.volumes))
    write_volume_ratios(before.T, tets.corners, tets.volumes, start)
    write_volume_ratios(after.T, tets.corners, tets.volumes, end)
    is_turned = (start > 0.0) & (end < least * start) & (tets.pressures > 0.0)
    for e in np.flatnonzero(is_turned):
        for corner in range(4):
            is_turned[e] &= mobility[tets.corners[corner, e]] > 0.0
    return np.flatnonzero(is_turned)


@compiled()
def stop_inverted(
    tets: Any,
    which: Any,
    least: float,
    halvings: int,
    nodes: Any,
    moves: Any,
    step_sizes: Any,
) -> None:
    """Lowers the step sizes of the corners of tets, so that these keep a ratio ``least`` of their
    volume: all corners go by the least of them, halved until that is so.

    Args:
        which: indices of ``PressedTets`` without a prescribed corner.
        halvings: at most; then they stay where they are.
        nodes, moves: (N, 3) where nodes are, and their whole moves, in metres.
        step_sizes: (N,) of nodes, between 0 and 1; lowered.
    """
    for e in which:
        size = 1.0
        for corner in range(4):
            size = min(size, step_sizes[tets.corners[corner, e]])
        start = _volume_after(tets.corners, e, nodes, moves, 0.0)
        for _ in range(halvings + 1):
            if _volume_after(tets.corners, e, nodes, moves, size) >= least * start:
                break
            size *= 0.5
        else:
            size = 0.0
        for corner in range(4):
            step_sizes[tets.corners[corner, e]] = size


@compiled()
def _volume_after(corners: Any, e: int, nodes: Any, moves: Any, size: float) -> float:
    """The signed volume of a tet, times six, after a part of the moves."""
    way = scaled3(size, tet_edges(moves.T, corners, e))
    edges = add3(tet_edges(nodes.T, corners, e), way)
    return determinant(edges, cofactors(edges))


@compiled()
def _write_gradients(rows: Any, gradients: Any, out: Any) -> None:
    """Write the (4, 3) gradient by the positions of corners of a function with these rows as its
    derivative by F.
    """
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
