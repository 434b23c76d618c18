# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how viscous forces change with the positions and with the moduli: one loop over
tets that makes no matrix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from . import elasticity
from .elastic_derivatives import combined
from .elasticity import sum_at_vertices
from .green_strain import GreenStrainKernel
from .rest_products import RestProducts
from .vectors import dot, minus, vector


class ViscousDerivativesKernel(GreenStrainKernel):
    """Of the tets of one viscosity."""

    def along(
        self,
        positions: Tensor,
        velocities: Tensor,
        displacement: Tensor,
        shear: Tensor,
        bulk: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of the work that the forces do along a (3, N) displacement the (3, N) derivatives by
        positions and by velocities, and the (2, M) ones by both moduli.

        Forces are linear in velocities, by a symmetric matrix.
        """
        out, rates = torch.zeros_like(positions), torch.zeros_like(positions)
        works = positions.new_zeros((2, len(self._tets)))
        self.add_along((positions, velocities), displacement, (shear, bulk), (out, rates), works)
        return out, rates, works

    def add_along(
        self,
        state: tuple[Tensor, Tensor],
        displacement: Tensor,
        moduli: tuple[Tensor, Tensor],
        out: tuple[Tensor, Tensor],
        works: Tensor,
        rest: RestProducts | None = None,
    ) -> None:
        """Adds what ``along`` gives to the (3, N) of ``out``, and to (2, M) ``works``, and to
        ``rest`` how that work changes with the rest shape."""
        (positions, velocities), (shear, bulk) = state, moduli
        use_threads(len(self._tets), elasticity.TETS_PER_THREAD)
        _derivatives(
            positions.numpy(),
            velocities.numpy(),
            displacement.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._rows,
            self._forces,
            works.numpy(),
        )
        sum_at_vertices(self._forces, self._corners, out[0].numpy())
        if rest is not None:
            rest.add(positions, self._forces)
        rates = self.edge_forces(positions, displacement, shear, bulk)
        sum_at_vertices(rates, self._corners, out[1].numpy())
        if rest is not None:
            rest.add(velocities, rates)
            rest.add_work(displacement, self.edge_forces(positions, velocities, shear, bulk))


@compiled()
def _symmetric(d1: Any, d2: Any, d3: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """DᵀW + WᵀD of the edges: 11, 12, 13, 22, 23, 33."""
    return (
        2.0 * dot(d1, w1),
        dot(d1, w2) + dot(d2, w1),
        dot(d1, w3) + dot(d3, w1),
        2.0 * dot(d2, w2),
        dot(d2, w3) + dot(d3, w2),
        2.0 * dot(d3, w3),
    )


@compiled()
def _row(r: Any, s1: Any, s2: Any, s3: Any) -> Any:
    """A row of three numbers times the rows of a symmetric matrix."""
    return vector(dot(r, s1), dot(r, s2), dot(r, s3))


@compiled()
def _rows(
    r11: Any, r12: Any, r13: Any, r22: Any, r23: Any, r33: Any, s1: Any, s2: Any, s3: Any
) -> Any:
    """The rows of the product of two symmetric matrices, of the second by its rows."""
    return (
        _row(vector(r11, r12, r13), s1, s2, s3),
        _row(vector(r12, r22, r23), s1, s2, s3),
        _row(vector(r13, r23, r33), s1, s2, s3),
    )


@compiled(parallel=True)
def _derivatives(
    positions: Any,
    velocities: Any,
    displacement: Any,
    shear: Any,
    bulk: Any,
    corners: Any,
    constants: Any,
    out: Any,
    works: Any,
) -> None:
    """How forces change with the positions, into (9, M).

    With the edges D, the displacement's W, R = DᵀḊ + ḊᵀD, Q = DᵀW + WᵀD and T(R) = (a S R S +
    b/2 tr(R S) S)/V, the forces D T(R) of ``green_strain`` do the work Q : T(R)/2, which changes
    with D by W T(R) + Ḋ T(Q). Rows are those of f = R S, g = Q S, m = W S, n = Ḋ S.
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
        s12, s13, s23 = constants[1, e], constants[2, e], constants[4, e]
        s1, s2 = vector(constants[0, e], s12, s13), vector(s12, constants[3, e], s23)
        s3 = vector(s13, s23, constants[5, e])
        r11, r12, r13, r22, r23, r33 = _symmetric(d1, d2, d3, r1, r2, r3)
        q11, q12, q13, q22, q23, q33 = _symmetric(d1, d2, d3, w1, w2, w3)
        f1, f2, f3 = _rows(r11, r12, r13, r22, r23, r33, s1, s2, s3)
        g1, g2, g3 = _rows(q11, q12, q13, q22, q23, q33, s1, s2, s3)
        half = 0.5 * constants[6, e]
        r_trace, q_trace = f1[0] + f2[1] + f3[2], g1[0] + g2[1] + g3[2]
        turned = dot(vector(f1[0], f2[0], f3[0]), g1) + dot(vector(f1[1], f2[1], f3[1]), g2)
        turned += dot(vector(f1[2], f2[2], f3[2]), g3)
        works[0, e] += half * turned
        works[1, e] += 0.5 * half * r_trace * q_trace
        shears, bulks = 2.0 * half * shear[e], half * bulk[e]
        m1 = combined(s1[0], w1, s1[1], w2, s1[2], w3)
        n1 = combined(s1[0], r1, s1[1], r2, s1[2], r3)
        m2 = combined(s2[0], w1, s2[1], w2, s2[2], w3)
        n2 = combined(s2[0], r1, s2[1], r2, s2[2], r3)
        m3 = combined(s3[0], w1, s3[1], w2, s3[2], w3)
        n3 = combined(s3[0], r1, s3[1], r2, s3[2], r3)
        i, j = bulks * r_trace, bulks * q_trace
        o1 = combined(f1[0], m1, f2[0], m2, f3[0], m3)
        p1 = combined(g1[0], n1, g2[0], n2, g3[0], n3)
        o2 = combined(f1[1], m1, f2[1], m2, f3[1], m3)
        p2 = combined(g1[1], n1, g2[1], n2, g3[1], n3)
        o3 = combined(f1[2], m1, f2[2], m2, f3[2], m3)
        p3 = combined(g1[2], n1, g2[2], n2, g3[2], n3)
        out[0, e], out[3, e], out[6, e] = _sum(shears, o1, p1, i, m1, j, n1)
        out[1, e], out[4, e], out[7, e] = _sum(shears, o2, p2, i, m2, j, n2)
        out[2, e], out[5, e], out[8, e] = _sum(shears, o3, p3, i, m3, j, n3)


@compiled()
def _sum(a: float, o: Any, p: Any, i: float, m: Any, j: float, n: Any) -> Any:
    """a (o + p) + i m + j n."""
    return (
        a * (o[0] + p[0]) + i * m[0] + j * n[0],
        a * (o[1] + p[1]) + i * m[1] + j * n[1],
        a * (o[2] + p[2]) + i * m[2] + j * n[2],
    )
