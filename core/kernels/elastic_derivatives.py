# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how elastic forces change along a displacement of the vertices, and with the
moduli: one loop over tets that makes no matrix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .elasticity import TETS_PER_THREAD, ElasticityKernel, sum_at_vertices
from .laws import first_derivatives, second_derivatives
from .rest_products import RestProducts
from .symmetric_matrices import (
    contracted,
    row_times,
    symmetric,
    symmetric_product,
    times,
    weighted_sum,
)
from .vectors import combined, cross, dot, minus, plus, vector


class ElasticDerivativesKernel(ElasticityKernel):
    """Of the tets of one material that is written in I_C and J.

    Args:
        constants: of the tets.
    """

    def along(self, positions: Tensor, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """The second derivative of the energy times a (3, N) displacement, (3, N) in newtons, and
        the (2, M) derivatives by μ and by λ of the work that the gradient does along it, in m³."""
        out, works = torch.zeros_like(positions), positions.new_zeros((2, self._corners.shape[1]))
        self.add_along(positions, displacement, out, works)
        return out, works

    def add_along(
        self,
        positions: Tensor,
        displacement: Tensor,
        out: Tensor,
        works: Tensor,
        rest: RestProducts | None = None,
    ) -> None:
        """Adds what ``along`` gives to (3, N) ``out`` and (2, M) ``works``, and to ``rest`` how
        that work changes with the rest shape, if anybody asks."""
        own = self._constants
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        _derivatives(
            positions.numpy(),
            displacement.numpy(),
            self._corners,
            self._metric,
            own.moduli,
            own.law,
            own.low,
            own.high,
            self._forces,
            works.numpy(),
            None if rest is None else rest.sums,
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())


@compiled()
def slopes(
    law: int,
    i_c: float,
    half_di: float,
    j: float,
    dj: float,
    inverse_volume: float,
    mu: float,
    lam: float,
    low: float,
    high: float,
) -> Any:
    """p = 2 Ψ_I and q = Ψ_J / 6, how both change, and the derivatives by μ and λ of the work.

    Args:
        half_di: half of the change of I_C.
        dj: the change of J.
    """
    inside = min(max(j, low), high)
    p, q = first_derivatives(law, i_c, inside, mu, lam)
    p_i, p_j, q_j = second_derivatives(law, i_c, inside, mu, lam)
    p_mu, q_mu = first_derivatives(law, i_c, inside, 1.0, 0.0)
    p_lam, q_lam = first_derivatives(law, i_c, inside, 0.0, 1.0)
    by_mu = (p_mu * half_di + q_mu * dj) / inverse_volume
    by_lam = (p_lam * half_di + q_lam * dj) / inverse_volume
    dj = dj if inside == j else 0.0
    dp, dq = p_i * half_di + p_j * dj, (p_j * half_di + q_j * dj) / 6.0
    return p, q / 6.0, dp, dq, by_mu, by_lam


@compiled()
def cofactor_change(dq: float, c: Any, q: float, w1: Any, d2: Any, d1: Any, w2: Any) -> Any:
    """dq c + q (w1 × d2 + d1 × w2)."""
    u, v = cross(w1, d2), cross(d1, w2)
    return (
        dq * c[0] + q * (u[0] + v[0]),
        dq * c[1] + q * (u[1] + v[1]),
        dq * c[2] + q * (u[2] + v[2]),
    )


@compiled(parallel=True)
def _derivatives(
    positions: Any,
    displacement: Any,
    corners: Any,
    metric: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    out: Any,
    works: Any,
    rest: Any,
) -> None:
    """With the edges D, the displacement's W and C = cof D the gradient by the edges is
    Y = p D V S + q C, p = 2 Ψ_I and q = Ψ_J / 6; this is X, how it changes with D along W, into
    (9, M).

    DᵀX + WᵀY is (p' DᵀD + p (DᵀW + WᵀD)) V S + (q' det D + q C : W) I; where ``rest`` is None the
    loop is compiled without it.

    Numbers alone are handed on: arrays that are keep loops from becoming vector instructions.
    """
    x, y, z = positions[0], positions[1], positions[2]
    u, v, w = displacement[0], displacement[1], displacement[2]
    for e in shared_range(corners.shape[1]):
        k0, k1, k2, k3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        d0, w0 = vector(x[k0], y[k0], z[k0]), vector(u[k0], v[k0], w[k0])
        d1, w1 = minus(vector(x[k1], y[k1], z[k1]), d0), minus(vector(u[k1], v[k1], w[k1]), w0)
        d2, w2 = minus(vector(x[k2], y[k2], z[k2]), d0), minus(vector(u[k2], v[k2], w[k2]), w0)
        d3, w3 = minus(vector(x[k3], y[k3], z[k3]), d0), minus(vector(u[k3], v[k3], w[k3]), w0)
        s = symmetric(
            metric[0, e], metric[1, e], metric[2, e], metric[3, e], metric[4, e], metric[5, e]
        )
        inverse_volume = metric[6, e]
        squares = symmetric_product(d1, d2, d3, d1, d2, d3)
        change = symmetric_product(d1, d2, d3, w1, w2, w3)
        c1, c2, c3 = cross(d2, d3), cross(d3, d1), cross(d1, d2)
        det, ddet = dot(d1, c1), dot(w1, c1) + dot(w2, c2) + dot(w3, c3)
        half = 0.5 * inverse_volume
        half_di = half * contracted(change, s)
        i_c, sixth, mu, lam = (
            half * contracted(squares, s),
            inverse_volume / 6.0,
            moduli[0, e],
            moduli[1, e],
        )
        p, q, dp, dq, by_mu, by_lam = slopes(
            law, i_c, half_di, sixth * det, sixth * ddet, inverse_volume, mu, lam, low, high
        )
        works[0, e] += by_mu
        works[1, e] += by_lam
        t, m = times(p, s), times(dp, s)
        b1, a1 = combined(t[0], w1, t[1], w2, t[2], w3), combined(m[0], d1, m[1], d2, m[2], d3)
        b2, a2 = combined(t[1], w1, t[3], w2, t[4], w3), combined(m[1], d1, m[3], d2, m[4], d3)
        b3, a3 = combined(t[2], w1, t[4], w2, t[5], w3), combined(m[2], d1, m[4], d2, m[5], d3)
        o1 = cofactor_change(dq, c1, q, w2, d3, d2, w3)
        o2 = cofactor_change(dq, c2, q, w3, d1, d3, w1)
        o3 = cofactor_change(dq, c3, q, w1, d2, d1, w2)
        # Written out, since loops over tuples are not made vector instructions.
        out[0, e], out[3, e], out[6, e] = plus(plus(a1, b1), o1)
        out[1, e], out[4, e], out[7, e] = plus(plus(a2, b2), o2)
        out[2, e], out[5, e], out[8, e] = plus(plus(a3, b3), o3)
        if rest is not None:
            k = weighted_sum(0.5 * dp, squares, p, change)
            diagonal = dq * det + q * ddet
            k1 = row_times(k[0], k[1], k[2], s)
            k2 = row_times(k[1], k[3], k[4], s)
            k3 = row_times(k[2], k[4], k[5], s)
            rest[0, e] += k1[0] + diagonal
            rest[1, e] += k1[1]
            rest[2, e] += k1[2]
            rest[3, e] += k2[0]
            rest[4, e] += k2[1] + diagonal
            rest[5, e] += k2[2]
            rest[6, e] += k3[0]
            rest[7, e] += k3[1]
            rest[8, e] += k3[2] + diagonal
            rest[9, e] += p * half_di / inverse_volume + q * ddet
