# SPDX-License-Identifier: GPL-3.0-or-later
"""F of a tet and the position correction of its corners, in numbers, for the kernels of XPBD.

The data of a tet are the shape gradients of corners 1 to 3 (9), the inverse masses of all four
corners, and those of its law from ``LAW_OFFSET`` on. Matrices are nine numbers, row by row;
symmetric ones six: xx, xy, xz, yy, yz, zz.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled

LAW_OFFSET = 13


@compiled()
def deformation_gradient(positions: Any, corners: Any, tet: Any) -> Any:
    """F of a tet."""
    x, y, z = positions[0], positions[1], positions[2]
    v0, v1, v2, v3 = corners[0], corners[1], corners[2], corners[3]
    edges = (
        *(x[v1] - x[v0], x[v2] - x[v0], x[v3] - x[v0]),
        *(y[v1] - y[v0], y[v2] - y[v0], y[v3] - y[v0]),
        *(z[v1] - z[v0], z[v2] - z[v0], z[v3] - z[v0]),
    )
    gradients = (tet[0], tet[1], tet[2], tet[3], tet[4], tet[5], tet[6], tet[7], tet[8])
    return matmul_flat(edges, gradients)


@compiled()
def correct_positions(positions: Any, corners: Any, tet: Any, r: Any) -> None:
    """Corrects the positions of the corners by w R g."""
    for i in range(3):
        # Corrections of unit masses add up to zero.
        first = r[3 * i] * tet[0] + r[3 * i + 1] * tet[1] + r[3 * i + 2] * tet[2]
        second = r[3 * i] * tet[3] + r[3 * i + 1] * tet[4] + r[3 * i + 2] * tet[5]
        third = r[3 * i] * tet[6] + r[3 * i + 1] * tet[7] + r[3 * i + 2] * tet[8]
        positions[i, corners[0]] -= tet[9] * (first + second + third)
        positions[i, corners[1]] += tet[10] * first
        positions[i, corners[2]] += tet[11] * second
        positions[i, corners[3]] += tet[12] * third


@compiled()
def matmul_flat(a: Any, b: Any) -> Any:
    """The product of two matrices."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    return (
        *(a0 * b0 + a1 * b3 + a2 * b6, a0 * b1 + a1 * b4 + a2 * b7, a0 * b2 + a1 * b5 + a2 * b8),
        *(a3 * b0 + a4 * b3 + a5 * b6, a3 * b1 + a4 * b4 + a5 * b7, a3 * b2 + a4 * b5 + a5 * b8),
        *(a6 * b0 + a7 * b3 + a8 * b6, a6 * b1 + a7 * b4 + a8 * b7, a6 * b2 + a7 * b5 + a8 * b8),
    )


@compiled()
def matmul_flat_symmetric(a: Any, s: Any) -> Any:
    """A matrix times a symmetric one."""
    xx, xy, xz, yy, yz, zz = s
    return matmul_flat(a, (xx, xy, xz, xy, yy, yz, xz, yz, zz))


@compiled()
def add3(a: Any, factor: Any, b: Any) -> Any:
    """a + factor b."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    return (
        *(a0 + factor * b0, a1 + factor * b1, a2 + factor * b2),
        *(a3 + factor * b3, a4 + factor * b4, a5 + factor * b5),
        *(a6 + factor * b6, a7 + factor * b7, a8 + factor * b8),
    )


@compiled()
def scaled(factor: Any, a: Any) -> Any:
    """factor a."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    return (
        *(factor * a0, factor * a1, factor * a2),
        *(factor * a3, factor * a4, factor * a5),
        *(factor * a6, factor * a7, factor * a8),
    )


@compiled()
def dot(a: Any, b: Any) -> Any:
    """The sum of the products of entries."""
    a0, a1, a2, a3, a4, a5, a6, a7, a8 = a
    b0, b1, b2, b3, b4, b5, b6, b7, b8 = b
    return (
        (a0 * b0 + a1 * b1 + a2 * b2)
        + (a3 * b3 + a4 * b4 + a5 * b5)
        + (a6 * b6 + a7 * b7 + a8 * b8)
    )


@compiled()
def cofactor(f: Any) -> Any:
    """cof F, the derivative of det F."""
    a, b, c, d, e, g, h, i, j = f
    return (
        *(e * j - g * i, g * h - d * j, d * i - e * h),
        *(c * i - b * j, a * j - c * h, b * h - a * i),
        *(b * g - c * e, c * d - a * g, a * e - b * d),
    )


@compiled()
def symmetric(tet: Any, start: int) -> Any:
    """Six numbers of a tet's data."""
    return (
        *(tet[start], tet[start + 1], tet[start + 2]),
        *(tet[start + 3], tet[start + 4], tet[start + 5]),
    )
