# SPDX-License-Identifier: GPL-3.0-or-later
"""Symmetric 3 × 3 matrices of six numbers, 11, 12, 13, 22, 23, 33, for the kernels over tets."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .matrices import matmul3


@compiled()
def symmetric(a: float, b: float, c: float, d: float, e: float, f: float) -> Any:
    """One of numbers: see ``matrix``."""
    return a, b, c, d, e, f


@compiled(inline=True)
def symmetric_in(rows: Any, e: int) -> Any:
    """One of six rows or more."""
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
