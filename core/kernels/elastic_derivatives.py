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
from .vectors import cross, dot, minus, vector


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
        that work changes with the rest shape."""
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
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())
        if rest is not None:
            rest.add(positions, self._forces)
            rest.add_work(displacement, self.edge_forces(positions))


@compiled()
def combined(a: float, u: Any, b: float, v: Any, c: float, w: Any) -> Any:
    """a u + b v + c w."""
    return (
        a * u[0] + b * v[0] + c * w[0],
        a * u[1] + b * v[1] + c * w[1],
        a * u[2] + b * v[2] + c * w[2],
    )


@compiled()
def _contracted(a1: Any, b1: Any, a2: Any, b2: Any, a3: Any, b3: Any) -> float:
    return dot(a1, b1) + dot(a2, b2) + dot(a3, b3)


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
    p A + q C / 6, p = 2 Ψ_I and q = Ψ_J; this is how it changes with D along W, into (9, M).

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
        s11, s12, s13 = metric[0, e], metric[1, e], metric[2, e]
        s22, s23, s33 = metric[3, e], metric[4, e], metric[5, e]
        a1, b1 = combined(s11, d1, s12, d2, s13, d3), combined(s11, w1, s12, w2, s13, w3)
        a2, b2 = combined(s12, d1, s22, d2, s23, d3), combined(s12, w1, s22, w2, s23, w3)
        a3, b3 = combined(s13, d1, s23, d2, s33, d3), combined(s13, w1, s23, w2, s33, w3)
        c1, c2, c3 = cross(d2, d3), cross(d3, d1), cross(d1, d2)
        inverse_volume, mu, lam = metric[6, e], moduli[0, e], moduli[1, e]
        i_c = inverse_volume * _contracted(d1, a1, d2, a2, d3, a3)
        half_di = inverse_volume * _contracted(w1, a1, w2, a2, w3, a3)
        sixth = inverse_volume / 6.0
        j, dj = sixth * dot(d1, c1), sixth * _contracted(w1, c1, w2, c2, w3, c3)
        inside = min(max(j, low), high)
        p, q = first_derivatives(law, i_c, inside, mu, lam)
        p_i, p_j, q_j = second_derivatives(law, i_c, inside, mu, lam)
        p_mu, q_mu = first_derivatives(law, i_c, inside, 1.0, 0.0)
        p_lam, q_lam = first_derivatives(law, i_c, inside, 0.0, 1.0)
        works[0, e] += (p_mu * half_di + q_mu * dj) / inverse_volume
        works[1, e] += (p_lam * half_di + q_lam * dj) / inverse_volume
        dj = dj if inside == j else 0.0
        dp, dq = p_i * half_di + p_j * dj, (p_j * half_di + q_j * dj) / 6.0
        q = q / 6.0
        # Written out, since loops over tuples are not made vector instructions.
        out[0, e], out[3, e], out[6, e] = _change(dp, a1, p, b1, dq, c1, q, w2, d3, d2, w3)
        out[1, e], out[4, e], out[7, e] = _change(dp, a2, p, b2, dq, c2, q, w3, d1, d3, w1)
        out[2, e], out[5, e], out[8, e] = _change(dp, a3, p, b3, dq, c3, q, w1, d2, d1, w2)
