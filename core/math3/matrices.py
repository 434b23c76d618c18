# SPDX-License-Identifier: GPL-3.0-or-later
"""3 × 3 matrices of one element, as tuples of numbers, for compiled loops.

Flat, since of rows as tuples in a tuple LLVM makes no vector instructions.

Their torch counterpart, with its source, is in ``core/math3/symmetric_functions.py``.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled


@compiled()
def matrix(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> Any:
    """Return a matrix of nine numbers. Written as a tuple in a loop, numba takes it for an array's
    shape.
    """
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
    """Return the matrix of a (3, 3) array."""
    return a[0, 0], a[0, 1], a[0, 2], a[1, 0], a[1, 1], a[1, 2], a[2, 0], a[2, 1], a[2, 2]


@compiled()
def matrix_in(a: Any, e: int) -> Any:
    """Return matrix ``e`` of an (M, 3, 3) array."""
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
    """Return column ``e`` of nine rows or more as a matrix."""
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
def from_columns(a: Any, b: Any, c: Any) -> Any:
    """The matrix with three vectors as columns."""
    return a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]


@compiled()
def column_of(a: Any, k: int) -> Any:
    """Column k as a vector."""
    return a[k], a[3 + k], a[6 + k]


@compiled()
def transposed(a: Any) -> Any:
    """Return the transpose Aᵀ."""
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
    """Return A + more × I with the identity I."""
    return a[0] + more, a[1], a[2], a[3], a[4] + more, a[5], a[6], a[7], a[8] + more


@compiled()
def dot(a: Any, b: Any) -> float:
    """Return the double contraction A : B."""
    return (
        (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
        + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
        + (a[6] * b[6] + a[7] * b[7] + a[8] * b[8])
    )


@compiled()
def cofactors(a: Any) -> Any:
    """Return the matrix of cofactors of A."""
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
    """Return the derivative of the cofactors of A along B."""
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


@compiled()
def symmetric(a: float, b: float, c: float, d: float, e: float, f: float) -> Any:
    """Return a symmetric matrix of six numbers: see ``matrix``."""
    return a, b, c, d, e, f


@compiled(inline=True)
def symmetric_in(rows: Any, e: int) -> Any:
    """Return column ``e`` of six rows or more as a symmetric matrix."""
    return symmetric(rows[0, e], rows[1, e], rows[2, e], rows[3, e], rows[4, e], rows[5, e])


@compiled()
def full(m: Any) -> Any:
    """The nine numbers of M, row by row."""
    return m[0], m[1], m[2], m[1], m[3], m[4], m[2], m[4], m[5]


@compiled()
def squared(c: Any) -> Any:
    """CᵀC of a matrix of nine numbers."""
    return (
        c[0] * c[0] + c[3] * c[3] + c[6] * c[6],
        c[0] * c[1] + c[3] * c[4] + c[6] * c[7],
        c[0] * c[2] + c[3] * c[5] + c[6] * c[8],
        c[1] * c[1] + c[4] * c[4] + c[7] * c[7],
        c[1] * c[2] + c[4] * c[5] + c[7] * c[8],
        c[2] * c[2] + c[5] * c[5] + c[8] * c[8],
    )


@compiled()
def symmetric_cofactors(m: Any) -> Any:
    """cof M."""
    return (
        m[3] * m[5] - m[4] * m[4],
        m[2] * m[4] - m[1] * m[5],
        m[1] * m[4] - m[2] * m[3],
        m[0] * m[5] - m[2] * m[2],
        m[1] * m[2] - m[0] * m[4],
        m[0] * m[3] - m[1] * m[1],
    )


@compiled()
def symmetric_product(d: Any, w: Any) -> Any:
    """DᵀW + WᵀD of matrices of nine numbers."""
    return (
        2.0 * (d[0] * w[0] + d[3] * w[3] + d[6] * w[6]),
        (d[0] * w[1] + d[3] * w[4] + d[6] * w[7]) + (d[1] * w[0] + d[4] * w[3] + d[7] * w[6]),
        (d[0] * w[2] + d[3] * w[5] + d[6] * w[8]) + (d[2] * w[0] + d[5] * w[3] + d[8] * w[6]),
        2.0 * (d[1] * w[1] + d[4] * w[4] + d[7] * w[7]),
        (d[1] * w[2] + d[4] * w[5] + d[7] * w[8]) + (d[2] * w[1] + d[5] * w[4] + d[8] * w[7]),
        2.0 * (d[2] * w[2] + d[5] * w[5] + d[8] * w[8]),
    )


@compiled()
def scaled_symmetric(a: float, m: Any) -> Any:
    """a M."""
    return a * m[0], a * m[1], a * m[2], a * m[3], a * m[4], a * m[5]


@compiled()
def weighted_sum(a: float, m: Any, b: float, n: Any) -> Any:
    """a M + b N."""
    return (
        a * m[0] + b * n[0],
        a * m[1] + b * n[1],
        a * m[2] + b * n[2],
        a * m[3] + b * n[3],
        a * m[4] + b * n[4],
        a * m[5] + b * n[5],
    )


@compiled()
def contracted(m: Any, n: Any) -> float:
    """M : N."""
    diagonal = m[0] * n[0] + m[3] * n[3] + m[5] * n[5]
    return diagonal + 2.0 * (m[1] * n[1] + m[2] * n[2] + m[4] * n[4])


@compiled()
def between(s: Any, m: Any) -> Any:
    """S M S."""
    a = matmul3(full(m), full(s))
    return (
        s[0] * a[0] + s[1] * a[3] + s[2] * a[6],
        s[0] * a[1] + s[1] * a[4] + s[2] * a[7],
        s[0] * a[2] + s[1] * a[5] + s[2] * a[8],
        s[1] * a[1] + s[3] * a[4] + s[4] * a[7],
        s[1] * a[2] + s[3] * a[5] + s[4] * a[8],
        s[2] * a[2] + s[4] * a[5] + s[5] * a[8],
    )


# The distance of equal eigenvalues, relative to their sum.
_SAME_RATIO = 1e-5


@compiled()
def function_of(v: Any, x: float, y: float, z: float) -> Any:
    """V diag(x, y, z) Vᵀ."""
    scaled = (
        x * v[0],
        y * v[1],
        z * v[2],
        x * v[3],
        y * v[4],
        z * v[5],
        x * v[6],
        y * v[7],
        z * v[8],
    )
    return matmul3(scaled, transposed(v))


@compiled()
def in_axes(a: Any, v: Any) -> Any:
    """The symmetric part of Vᵀ A V: 11, 12, 13, 22, 23, 33."""
    m = matmul3(transposed(v), matmul3(a, v))
    return m[0], 0.5 * (m[1] + m[3]), 0.5 * (m[2] + m[6]), m[4], 0.5 * (m[5] + m[7]), m[8]


@compiled()
def from_axes(
    grad_function: Any, c: Any, values: Any, power: float, grad_values: Any, v: Any
) -> Any:
    """The gradient by a matrix with eigenvalues on the diagonal of ``c``, in axes V.

    Args:
        grad_function: the gradient by a function of it in the axes, as ``in_axes`` has it.
        values: its eigenvalues, which go by a power of those.
        grad_values: the gradient by the eigenvalues on the diagonal.
    """
    a = _slope(c[0, 0], c[1, 1], values[0], values[1], power) * grad_function[1]
    b = _slope(c[0, 0], c[2, 2], values[0], values[2], power) * grad_function[2]
    d = _slope(c[1, 1], c[2, 2], values[1], values[2], power) * grad_function[4]
    inner = (grad_values[0], a, b, a, grad_values[1], d, b, d, grad_values[2])
    return matmul3(matmul3(v, inner), transposed(v))


@compiled()
def _slope(first: float, second: float, at_first: float, at_second: float, power: float) -> float:
    """Return the difference quotient of a power function between two arguments."""
    gap, total = first - second, first + second
    if abs(gap) > _SAME_RATIO * total:
        return (at_first - at_second) / gap
    return power * (at_first + at_second) / total
