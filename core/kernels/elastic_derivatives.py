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
    contracted,
    full,
    scaled_symmetric,
    symmetric_in,
    symmetric_product,
    weighted_sum,
)


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
            (own.law, own.low, own.high),
            self._forces,
            works.numpy(),
            None if rest is None else rest.sums,
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())


@compiled()
def slopes(
    law: Any,
    i_c: float,
    half_di: float,
    det: float,
    ddet: float,
    inverse_volume: float,
    mu: float,
    lam: float,
) -> Any:
    """p = 2 Ψ_I and q = Ψ_J / 6, how both change, and the derivatives by μ and λ of the work.

    Args:
        law: its number, and between which J it is valid.
        half_di: half of the change of I_C.
        det, ddet: det D and its change, six times the volume's.
    """
    number, low, high = law
    j, dj = inverse_volume / 6.0 * det, inverse_volume / 6.0 * ddet
    inside = min(max(j, low), high)
    p, q = first_derivatives(number, i_c, inside, mu, lam)
    p_i, p_j, q_j = second_derivatives(number, i_c, inside, mu, lam)
    p_mu, q_mu = first_derivatives(number, i_c, inside, 1.0, 0.0)
    p_lam, q_lam = first_derivatives(number, i_c, inside, 0.0, 1.0)
    by_mu = (p_mu * half_di + q_mu * dj) / inverse_volume
    by_lam = (p_lam * half_di + q_lam * dj) / inverse_volume
    dj = dj if inside == j else 0.0
    dp, dq = p_i * half_di + p_j * dj, (p_j * half_di + q_j * dj) / 6.0
    return p, q / 6.0, dp, dq, by_mu, by_lam


@compiled()
def determinant_change(w: Any, c: Any) -> float:
    """cof D : W."""
    first = w[0] * c[0] + w[3] * c[3] + w[6] * c[6]
    second = w[1] * c[1] + w[4] * c[4] + w[7] * c[7]
    return first + second + (w[2] * c[2] + w[5] * c[5] + w[8] * c[8])


@compiled(parallel=True)
def _derivatives(
    positions: Any,
    displacement: Any,
    corners: Any,
    metric: Any,
    moduli: Any,
    law: Any,
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
    for e in shared_range(corners.shape[1]):
        d, w = tet_edges(positions, corners, e), tet_edges(displacement, corners, e)
        s, half = symmetric_in(metric, e), 0.5 * metric[6, e]
        squares, change = symmetric_product(d, d), symmetric_product(d, w)
        c = cofactors(d)
        det, ddet = determinant(d, c), determinant_change(w, c)
        i_c, half_di = half * contracted(squares, s), half * contracted(change, s)
        p, q, dp, dq, by_mu, by_lam = slopes(
            law, i_c, half_di, det, ddet, metric[6, e], moduli[0, e], moduli[1, e]
        )
        works[0, e] += by_mu
        works[1, e] += by_lam
        x = matmul3(d, full(scaled_symmetric(dp, s)))
        x = add3(x, matmul3(w, full(scaled_symmetric(p, s))))
        set_column(out, e, add3(x, add3(scaled(dq, c), scaled(q, cofactor_change(d, w)))))
        if rest is not None:
            k = matmul3(full(weighted_sum(0.5 * dp, squares, p, change)), full(s))
            work = p * half_di / metric[6, e] + q * ddet
            add_rest_product(rest, e, k, dq * det + q * ddet, work)
