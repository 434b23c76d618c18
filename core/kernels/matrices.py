# SPDX-License-Identifier: GPL-3.0-or-later
"""3 × 3 matrices of nine numbers, row by row, for the kernels over tets.

Flat, since of rows as tuples in a tuple LLVM makes no vector instructions.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled


@compiled()
def matrix(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> Any:
    """One of numbers. Written as a tuple in a loop, numba takes it for an array's shape."""
    return a, b, c, d, e, f, g, h, i


@compiled(inline=True)
def tet_edges(points: Any, corners: Any, e: int) -> Any:
    """The columns are from corner 0 to the others of a tet, by (3, N) points and (4, M) corners."""
    v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
    x0, y0, z0 = points[0, v0], points[1, v0], points[2, v0]
    return matrix(
        points[0, v1] - x0,
        points[0, v2] - x0,
        points[0, v3] - x0,
        points[1, v1] - y0,
        points[1, v2] - y0,
        points[1, v3] - y0,
        points[2, v1] - z0,
        points[2, v2] - z0,
        points[2, v3] - z0,
    )


@compiled()
def matrix_of(a: Any) -> Any:
    """Of a (3, 3) array."""
    return a[0, 0], a[0, 1], a[0, 2], a[1, 0], a[1, 1], a[1, 2], a[2, 0], a[2, 1], a[2, 2]


@compiled()
def matrix_in(a: Any, e: int) -> Any:
    """One of (M, 3, 3)."""
    return (
        a[e, 0, 0],
        a[e, 0, 1],
        a[e, 0, 2],
        a[e, 1, 0],
        a[e, 1, 1],
        a[e, 1, 2],
        a[e, 2, 0],
        a[e, 2, 1],
        a[e, 2, 2],
    )


@compiled()
def column(a: Any, e: int) -> Any:
    """Of nine rows or more."""
    return a[0, e], a[1, e], a[2, e], a[3, e], a[4, e], a[5, e], a[6, e], a[7, e], a[8, e]


@compiled()
def add_to_column(a: Any, e: int, factor: float, m: Any) -> None:
    """Adds factor × M to nine rows."""
    a[0, e] += factor * m[0]
    a[1, e] += factor * m[1]
    a[2, e] += factor * m[2]
    a[3, e] += factor * m[3]
    a[4, e] += factor * m[4]
    a[5, e] += factor * m[5]
    a[6, e] += factor * m[6]
    a[7, e] += factor * m[7]
    a[8, e] += factor * m[8]


@compiled(inline=True)
def set_column(a: Any, e: int, m: Any) -> None:
    """Writes M to nine rows."""
    a[0, e], a[1, e], a[2, e] = m[0], m[1], m[2]
    a[3, e], a[4, e], a[5, e] = m[3], m[4], m[5]
    a[6, e], a[7, e], a[8, e] = m[6], m[7], m[8]


@compiled()
def matmul3(a: Any, b: Any) -> Any:
    """A B."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@compiled()
def transformed(a: Any, v: Any) -> Any:
    """A v, of a vector of three numbers."""
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
        a[6] * v[0] + a[7] * v[1] + a[8] * v[2],
    )


@compiled()
def of_columns(a: Any, b: Any, c: Any) -> Any:
    """The matrix with three vectors as columns."""
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]


@compiled()
def column_of(a: Any, k: int) -> Any:
    """Column k as a vector."""
    return a[k], a[3 + k], a[6 + k]


@compiled()
def transposed(a: Any) -> Any:
    """Aᵀ."""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@compiled()
def scaled(factor: float, a: Any) -> Any:
    """factor × A."""
    return (
        factor * a[0],
        factor * a[1],
        factor * a[2],
        factor * a[3],
        factor * a[4],
        factor * a[5],
        factor * a[6],
        factor * a[7],
        factor * a[8],
    )


@compiled()
def add3(a: Any, b: Any) -> Any:
    """A + B."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@compiled()
def with_diagonal(a: Any, more: Any) -> Any:
    """A + more × I."""
    return a[0] + more, a[1], a[2], a[3], a[4] + more, a[5], a[6], a[7], a[8] + more


@compiled()
def dot(a: Any, b: Any) -> float:
    """A : B."""
    return (
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
        + (a[6] * b[6] + a[7] * b[7] + a[8] * b[8])
    )


@compiled()
def cofactors(a: Any) -> Any:
    """Those of A."""
    return (
        a[4] * a[8] - a[5] * a[7],
        a[5] * a[6] - a[3] * a[8],
        a[3] * a[7] - a[4] * a[6],
        a[2] * a[7] - a[1] * a[8],
        a[0] * a[8] - a[2] * a[6],
        a[1] * a[6] - a[0] * a[7],
        a[1] * a[5] - a[2] * a[4],
        a[2] * a[3] - a[0] * a[5],
        a[0] * a[4] - a[1] * a[3],
    )


@compiled()
def determinant(a: Any, c: Any) -> float:
    """det A, by its cofactors."""
    return a[0] * c[0] + a[3] * c[3] + a[6] * c[6]


@compiled()
def cofactor_change(a: Any, b: Any) -> Any:
    """How the cofactors of A change along B."""
    return (
        (b[4] * a[8] - a[5] * b[7]) + (a[4] * b[8] - b[5] * a[7]),
        (b[5] * a[6] - a[3] * b[8]) + (a[5] * b[6] - b[3] * a[8]),
        (b[3] * a[7] - a[4] * b[6]) + (a[3] * b[7] - b[4] * a[6]),
        (b[7] * a[2] - a[8] * b[1]) + (a[7] * b[2] - b[8] * a[1]),
        (b[8] * a[0] - a[6] * b[2]) + (a[8] * b[0] - b[6] * a[2]),
        (b[6] * a[1] - a[7] * b[0]) + (a[6] * b[1] - b[7] * a[0]),
        (b[1] * a[5] - a[2] * b[4]) + (a[1] * b[5] - b[2] * a[4]),
        (b[2] * a[3] - a[0] * b[5]) + (a[2] * b[3] - b[0] * a[5]),
        (b[0] * a[4] - a[1] * b[3]) + (a[0] * b[4] - b[1] * a[3]),
    )
