# SPDX-License-Identifier: GPL-3.0-or-later
"""How flat tets are, as the kernels need it; ``potentials/height_floor`` says what it is."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .matrices import cofactors, determinant, matmul3, matrix_of, tet_edges
from .symmetric_matrices import contracted, squared, symmetric_cofactors
from .vectors import cross, dot, plus, scaled

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 5_000
#: Added to |cof F|², so that a tet which is a line has a height ratio, of zero.
LEAST_SQUARE = 1e-6
ROOT_3 = math.sqrt(3.0)


def height_ratios_on_cpu(positions: Tensor, corners: Tensor, gradients: Any) -> Tensor:
    """(M,) of tets with (4, M) int32 corners among (3, N) positions, and (M, 3, 3) gradients of the
    shape functions of corners 1 to 3, in 1/m."""
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
