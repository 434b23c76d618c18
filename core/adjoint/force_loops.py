# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of elastic and viscous forces by positions, velocities, moduli and rest shapes.

That work is V w(D G, W G, …) of a tet, D, W, … the edges of positions and of other vectors at its
vertices, and G its shape gradients. With X, Y, … its derivatives by these edges, V ∂w/∂(D G) is X
G⁻ᵀ, so that the derivative by G is (DᵀX + WᵀY + …) G⁻ᵀ, for every material. The terms in brackets
are independent of G and are summed over steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from ..kernels.elasticity import (
    TETS_PER_THREAD,
    Constants,
    first_derivatives,
    second_derivatives,
)
from ..math3.matrices import (
    add3,
    between,
    cofactor_change,
    cofactors,
    contracted,
    determinant,
    full,
    matmul3,
    scaled,
    scaled_symmetric,
    set_column,
    symmetric_in,
    symmetric_product,
    tet_edges,
    weighted_sum,
)
from ..math3.torch_matrices import cofactors3
from ..math3.torch_matrices import matmul3 as torch_matmul3

if TYPE_CHECKING:
    from ..assembly.tets import Tets


class RestProducts:
    """The products with the rest shape of the work along vector fields, summed over all of them.

    Args:
        tets: that the forces are of.
    """

    def __init__(self, tets: Tets) -> None:
        self._volumes = tets.volumes
        #: (10, M) DᵀX + WᵀY + … row by row, and the work; loops over tets add to them.
        self.sums: NDArray[Any] = np.zeros((10, len(tets)), dtype=self._volumes.numpy().dtype)

    def grad_shape_gradients(self, gradients: Tensor) -> Tensor:
        """The (3, 3, M) derivative by shape gradients that are these."""
        gradients = gradients.detach()
        cofactors = cofactors3(gradients)
        products = torch.as_tensor(self.sums[:9]).view(3, 3, -1)
        return torch_matmul3(products, cofactors) / (gradients[0] * cofactors[0]).sum(0)

    def grad_volumes(self) -> Tensor:
        """The (M,) derivative by the volumes at rest, in which the work is linear."""
        return torch.as_tensor(self.sums[9]) / self._volumes

    def clear(self) -> None:
        """Set all sums to zero."""
        self.sums.fill(0.0)


@compiled(inline=True)
def add_rest_product(sums: Any, e: int, k: Any, diagonal: float, work: float) -> None:
    """Add K + ``diagonal`` I and the work to the sums of a tet."""
    sums[0, e] += k[0] + diagonal
    sums[1, e] += k[1]
    sums[2, e] += k[2]
    sums[3, e] += k[3]
    sums[4, e] += k[4] + diagonal
    sums[5, e] += k[5]
    sums[6, e] += k[6]
    sums[7, e] += k[7]
    sums[8, e] += k[8] + diagonal
    sums[9, e] += work


class DerivativesKernel:
    """The derivatives of the tets of an elasticity, of a viscosity, or of both, which share much of
    the computation.

    Args:
        tets: the tets of them.
        elastic: constants of an elasticity that is written in I_C and J; None is none.
        viscous: (M,) shear and bulk viscosity; None is none.
    """

    def __init__(
        self, tets: Tets, elastic: Constants | None, viscous: tuple[Tensor, Tensor] | None = None
    ) -> None:
        self._tets, self._corners, self._metric = tets, tets.corners.numpy(), tets.metric_by_tet
        shape, kind = (9, len(tets)), self._metric.dtype
        self._moduli = np.zeros((2, len(tets)), kind) if elastic is None else elastic.moduli
        self._law = (
            (0, kind.type(-np.inf), kind.type(np.inf))
            if elastic is None
            else (elastic.law, elastic.low, elastic.high)
        )
        shear, bulk = (None, None) if viscous is None else (part.numpy() for part in viscous)
        self._viscosities = shear, bulk
        self._forces: NDArray[Any] = np.empty(shape, kind)
        self._rates = None if viscous is None else np.empty(shape, kind)

    def along(self, positions: Tensor, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """The second derivative of the elastic energy times a (3, N) displacement, (3, N) in
        newtons, and the (2, M) derivatives by μ and by λ of the work that the gradient does along
        it, in m³."""
        out, works = torch.zeros_like(positions), positions.new_zeros((2, self._corners.shape[1]))
        self.add_along((positions, positions), displacement, (1.0, 0.0), (out, out), works)
        return out, works

    def add_along(
        self,
        state: tuple[Tensor, Tensor],
        displacement: Tensor,
        factors: tuple[float, float],
        out: tuple[Tensor, Tensor],
        works: Tensor,
        rest: RestProducts | None = None,
    ) -> None:
        """Add the derivatives of the work of the forces along a (3, N) displacement: (3, N) by
        positions and by velocities to ``out``, those by μ and λ, and by shear and bulk viscosity
        where there are any, to the rows of ``works``, and those by the rest shape to ``rest``,
        unless it is None.

        Viscous forces are linear in velocities, by a symmetric matrix.

        Args:
            state: (3, N) positions and velocities.
            factors: on elastic and on viscous forces.
        """
        use_threads(len(self._tets), TETS_PER_THREAD)
        _derivatives(
            state[0].numpy(),
            state[1].numpy(),
            displacement.numpy(),
            *self._viscosities,
            self._corners,
            self._metric,
            self._moduli,
            self._law,
            factors,
            self._forces,
            self._rates,
            works.numpy(),
            None if rest is None else rest.sums,
        )
        self._tets.vertex_sums.add(self._forces, out[0].numpy())
        if self._rates is not None:
            self._tets.vertex_sums.add(self._rates, out[1].numpy())


@compiled()
def stress_derivatives(
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
    grad_mu = (p_mu * half_di + q_mu * dj) / inverse_volume
    grad_lam = (p_lam * half_di + q_lam * dj) / inverse_volume
    dj = dj if inside == j else 0.0
    dp, dq = p_i * half_di + p_j * dj, (p_j * half_di + q_j * dj) / 6.0
    return p, q / 6.0, dp, dq, grad_mu, grad_lam


@compiled()
def determinant_change(w: Any, c: Any) -> float:
    """cof D : W."""
    first = w[0] * c[0] + w[3] * c[3] + w[6] * c[6]
    second = w[1] * c[1] + w[4] * c[4] + w[7] * c[7]
    return first + second + (w[2] * c[2] + w[5] * c[5] + w[8] * c[8])


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
    law: Any,
    factors: Any,
    forces: Any,
    rates: Any,
    works: Any,
    rest: Any,
) -> None:
    """Compute the derivatives of the work of the forces by positions and by velocities, as sums
    over edges: X and Z, (9, M).

    With the edges D, the displacement's W and C = cof D the gradient of the elastic energy by the
    edges is p D V S + q C, p = 2 Ψ_I and q = Ψ_J / 6. With R = DᵀḊ + ḊᵀD, Q = DᵀW + WᵀD and T(R) =
    (a V S R V S + b/2 tr(R V S) V S)/V, the forces D T(R) of ``green_strain`` do the work
    Q : T(R)/2 = R : T(Q)/2. Thus X = W (p V S + T(R)) + Ḋ T(Q) + p' D V S + q' C + q C' and
    Z = D T(Q), and DᵀX + WᵀY + ḊᵀZ is (p' DᵀD + p Q) V S + (q' det D + q C : W) I + Q T(R) +
    R T(Q).

    Where ``shear`` or ``rest`` is None the loop is compiled without it. Numbers alone are handed
    on, and none is set anew in a branch: either keeps loops from becoming vector instructions.

    Args:
        law: as of ``stress_derivatives``.
        factors: on elastic and on viscous forces.
    """
    elastic, viscous = factors
    for e in shared_range(corners.shape[1]):
        d, w = tet_edges(positions, corners, e), tet_edges(displacement, corners, e)
        s, inverse_volume, half = symmetric_in(metric, e), metric[6, e], 0.5 * metric[6, e]
        squares, change = symmetric_product(d, d), symmetric_product(d, w)
        c = cofactors(d)
        det, ddet = determinant(d, c), determinant_change(w, c)
        trace = contracted(change, s)
        i_c, half_di = half * contracted(squares, s), half * trace
        p, q, dp, dq, grad_mu, grad_lam = stress_derivatives(
            law, i_c, half_di, det, ddet, inverse_volume, moduli[0, e], moduli[1, e]
        )
        p, q, dp, dq = elastic * p, elastic * q, elastic * dp, elastic * dq
        y = add3(scaled(dq, c), scaled(q, cofactor_change(d, w)))
        y = add3(matmul3(d, full(scaled_symmetric(dp, s))), y)
        works[0, e] += elastic * grad_mu
        works[1, e] += elastic * grad_lam
        if shear is None:
            set_column(forces, e, add3(matmul3(w, full(scaled_symmetric(p, s))), y))
            if rest is not None:
                k = matmul3(full(weighted_sum(0.5 * dp, squares, p, change)), full(s))
                work = 0.5 * p * trace + q * ddet
                add_rest_product(rest, e, k, dq * det + q * ddet, work)
        else:
            r = tet_edges(velocities, corners, e)
            rate = symmetric_product(d, r)
            turned, rate_trace = between(s, rate), contracted(s, rate)
            along = between(s, change)
            shears, bulks = viscous * inverse_volume * shear[e], viscous * half * bulk[e]
            t = weighted_sum(shears, turned, p + bulks * rate_trace, s)
            g = full(weighted_sum(shears, along, bulks * trace, s))
            works[2, e] += viscous * half * contracted(rate, along)
            works[3, e] += viscous * 0.5 * half * rate_trace * trace
            set_column(forces, e, add3(add3(matmul3(w, full(t)), matmul3(r, g)), y))
            set_column(rates, e, matmul3(d, g))
            if rest is not None:
                k = matmul3(full(scaled_symmetric(0.5 * dp, squares)), full(s))
                k = add3(matmul3(full(rate), g), add3(matmul3(full(change), full(t)), k))
                work = 0.5 * contracted(change, t) + q * ddet
                add_rest_product(rest, e, k, dq * det + q * ddet, work)
