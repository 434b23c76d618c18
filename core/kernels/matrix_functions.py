# SPDX-License-Identifier: GPL-3.0-or-later
"""3 × 3 matrices of nine numbers, row by row, and derivatives of functions of symmetric ones, for
the kernels over tets.

The torch counterpart of these, with its source, is in ``core/adjoint/symmetric_functions.py``.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled

# Of the sum of two eigenvalues: closer ones are one.
_SAME_RATIO = 1e-5


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


@compiled()
def set_column(a: Any, e: int, m: Any) -> None:
    """Writes M to nine rows."""
    a[0, e], a[1, e], a[2, e] = m[0], m[1], m[2]
    a[3, e], a[4, e], a[5, e] = m[3], m[4], m[5]
    a[6, e], a[7, e], a[8, e] = m[6], m[7], m[8]


@compiled()
def product(a: Any, b: Any) -> Any:
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
def transposed(a: Any) -> Any:
    """Aᵀ."""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@compiled()
def plus_twice(a: Any, b: Any) -> Any:
    """A + 2 B."""
    return (
        a[0] + 2.0 * b[0],
        a[1] + 2.0 * b[1],
        a[2] + 2.0 * b[2],
        a[3] + 2.0 * b[3],
        a[4] + 2.0 * b[4],
        a[5] + 2.0 * b[5],
        a[6] + 2.0 * b[6],
        a[7] + 2.0 * b[7],
        a[8] + 2.0 * b[8],
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
    return product(scaled, transposed(v))


@compiled()
def in_axes(a: Any, v: Any) -> Any:
    """The symmetric part of Vᵀ A V: 11, 12, 13, 22, 23, 33."""
    m = product(transposed(v), product(a, v))
    return m[0], 0.5 * (m[1] + m[3]), 0.5 * (m[2] + m[6]), m[4], 0.5 * (m[5] + m[7]), m[8]


@compiled()
def from_axes(by_function: Any, c: Any, values: Any, power: float, by_values: Any, v: Any) -> Any:
    """The gradient by a matrix with eigenvalues on the diagonal of ``c``, in axes V.

    Args:
        by_function: by a function of it in the axes, as ``in_axes`` has it.
        values: its eigenvalues, which go by a power of those.
        by_values: the gradient by the eigenvalues on the diagonal.
    """
    a = _slope(c[0, 0], c[1, 1], values[0], values[1], power) * by_function[1]
    b = _slope(c[0, 0], c[2, 2], values[0], values[2], power) * by_function[2]
    d = _slope(c[1, 1], c[2, 2], values[1], values[2], power) * by_function[4]
    inner = (by_values[0], a, b, a, by_values[1], d, b, d, by_values[2])
    return product(product(v, inner), transposed(v))


@compiled()
def _slope(first: float, second: float, at_first: float, at_second: float, power: float) -> float:
    """Of a function, between two places."""
    gap, total = first - second, first + second
    if abs(gap) > _SAME_RATIO * total:
        return (at_first - at_second) / gap
    return power * (at_first + at_second) / total
