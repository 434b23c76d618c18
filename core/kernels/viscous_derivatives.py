# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how viscous forces change with the positions and with the moduli: one loop over
tets that makes no matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from . import elasticity
from .elastic_derivatives import determinant_change, slopes
from .elasticity import sum_at_vertices
from .laws import Constants
from .matrices import (
    add3,
    cofactor_change,
    cofactors,
    determinant,
    matmul3,
    scaled,
    set_column,
    tet_edges,
)
from .rest_products import RestProducts, add_rest_product
from .symmetric_matrices import (
    between,
    contracted,
    full,
    scaled_symmetric,
    symmetric_in,
    symmetric_product,
    weighted_sum,
)

if TYPE_CHECKING:
    from ..assembly.tets import Tets


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
        number = self._metric.dtype.type
        use_threads(len(self._tets), elasticity.TETS_PER_THREAD)
        _derivatives(
            (state[0].numpy(), state[1].numpy(), displacement.numpy()),
            (moduli[0].numpy(), moduli[1].numpy()),
            self._corners,
            self._metric,
            self._moduli,
            (law, number(low), number(high)),
            factors,
            (self._forces, self._rates),
            works.numpy(),
            None if rest is None else rest.sums,
        )
        sum_at_vertices(self._forces, self._corners, out[0].numpy())
        sum_at_vertices(self._rates, self._corners, out[1].numpy())

    def _by_edges(self) -> NDArray[Any]:
        return np.empty((9, len(self._tets)), dtype=self._metric.dtype)


@compiled(parallel=True)
def _derivatives(
    state: Any,
    viscosities: Any,
    corners: Any,
    metric: Any,
    moduli: Any,
    law: Any,
    factors: Any,
    out: Any,
    works: Any,
    rest: Any,
) -> None:
    """How the work of the forces changes with the positions and with the velocities, by edges: X
    and Z, (9, M).

    With the edges D, the displacement's W, R = DᵀḊ + ḊᵀD, Q = DᵀW + WᵀD and T(R) = (a V S R V S +
    b/2 tr(R V S) V S)/V, the forces D T(R) of ``green_strain`` do the work Q : T(R)/2 = R : T(Q)/2.
    So X = W T(R) + Ḋ T(Q) and Z = D T(Q), and DᵀX + Wᵀ D T(R) + ḊᵀZ is Q T(R) + R T(Q). Elastic
    forces, see ``elastic_derivatives``, add p V S to T(R), and what is theirs alone.

    Args:
        state: positions, velocities and the displacement, (3, N) each.
        law: as of ``slopes``.
        factors: on elastic and on viscous forces.
    """
    positions, velocities, displacement = state
    (shear, bulk), (elastic, viscous), (forces, rates) = viscosities, factors, out
    for e in shared_range(corners.shape[1]):
        d, w = tet_edges(positions, corners, e), tet_edges(displacement, corners, e)
        r, s = tet_edges(velocities, corners, e), symmetric_in(metric, e)
        inverse_volume, half = metric[6, e], 0.5 * metric[6, e]
        squares, change = symmetric_product(d, d), symmetric_product(d, w)
        rate = symmetric_product(d, r)
        turned, rate_trace = between(s, rate), contracted(s, rate)
        along, trace = between(s, change), contracted(s, change)
        c = cofactors(d)
        det, ddet = determinant(d, c), determinant_change(w, c)
        i_c, half_di = half * contracted(squares, s), half * trace
        p, q, dp, dq, by_mu, by_lam = slopes(
            law, i_c, half_di, det, ddet, inverse_volume, moduli[0, e], moduli[1, e]
        )
        p, q, dp, dq = elastic * p, elastic * q, elastic * dp, elastic * dq
        works[0, e] += elastic * by_mu
        works[1, e] += elastic * by_lam
        works[2, e] += viscous * half * contracted(rate, along)
        works[3, e] += viscous * 0.5 * half * rate_trace * trace
        shears, bulks = viscous * inverse_volume * shear[e], viscous * half * bulk[e]
        t = weighted_sum(shears, turned, p + bulks * rate_trace, s)
        g = weighted_sum(shears, along, bulks * trace, s)
        x = add3(matmul3(w, full(t)), matmul3(r, full(g)))
        y = add3(scaled(dq, c), scaled(q, cofactor_change(d, w)))
        y = add3(matmul3(d, full(scaled_symmetric(dp, s))), y)
        set_column(forces, e, add3(x, y))
        set_column(rates, e, matmul3(d, full(g)))
        if rest is not None:
            k = matmul3(full(scaled_symmetric(0.5 * dp, squares)), full(s))
            k = add3(matmul3(full(change), full(t)), k)
            k = add3(k, matmul3(full(rate), full(g)))
            work = 0.5 * contracted(change, t) + q * ddet
            add_rest_product(rest, e, k, dq * det + q * ddet, work)
