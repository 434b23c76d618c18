# SPDX-License-Identifier: GPL-3.0-or-later
"""The Hessian of a tet whose law is in I_C and J, as it is, for the kernels over tets.

With the edges D from corner 0, C = cof D, V the volume at rest and S the products of the shape
gradients, so that I_C = D : D S and J = det D / 6V, the gradient of V Ψ by D is p V D S + q C / 6,
p = 2 Ψ_I and q = Ψ_J. Of this the derivative by column b of D, in column a, with A = V D S, is

    p V S_ab I + (4 Ψ_II A_a A_bᵀ + Ψ_IJ (A_a C_bᵀ + C_a A_bᵀ) / 3 + Ψ_JJ C_a C_bᵀ / 36) / V
    + q ∂C_a/∂D_b / 6,

∂C_a/∂D_b being ±[D_c]× of the third column. Singular vectors are needed only to project it.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .corner_blocks import products
from .laws import first_derivatives, second_derivatives
from .matrices import cofactors, column_of, determinant, dot, matmul3
from .vectors import weighted


@compiled()
def invariant_derivatives(i_c: Any, j: Any, material: Any, mu: Any, lam: Any) -> Any:
    """2 Ψ_I, Ψ_J, 4 Ψ_II, 2 Ψ_IJ and Ψ_JJ in pascal; beyond its limits Ψ goes on along its tangent
    in J.

    Args:
        material: number of the law, its kappa, and between which J it holds.
    """
    law, _, low, high = material
    inside = min(max(j, low), high)
    p, q = first_derivatives(law, i_c, inside, mu, lam)
    by_i, mixed, by_j = second_derivatives(law, i_c, inside, mu, lam)
    if inside != j:
        mixed, by_j = 0.0 * mixed, 0.0 * by_j
    return p, q, by_i, mixed, by_j


@compiled()
def edge_blocks(d: Any, s: Any, material: Any, own: Any) -> Any:
    """The blocks 11, 12, 13, 22, 23 and 33 in N/m.

    Args:
        d, s: D and V S.
        material: as of ``invariant_derivatives``.
        own: μ, λ and 1/V of the tet.
    """
    mu, lam, inverse_volume = own
    a, c = matmul3(d, s), cofactors(d)
    i_c, j = inverse_volume * dot(d, a), inverse_volume * determinant(d, c) / 6.0
    p, q, by_i, mixed, by_j = invariant_derivatives(i_c, j, material, mu, lam)
    by_i, mixed, by_j = by_i * inverse_volume, mixed * inverse_volume / 6.0, by_j * inverse_volume
    by_j, turn = by_j / 36.0, q / 6.0
    a1, a2, a3 = column_of(a, 0), column_of(a, 1), column_of(a, 2)
    c1, c2, c3 = column_of(c, 0), column_of(c, 1), column_of(c, 2)
    d1, d2, d3 = column_of(d, 0), column_of(d, 1), column_of(d, 2)
    x1, y1 = weighted(by_i, a1, mixed, c1), weighted(mixed, a1, by_j, c1)
    x2, y2 = weighted(by_i, a2, mixed, c2), weighted(mixed, a2, by_j, c2)
    x3, y3 = weighted(by_i, a3, mixed, c3), weighted(mixed, a3, by_j, c3)
    return (
        _with_rotation(products(x1, a1, y1, c1), p * s[0], 0.0, d1),
        _with_rotation(products(x1, a2, y1, c2), p * s[1], -turn, d3),
        _with_rotation(products(x1, a3, y1, c3), p * s[2], turn, d2),
        _with_rotation(products(x2, a2, y2, c2), p * s[4], 0.0, d2),
        _with_rotation(products(x2, a3, y2, c3), p * s[5], -turn, d1),
        _with_rotation(products(x3, a3, y3, c3), p * s[8], 0.0, d3),
    )


@compiled()
def _with_rotation(m: Any, along: Any, turn: Any, v: Any) -> Any:
    """M + along I + turn [v]×."""
    x, y, z = turn * v[0], turn * v[1], turn * v[2]
    return (
        m[0] + along,
        m[1] - z,
        m[2] + y,
        m[3] + z,
        m[4] + along,
        m[5] - x,
        m[6] - y,
        m[7] + x,
        m[8] + along,
    )
