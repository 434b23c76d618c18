# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how elastic forces change along a displacement of the vertices, and with the
moduli: one loop over tets that makes no matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .elasticity import TETS_PER_THREAD, ElasticityKernel, sum_at_vertices
from .laws import first_derivatives, second_derivatives
from .vectors import cross, dot, tet_edges

if TYPE_CHECKING:
    pass


class ElasticDerivativesKernel(ElasticityKernel):
    """Of the tets of one material that is written in I_C and J.

    Args:
        constants: of the tets.
    """

    def along(self, positions: Tensor, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """The second derivative of the energy times a (3, N) displacement, (3, N) in newtons, and
        the (2, M) derivatives by μ and by λ of the work that the gradient does along it, in m³."""
        own, out = self._constants, torch.zeros_like(positions)
        works = torch.empty((2, self._corners.shape[1]), dtype=positions.dtype)
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
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())
        return out, works


@compiled()
def _combined(a: float, u: Any, b: float, v: Any, c: float, w: Any) -> Any:
    """a u + b v + c w."""
    return (
        a * u[0] + b * v[0] + c * w[0],
        a * u[1] + b * v[1] + c * w[1],
        a * u[2] + b * v[2] + c * w[2],
    )


@compiled()
def _times_metric(metric: Any, e: int, d: Any) -> Any:
    """Edges times V S."""
    s11, s12, s13 = metric[0, e], metric[1, e], metric[2, e]
    s22, s23, s33 = metric[3, e], metric[4, e], metric[5, e]
    return (
        _combined(s11, d[0], s12, d[1], s13, d[2]),
        _combined(s12, d[0], s22, d[1], s23, d[2]),
        _combined(s13, d[0], s23, d[1], s33, d[2]),
    )


@compiled()
def _contracted(a: Any, b: Any) -> float:
    return dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2])


@compiled()
def _change(
    dp: float,
    a: Any,
    p: float,
    b: Any,
    dq: float,
    c: Any,
    q: float,
    w1: Any,
    d2: Any,
    d1: Any,
    w2: Any,
) -> Any:
    """dp a + p b + dq c + q (w1 × d2 + d1 × w2)."""
    u, v = cross(w1, d2), cross(d1, w2)
    return (
        dp * a[0] + p * b[0] + dq * c[0] + q * (u[0] + v[0]),
        dp * a[1] + p * b[1] + dq * c[1] + q * (u[1] + v[1]),
        dp * a[2] + p * b[2] + dq * c[2] + q * (u[2] + v[2]),
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
) -> None:
    """With the edges D, the displacement's W, A = V D S and C = cof D the gradient by the edges is
    p A + q C / 6, p = 2 Ψ_I and q = Ψ_J; this is how it changes with D along W, into (9, M)."""
    for e in shared_range(corners.shape[1]):
        d, w = tet_edges(positions, corners, e), tet_edges(displacement, corners, e)
        a, b = _times_metric(metric, e, d), _times_metric(metric, e, w)
        c = (cross(d[1], d[2]), cross(d[2], d[0]), cross(d[0], d[1]))
        inverse_volume, mu, lam = metric[6, e], moduli[0, e], moduli[1, e]
        i_c = inverse_volume * _contracted(d, a)
        half_di = inverse_volume * _contracted(w, a)
        sixth = inverse_volume / 6.0
        j, dj = sixth * dot(d[0], c[0]), sixth * _contracted(w, c)
        inside = min(max(j, low), high)
        p, q = first_derivatives(law, i_c, inside, mu, lam)
        p_i, p_j, q_j = second_derivatives(law, i_c, inside, mu, lam)
        of_mu = first_derivatives(law, i_c, inside, 1.0, 0.0)
        of_lam = first_derivatives(law, i_c, inside, 0.0, 1.0)
        works[0, e] = (of_mu[0] * half_di + of_mu[1] * dj) / inverse_volume
        works[1, e] = (of_lam[0] * half_di + of_lam[1] * dj) / inverse_volume
        dj = dj if inside == j else 0.0
        dp, dq = p_i * half_di + p_j * dj, (p_j * half_di + q_j * dj) / 6.0
        q = q / 6.0
        # Written out, since loops over tuples are not made vector instructions.
        out[0, e], out[3, e], out[6, e] = _change(
            dp, a[0], p, b[0], dq, c[0], q, w[1], d[2], d[1], w[2]
        )
        out[1, e], out[4, e], out[7, e] = _change(
            dp, a[1], p, b[1], dq, c[1], q, w[2], d[0], d[2], w[0]
        )
        out[2, e], out[5, e], out[8, e] = _change(
            dp, a[2], p, b[2], dq, c[2], q, w[0], d[1], d[0], w[1]
        )
