# SPDX-License-Identifier: GPL-3.0-or-later
"""Symmetric 3 × 3 matrices of six numbers, 11, 12, 13, 22, 23, 33, for the kernels over tets.

Where a function gave rows as tuples in a tuple, loops would not be made vector instructions.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .vectors import dot


@compiled()
def symmetric(a: float, b: float, c: float, d: float, e: float, f: float) -> Any:
    """One of numbers: see ``vector``."""
    return a, b, c, d, e, f


@compiled()
def symmetric_product(d1: Any, d2: Any, d3: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """DᵀW + WᵀD of matrices by their columns."""
    return (
        2.0 * dot(d1, w1),
        dot(d1, w2) + dot(d2, w1),
        dot(d1, w3) + dot(d3, w1),
        2.0 * dot(d2, w2),
        dot(d2, w3) + dot(d3, w2),
        2.0 * dot(d3, w3),
    )


@compiled()
def times(a: float, m: Any) -> Any:
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
def row_times(a: float, b: float, c: float, n: Any) -> Any:
    """The row (a, b, c) times N."""
    return (
        a * n[0] + b * n[1] + c * n[2],
        a * n[1] + b * n[3] + c * n[4],
        a * n[2] + b * n[4] + c * n[5],
    )


@compiled()
def between(s: Any, m: Any) -> Any:
    """S M S."""
    a = row_times(m[0], m[1], m[2], s)
    b = row_times(m[1], m[3], m[4], s)
    c = row_times(m[2], m[4], m[5], s)
    return (
        s[0] * a[0] + s[1] * b[0] + s[2] * c[0],
        s[0] * a[1] + s[1] * b[1] + s[2] * c[1],
        s[0] * a[2] + s[1] * b[2] + s[2] * c[2],
        s[1] * a[1] + s[3] * b[1] + s[4] * c[1],
        s[1] * a[2] + s[3] * b[2] + s[4] * c[2],
        s[2] * a[2] + s[4] * b[2] + s[5] * c[2],
    )
