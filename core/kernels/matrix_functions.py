# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of functions of symmetric 3 × 3 matrices, for the kernels over tets.

The torch counterpart, with its source, is in ``core/adjoint/symmetric_functions.py``.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .deformation import matmul3

# Of the sum of two eigenvalues: closer ones are one.
_SAME_RATIO = 1e-5


@compiled()
def in_axes(a: Any, v: Any, rows: Any, out: Any) -> None:
    """The symmetric part of Vᵀ A V; ``a`` is written over."""
    for i in range(3):
        for j in range(i):
            mean = 0.5 * (a[i, j] + a[j, i])
            a[i, j], a[j, i] = mean, mean
    transposed_times(v, a, rows)
    matmul3(rows, v, out)


@compiled()
def from_axes(
    by_function: Any,
    c: Any,
    values: Any,
    power: float,
    by_values: Any,
    v: Any,
    rows: Any,
    out: Any,
) -> None:
    """The gradient by a matrix with eigenvalues on the diagonal of ``c``, in axes V.

    Args:
        by_function: by a function of it in the axes; is written over.
        values: its eigenvalues, which go by a power of those.
        by_values: the gradient by the eigenvalues on the diagonal.
    """
    inner = by_function
    for i in range(3):
        inner[i, i] = by_values[i]
        for j in range(i):
            gap, total = c[i, i] - c[j, j], c[i, i] + c[j, j]
            if abs(gap) > _SAME_RATIO * total:
                slope = (values[i] - values[j]) / gap
            else:
                slope = power * (values[i] + values[j]) / total
            inner[i, j] = slope * by_function[i, j]
            inner[j, i] = inner[i, j]
    matmul3(v, inner, rows)
    times_transposed(rows, v, out)


@compiled()
def transposed_times(a: Any, b: Any, out: Any) -> None:
    """Aᵀ B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]


@compiled()
def times_transposed(a: Any, b: Any, out: Any) -> None:
    """A Bᵀ."""
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2]
