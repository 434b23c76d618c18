# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel that goes back through the plastic flow of tets, tet by tet.

The return map F_p⁻¹ ← F_p⁻¹ A of ``core/potentials/plastic_flow.py`` has A = e^(−s e), where e is
the deviator of ½ ln FᵀF, and what the limit takes back is (N Nᵀ)^t N. Both are functions of a
symmetric matrix with the same principal axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .deformation import deformation_gradient, diagonalize, matmul3
from .elasticity import sum_at_vertices
from .matrix_functions import from_axes, in_axes, times_transposed, transposed_times
from .plastic_flow import (
    TETS_PER_CHUNK,
    TETS_PER_THREAD,
    determinant,
    growth_at,
    is_surely_elastic,
    read,
    scaled,
    size_of,
)
from .rest_products import RestProducts

if TYPE_CHECKING:
    from ..assembly.tets import Tets

# Of the length of a step: a shorter creep time is none.
_LEAST_CREEP_RATIO = 1e-3
# Of a bar: what is less has no direction.
_LEAST_STRAIN = 1e-12
# Scratch of a tet.
_MATRICES = 12


class FlowAdjointKernel:
    """Of the tets of one elasticity.

    Args:
        tets: whose rest shapes flow.
        constants: (5, M), as ``TetFlow`` takes them.
        rest: (M, 3, 3) shape gradients of corners 1 to 3 before all flow, in 1/m.
    """

    def __init__(self, tets: Tets, constants: Tensor, rest: NDArray[Any]) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._constants, self._rest = constants.numpy(), rest
        #: How the work of a step changes with the rest shapes there.
        self.products = RestProducts(tets)
        #: The (5, M) gradient by the constants.
        self.by_constants: NDArray[Any] = np.zeros_like(self._constants)
        self._by_edges: NDArray[Any] = np.zeros_like(self.products.products)
        self._sums: NDArray[Any] = np.zeros_like(self.products.products)

    def back(
        self, positions: Tensor, seconds: float, plastic: Tensor, by_plastic: Tensor, out: Tensor
    ) -> None:
        """Takes a (10, M) gradient by what has flowed for some seconds, in place, to that by the
        (10, M) plastic strain before, which the tets have; adds that by positions to (3, N)
        ``out``."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        flowed = _flow_back(
            positions.numpy(),
            self._corners,
            self._constants,
            seconds,
            plastic.numpy(),
            self._tets.gradients_by_tet,
            by_plastic.numpy(),
            self.by_constants,
            self._by_edges,
        )
        if flowed:
            sum_at_vertices(self._by_edges, self._corners, out.numpy())
            self.products.add(positions, self._by_edges)

    def leave(self, by_plastic: Tensor) -> None:
        """Adds what the step has found by rest shapes to the (10, M) gradient by plastic
        strains."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        found = self.products.products
        _leave(found, self._sums, self._rest, self._tets.gradients_by_tet, by_plastic.numpy())

    def finish(self) -> RestProducts:
        """Of all steps, and of what the shape gradients were before all flow."""
        self.products.products[:] = self._sums
        self._sums.fill(0.0)
        return self.products


@compiled(parallel=True)
def _leave(found: Any, sums: Any, rest: Any, gradients: Any, by_plastic: Any) -> None:
    """With G = G₀ F_p⁻¹ what is by G, K G⁻ᵀ, is G₀ᵀ K G⁻ᵀ by F_p⁻¹, and K G₀⁻ᵀ by G₀."""
    count = rest.shape[0]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        own, turned = np.empty((3, 3)), np.empty((3, 3))
        cofactors = np.empty((3, 3))
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            for i in range(3):
                for j in range(3):
                    own[i, j] = found[3 * i + j, e]
            g = gradients[e]
            scale = 1.0 / _cofactors(g, cofactors)
            matmul3(own, cofactors, turned)
            for i in range(3):
                for j in range(3):
                    by_plastic[3 * i + j, e] += scale * (
                        rest[e, 0, i] * turned[0, j]
                        + rest[e, 1, i] * turned[1, j]
                        + rest[e, 2, i] * turned[2, j]
                    )
            for row in range(9):
                sums[row, e] += found[row, e]
                found[row, e] = 0.0


@compiled()
def _cofactors(a: Any, out: Any) -> float:
    """Those of a matrix, whose determinant it returns."""
    for i in range(3):
        k, m = (i + 1) % 3, (i + 2) % 3
        for j in range(3):
            n, o = (j + 1) % 3, (j + 2) % 3
            out[i, j] = a[k, n] * a[m, o] - a[k, o] * a[m, n]
    return float(a[0, 0] * out[0, 0] + a[0, 1] * out[0, 1] + a[0, 2] * out[0, 2])


@compiled(parallel=True)
def _flow_back(
    positions: Any,
    corners: Any,
    constants: Any,
    seconds: float,
    plastic: Any,
    gradients: Any,
    by_plastic: Any,
    by_constants: Any,
    out: Any,
) -> int:
    """Into (9, M) ``out`` the gradient by the edges of tets; counts those that flow."""
    count, found = corners.shape[1], 0
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, c = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        v, factors, by_c = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
        # Made once: a tet takes less time than arrays do.
        scratch = np.empty((_MATRICES, 3, 3))
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            for row in range(9):
                out[row, e] = 0.0
            yield_stress = constants[1, e] + constants[2, e] * plastic[9, e]
            if yield_stress == math.inf:
                continue
            deformation_gradient(positions, corners, gradients, e, edges, f)
            transposed_times(f, f, c)
            if is_surely_elastic(c, yield_stress / constants[0, e]) or determinant(f) <= 0.0:
                continue
            diagonalize(c, v)
            growth = growth_at(c, constants, e, yield_stress, seconds, factors)
            if growth > 0.0:
                _tet_back(
                    growth, seconds, c, v, factors, constants, plastic, by_plastic, by_constants,
                    by_c, scratch, e,
                )  # fmt: skip
                # C = FᵀF, and the edges D are in F = D G.
                matmul3(f, by_c, edges)
                g = gradients[e]
                for i in range(3):
                    for k in range(3):
                        total = edges[i, 0] * g[k, 0] + edges[i, 1] * g[k, 1]
                        out[3 * i + k, e] = 2.0 * (total + edges[i, 2] * g[k, 2])
                found += 1
    return found


@compiled()
def _tet_back(
    growth: float,
    seconds: float,
    c: Any,
    v: Any,
    factors: Any,
    constants: Any,
    plastic: Any,
    by_plastic: Any,
    by_constants: Any,
    by_c: Any,
    scratch: Any,
    e: int,
) -> None:
    """Takes ``by_plastic`` of a tet that flows back; the gradient by C into ``by_c``."""
    old, by_new, by_old = scratch[0], scratch[1], scratch[2]
    stretch, first, second = scratch[3], scratch[4], scratch[5]
    by_values, strains = scratch[6, 0], scratch[6, 1]
    read(plastic, e, old)
    read(by_plastic, e, by_new)
    by_old[:] = 0.0
    scaled(v, factors, stretch)
    by_growth, limit = by_plastic[9, e], constants[4, e]
    if plastic[9, e] + growth > limit:
        matmul3(old, stretch, first)
        growths = growth, by_growth
        by_growth, by_limit = _limit_back(first, old, limit, growths, by_new, by_old, scratch)
        by_constants[4, e] += by_limit
    matmul3(by_new, stretch, first)
    for i in range(3):
        for j in range(3):
            by_plastic[3 * i + j, e] = by_old[i, j] + first[i, j]
    transposed_times(old, by_new, first)
    in_axes(first, v, stretch, second)
    half = _values_back(
        growth, by_growth, seconds, c, factors, second, constants, by_constants, plastic,
        by_plastic, e, by_values, strains,
    )  # fmt: skip
    from_axes(second, c, factors, -half, by_values, v, stretch, by_c)


@compiled()
def _values_back(
    growth: float,
    by_growth: float,
    seconds: float,
    c: Any,
    factors: Any,
    by_stretch: Any,
    constants: Any,
    by_constants: Any,
    plastic: Any,
    by_plastic: Any,
    e: int,
    by_values: Any,
    strains: Any,
) -> float:
    """The gradients by the constants, by α, and by the eigenvalues of C into ``by_values``; s/2."""
    mu, hardening, creep = constants[0, e], constants[2, e], constants[3, e]
    for i in range(3):
        strains[i] = 0.5 * math.log(c[i, i])
    mean = (strains[0] + strains[1] + strains[2]) / 3.0
    for i in range(3):
        strains[i] -= mean
    size = math.sqrt(strains[0] ** 2 + strains[1] ** 2 + strains[2] ** 2)
    s = math.sqrt(1.5) * growth / size
    by_s, trace = 0.0, 0.0
    for i in range(3):
        weighted = by_stretch[i, i] * factors[i]
        by_s -= weighted * strains[i]
        by_values[i] = -s * weighted
    by_growth += by_s * math.sqrt(1.5) / size
    stiffness = 3.0 * mu + hardening
    relaxed, by_time = 1.0, 0.0
    if creep > 0.0:
        relaxed = -math.expm1(-seconds / creep)
        if creep > _LEAST_CREEP_RATIO * seconds:
            by_time = -(1.0 - relaxed) * seconds / creep**2
    flexibility = relaxed / stiffness
    excess, by_stress = growth / flexibility, flexibility * by_growth
    by_stiffness = -by_growth * growth / stiffness
    by_constants[0, e] += math.sqrt(6.0) * size * by_stress + 3.0 * by_stiffness
    by_constants[1, e] -= by_stress
    by_constants[2, e] += by_stiffness - plastic[9, e] * by_stress
    by_constants[3, e] += by_growth * excess / stiffness * by_time
    by_plastic[9, e] -= hardening * by_stress
    by_size = math.sqrt(6.0) * mu * by_stress - by_s * s / size
    for i in range(3):
        by_values[i] += by_size * strains[i] / size
        trace += by_values[i]
    for i in range(3):
        by_values[i] = 0.5 * (by_values[i] - trace / 3.0) / c[i, i]
    return float(0.5 * s)


@compiled()
def _limit_back(
    new: Any,
    old: Any,
    limit: float,
    growths: Any,
    by_new: Any,
    by_old: Any,
    scratch: Any,
) -> Any:
    """Takes ``by_new`` back through the limit, with what ``by_old`` has of it, by the growth and
    its gradient; the gradients by the growth before it, and by the limit."""
    growth, by_growth = growths
    by_values, powers = scratch[6, 0], scratch[6, 1]
    c, v, first, second, kept = scratch[5], scratch[7], scratch[8], scratch[9], scratch[10]
    size = size_of(new, c, v)
    if size <= limit:
        return by_growth, 0.0
    power = 0.5 * (limit / size - 1.0)
    times_transposed(by_new, new, first)
    in_axes(first, v, kept, second)
    by_power = 0.0
    for i in range(3):
        powers[i] = c[i, i] ** power
        by_power += second[i, i] * powers[i] * math.log(c[i, i])
    by_limit, by_size = 0.5 * by_power / size, -0.5 * by_power * limit / size**2
    for i in range(3):
        own = second[i, i] * power * powers[i] + by_size * math.log(c[i, i]) / (6.0 * size)
        by_values[i] = own / c[i, i]
    scaled(v, powers, first)
    matmul3(first, by_new, kept)
    from_axes(second, c, powers, power, by_values, v, scratch[11], first)
    matmul3(first, new, second)
    for i in range(3):
        for j in range(3):
            by_new[i, j] = kept[i, j] + 2.0 * second[i, j]
    size = size_of(old, c, v)
    if growth <= limit - size:
        return by_growth, by_limit
    if size < limit:
        by_limit += by_growth
        for i in range(3):
            by_values[i] = 0.0
            if size > _LEAST_STRAIN:
                by_values[i] = -by_growth * math.log(c[i, i]) / (6.0 * size * c[i, i])
        scaled(v, by_values, first)
        matmul3(first, old, second)
        for i in range(3):
            for j in range(3):
                by_old[i, j] += 2.0 * second[i, j]
    return 0.0, by_limit
