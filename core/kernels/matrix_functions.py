# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of symmetric matrices and their derivatives, for the kernels over tets.

Their torch counterpart, with its source, is in ``core/adjoint/tape_plasticity.py``.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .matrices import matmul3, transposed

# Of the sum of two eigenvalues: closer ones are one.
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
    return matmul3(matmul3(v, inner), transposed(v))


@compiled()
def _slope(first: float, second: float, at_first: float, at_second: float, power: float) -> float:
    """Of a function, between two places."""
    gap, total = first - second, first + second
    if abs(gap) > _SAME_RATIO * total:
        return (at_first - at_second) / gap
    return power * (at_first + at_second) / total
