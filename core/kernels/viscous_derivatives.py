# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how viscous forces change with the positions and with the moduli: one loop over
tets that makes no matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.tets import Tets
from ..compiled import compiled, shared_range, use_threads
from . import elasticity
from .elastic_derivatives import cofactor_change, slopes
from .elasticity import sum_at_vertices
from .laws import Constants
from .rest_products import RestProducts
from .symmetric_matrices import (
    between,
    contracted,
    row_times,
    symmetric,
    symmetric_product,
    times,
    weighted_sum,
)
from .vectors import combined, cross, dot, minus, plus, vector


class ViscousDerivativesKernel:
    """Of the tets of one viscosity, and of their elasticity with it, which shares much of the way.

    Args:
        tets: that have both.
        constants: of an elasticity that is written in I_C and J; None is none.
    """

    def __init__(self, tets: Tets, constants: Constants | None = None) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._metric, self._constants = tets.metric_by_tet, constants
        self._moduli = np.zeros((2, len(tets)), dtype=self._metric.dtype)
        if constants is not None:
            self._moduli = constants.moduli
        self._forces, self._rates = (self._by_edges() for _ in range(2))

    def add_along(
        self,
        state: tuple[Tensor, Tensor],
        displacement: Tensor,
        moduli: tuple[Tensor, Tensor],
        factors: tuple[float, float],
        out: tuple[Tensor, Tensor],
        works: Tensor,
        rest: RestProducts | None,
    ) -> None:
        """Of the work that the forces do along a (3, N) displacement, adds the (3, N) derivatives
        by positions and by velocities to ``out``, those by μ, λ, shear and bulk viscosity to (4, M)
        ``works``, and how it changes with the rest shape to ``rest``, if anybody asks.

        Viscous forces are linear in velocities, by a symmetric matrix.

        Args:
            state: (3, N) positions and velocities.
            moduli: (M,) shear and bulk viscosity.
            factors: on elastic and on viscous forces.
        """
        own = self._constants
        law, low, high = (0, -np.inf, np.inf) if own is None else (own.law, own.low, own.high)
        use_threads(len(self._tets), elasticity.TETS_PER_THREAD)
        (positions, velocities), (shear, bulk) = state, moduli
        _derivatives(
            positions.numpy(),
            velocities.numpy(),
            displacement.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._metric,
            self._moduli,
            law,
            self._metric.dtype.type(low),
            self._metric.dtype.type(high),
            factors[0],
            factors[1],
            self._forces,
            self._rates,
            works.numpy(),
            None if rest is None else rest.sums,
        )
        sum_at_vertices(self._forces, self._corners, out[0].numpy())
        sum_at_vertices(self._rates, self._corners, out[1].numpy())

    def _by_edges(self) -> NDArray[Any]:
        return np.empty((9, len(self._tets)), dtype=self._metric.dtype)


@compiled(parallel=True)
def _derivatives(
    positions: Any,
    velocities: Any,
    displacement: Any,
    shear: Any,
    bulk: Any,
    corners: Any,
    metric: Any,
    moduli: Any,
    law: int,
    low: Any,
    high: Any,
    elastic: float,
    viscous: float,
    out: Any,
    rates: Any,
    works: Any,
    rest: Any,
) -> None:
    """How the work of the forces changes with the positions and with the velocities, by edges: X
    and Z, (9, M).

    With the edges D, the displacement's W, R = DᵀḊ + ḊᵀD, Q = DᵀW + WᵀD and T(R) = (a V S R V S +
    b/2 tr(R V S) V S)/V, the forces D T(R) of ``green_strain`` do the work Q : T(R)/2 = R : T(Q)/2.
    So X = W T(R) + Ḋ T(Q) and Z = D T(Q), and DᵀX + Wᵀ D T(R) + ḊᵀZ is Q T(R) + R T(Q). Elastic
    forces, see ``elastic_derivatives``, add p V S to T(R), and what is theirs alone.
    """
    x, y, z = positions[0], positions[1], positions[2]
    a, b, c = velocities[0], velocities[1], velocities[2]
    u, v, w = displacement[0], displacement[1], displacement[2]
    for e in shared_range(corners.shape[1]):
        k0, k1, k2, k3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        d0, r0 = vector(x[k0], y[k0], z[k0]), vector(a[k0], b[k0], c[k0])
        d1, r1 = minus(vector(x[k1], y[k1], z[k1]), d0), minus(vector(a[k1], b[k1], c[k1]), r0)
        d2, r2 = minus(vector(x[k2], y[k2], z[k2]), d0), minus(vector(a[k2], b[k2], c[k2]), r0)
        d3, r3 = minus(vector(x[k3], y[k3], z[k3]), d0), minus(vector(a[k3], b[k3], c[k3]), r0)
        w0 = vector(u[k0], v[k0], w[k0])
        w1 = minus(vector(u[k1], v[k1], w[k1]), w0)
        w2 = minus(vector(u[k2], v[k2], w[k2]), w0)
        w3 = minus(vector(u[k3], v[k3], w[k3]), w0)
        s = symmetric(
            metric[0, e], metric[1, e], metric[2, e], metric[3, e], metric[4, e], metric[5, e]
        )
        inverse_volume, half = metric[6, e], 0.5 * metric[6, e]
        squares = symmetric_product(d1, d2, d3, d1, d2, d3)
        rate = symmetric_product(d1, d2, d3, r1, r2, r3)
        change = symmetric_product(d1, d2, d3, w1, w2, w3)
        turned, rate_trace = between(s, rate), contracted(s, rate)
        along, trace = between(s, change), contracted(s, change)
        c1, c2, c3 = cross(d2, d3), cross(d3, d1), cross(d1, d2)
        det, ddet = dot(d1, c1), dot(w1, c1) + dot(w2, c2) + dot(w3, c3)
        i_c, sixth, mu, lam = (
            half * contracted(squares, s),
            inverse_volume / 6.0,
            moduli[0, e],
            moduli[1, e],
        )
        p, q, dp, dq, by_mu, by_lam = slopes(
            law, i_c, half * trace, sixth * det, sixth * ddet, inverse_volume, mu, lam, low, high
        )
        p, q, dp, dq = elastic * p, elastic * q, elastic * dp, elastic * dq
        works[0, e] += elastic * by_mu
        works[1, e] += elastic * by_lam
        works[2, e] += viscous * half * contracted(rate, along)
        works[3, e] += viscous * 0.5 * half * rate_trace * trace
        shears, bulks = viscous * inverse_volume * shear[e], viscous * half * bulk[e]
        t = weighted_sum(shears, turned, p + bulks * rate_trace, s)
        g, m = weighted_sum(shears, along, bulks * trace, s), times(dp, s)
        t1, g1 = combined(t[0], w1, t[1], w2, t[2], w3), combined(g[0], r1, g[1], r2, g[2], r3)
        t2, g2 = combined(t[1], w1, t[3], w2, t[4], w3), combined(g[1], r1, g[3], r2, g[4], r3)
        t3, g3 = combined(t[2], w1, t[4], w2, t[5], w3), combined(g[2], r1, g[4], r2, g[5], r3)
        m1, o1 = combined(m[0], d1, m[1], d2, m[2], d3), cofactor_change(dq, c1, q, w2, d3, d2, w3)
        m2, o2 = combined(m[1], d1, m[3], d2, m[4], d3), cofactor_change(dq, c2, q, w3, d1, d3, w1)
        m3, o3 = combined(m[2], d1, m[4], d2, m[5], d3), cofactor_change(dq, c3, q, w1, d2, d1, w2)
        out[0, e], out[3, e], out[6, e] = plus(plus(t1, g1), plus(m1, o1))
        out[1, e], out[4, e], out[7, e] = plus(plus(t2, g2), plus(m2, o2))
        out[2, e], out[5, e], out[8, e] = plus(plus(t3, g3), plus(m3, o3))
        rates[0, e], rates[3, e], rates[6, e] = combined(g[0], d1, g[1], d2, g[2], d3)
        rates[1, e], rates[4, e], rates[7, e] = combined(g[1], d1, g[3], d2, g[4], d3)
        rates[2, e], rates[5, e], rates[8, e] = combined(g[2], d1, g[4], d2, g[5], d3)
        if rest is not None:
            k, diagonal = times(0.5 * dp, squares), dq * det + q * ddet
            rest[9, e] += 0.5 * contracted(change, t) + q * ddet
            k1 = plus(row_times(change[0], change[1], change[2], t), row_times(k[0], k[1], k[2], s))
            k1 = plus(k1, row_times(rate[0], rate[1], rate[2], g))
            k2 = plus(row_times(change[1], change[3], change[4], t), row_times(k[1], k[3], k[4], s))
            k2 = plus(k2, row_times(rate[1], rate[3], rate[4], g))
            k3 = plus(row_times(change[2], change[4], change[5], t), row_times(k[2], k[4], k[5], s))
            k3 = plus(k3, row_times(rate[2], rate[4], rate[5], g))
            rest[0, e] += k1[0] + diagonal
            rest[1, e] += k1[1]
            rest[2, e] += k1[2]
            rest[3, e] += k2[0]
            rest[4, e] += k2[1] + diagonal
            rest[5, e] += k2[2]
            rest[6, e] += k3[0]
            rest[7, e] += k3[1]
            rest[8, e] += k3[2] + diagonal
