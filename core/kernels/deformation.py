# SPDX-License-Identifier: GPL-3.0-or-later
"""Deformation gradients, their singular values and eigenvalues, for the kernels over tets.

The torch counterparts are in ``core/assembly/tets.py`` and ``torch_matrices.py``.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled

# Off-diagonal entries below this ratio of the trace, both squared, are zero.
DIAGONAL_TOLERANCE = 1e-28
MAX_SWEEPS = 10
# The largest singular value is zero below this; others are rounding below that ratio of it.
MIN_LENGTH = 1e-150
ROUNDING_RATIO = 1e-14


@compiled()
def deformation_gradient(
    positions: Any, corners: Any, gradients: Any, e: int, edges: Any, f: Any
) -> None:
    """The deformation gradient of tet ``e`` into ``f``, its edge vectors into ``edges``.

    Args:
        gradients: (M, 3, 3) of the shape functions of corners 1 to 3, in 1/m.
    """
    for i in range(3):
        for k in range(3):
            edges[i, k] = positions[i, corners[k + 1, e]] - positions[i, corners[0, e]]
    matmul3(edges, gradients[e], f)


@compiled()
def matmul3(a: Any, b: Any, out: Any) -> None:
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]


@compiled()
def signed_svd(f: Any, u: Any, s: Any, v: Any, scratch: Any) -> None:
    """f = u diag(s) vᵀ with rotations u and v; the last of s is the smallest and has J's sign."""
    for i in range(3):
        for j in range(3):
            scratch[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    diagonalize(scratch, v)
    largest = 0
    for k in range(1, 3):
        if scratch[k, k] > scratch[largest, largest]:
            largest = k
    second, third = (largest + 1) % 3, (largest + 2) % 3
    sign = 1.0
    if scratch[second, second] < scratch[third, third]:
        second, third, sign = third, second, -1.0
    for i in range(3):
        x, y, z = v[i, largest], v[i, second], v[i, third]
        v[i, 0], v[i, 1], v[i, 2] = x, y, sign * z
    matmul3(f, v, u)
    s[0] = math.sqrt(u[0, 0] * u[0, 0] + u[1, 0] * u[1, 0] + u[2, 0] * u[2, 0])
    _normalize(u, 0, MIN_LENGTH)
    _orthogonalize(u)
    s[1] = math.sqrt(u[0, 1] * u[0, 1] + u[1, 1] * u[1, 1] + u[2, 1] * u[2, 1])
    _normalize(u, 1, MIN_LENGTH + ROUNDING_RATIO * s[0])
    x, y, z = u[0, 2], u[1, 2], u[2, 2]
    u[0, 2] = u[1, 0] * u[2, 1] - u[2, 0] * u[1, 1]
    u[1, 2] = u[2, 0] * u[0, 1] - u[0, 0] * u[2, 1]
    u[2, 2] = u[0, 0] * u[1, 1] - u[1, 0] * u[0, 1]
    s[2] = x * u[0, 2] + y * u[1, 2] + z * u[2, 2]


@compiled()
def _orthogonalize(u: Any) -> None:
    """Takes what rounding left of column 0 out of column 1."""
    along = u[0, 0] * u[0, 1] + u[1, 0] * u[1, 1] + u[2, 0] * u[2, 1]
    for i in range(3):
        u[i, 1] -= along * u[i, 0]


@compiled()
def _normalize(u: Any, column: int, smallest: Any) -> None:
    """A tet flattened to a line or a point has no direction here: any perpendicular one does."""
    length = math.sqrt(u[0, column] ** 2 + u[1, column] ** 2 + u[2, column] ** 2)
    if length > smallest:
        for i in range(3):
            u[i, column] /= length
        return
    x, y, z = (0.0, 0.0, 1.0) if column == 0 else (u[0, 0], u[1, 0], u[2, 0])
    along_xy = math.sqrt(x * x + y * y)
    if along_xy > 0.5:
        u[0, column], u[1, column], u[2, column] = -y / along_xy, x / along_xy, 0.0
    else:
        along_yz = math.sqrt(y * y + z * z)
        u[0, column], u[1, column], u[2, column] = 0.0, -z / along_yz, y / along_yz


@compiled()
def diagonalize(c: Any, v: Any) -> None:
    """Eigenvalues of the symmetric ``c`` onto its diagonal, eigenvectors into the columns of
    ``v``, by cyclic Jacobi rotations (Golub and Van Loan, "Matrix Computations", section 8.5)."""
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    _sweep(c, v)


@compiled()
def diagonalize_again(c: Any, v: Any, scratch: Any) -> None:
    """The same, where the columns of ``v`` are almost those it comes to: in fewer rotations."""
    matmul3(c, v, scratch)
    for i in range(3):
        for j in range(i, 3):
            c[i, j] = v[0, i] * scratch[0, j] + v[1, i] * scratch[1, j] + v[2, i] * scratch[2, j]
            c[j, i] = c[i, j]
    _sweep(c, v)


@compiled()
def _sweep(c: Any, v: Any) -> None:
    """Rotates ``c`` until it is diagonal, and the columns of ``v`` with it."""
    size = abs(c[0, 0]) + abs(c[1, 1]) + abs(c[2, 2])
    for _ in range(MAX_SWEEPS):
        off = c[0, 1] * c[0, 1] + c[0, 2] * c[0, 2] + c[1, 2] * c[1, 2]
        if off <= DIAGONAL_TOLERANCE * size * size:
            return
        _rotate(c, v, 0, 1)
        _rotate(c, v, 0, 2)
        _rotate(c, v, 1, 2)


@compiled()
def _rotate(c: Any, v: Any, p: int, q: int) -> None:
    """Makes c[p, q] zero."""
    entry = c[p, q]
    if entry == 0.0:
        return
    theta = (c[q, q] - c[p, p]) / (2.0 * entry)
    tangent = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    c[p, p] -= tangent * entry
    c[q, q] += tangent * entry
    c[p, q], c[q, p] = 0.0, 0.0
    r = 3 - p - q
    to_p, to_q = c[r, p], c[r, q]
    c[r, p] = c[p, r] = cosine * to_p - sine * to_q
    c[r, q] = c[q, r] = sine * to_p + cosine * to_q
    for i in range(3):
        to_p, to_q = v[i, p], v[i, q]
        v[i, p], v[i, q] = cosine * to_p - sine * to_q, sine * to_p + cosine * to_q
