# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of plastic flow, backwards.

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
from ..kernels.deformation import deformation_gradient, diagonalize_again
from ..kernels.elasticity import sum_at_vertices
from ..kernels.plastic_flow import (
    TETS_PER_CHUNK,
    TETS_PER_THREAD,
    growth_at,
    may_flow,
    read,
    size_of,
    write_rest,
)
from ..math3.matrices import (
    add3,
    add_to_column,
    cofactors,
    column,
    from_axes,
    function_of,
    in_axes,
    matmul3,
    matrix_in,
    matrix_of,
    scaled,
    set_column,
    transposed,
)
from .force_loops import RestProducts

if TYPE_CHECKING:
    from ..assembly.tets import Tets


# Of the length of a step: a shorter creep time is none.
_LEAST_CREEP_RATIO = 1e-3
# Of a bar: what is less has no direction.
_LEAST_STRAIN = 1e-12
_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class FlowAdjointKernel:
    """Of the tets of one elasticity.

    What a step finds by the rest shape of a tet waits, added up, until the tet has another one.

    Args:
        tets: whose rest shapes flow; what compiled loops read of those is written to.
        constants: (5, M), as ``TetFlow`` takes them.
        rest: (M, 3, 3) shape gradients of corners 1 to 3 before all flow, in 1/m.
    """

    def __init__(self, tets: Tets, constants: Tensor, rest: NDArray[Any]) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._constants, self._rest = constants.numpy(), rest
        #: How the work of steps changes with the rest shapes there.
        self.products = RestProducts(tets)
        #: The (5, M) gradient by the constants.
        self.by_constants: NDArray[Any] = np.zeros_like(self._constants)
        #: (2, 9, M) of steps that wait, and of all others.
        self._found = self.products.sums[:9], np.zeros_like(self.products.sums[:9])
        self._by_edges: NDArray[Any] = np.zeros_like(self._found[0])
        # The principal axes of the step after, from which those of a step are soon found.
        self._axes = np.broadcast_to(np.eye(3), rest.shape).astype(rest.dtype)

    def back(
        self,
        positions: Tensor,
        seconds: float,
        before: Tensor,
        plastic: Tensor,
        by_plastic: Tensor,
        out: Tensor,
    ) -> None:
        """Takes a (10, M) gradient by the ``plastic`` strain that the tets have, after they flowed
        for some seconds, in place to that by the strain before, which they then have instead; adds
        the gradient by positions to (3, N) ``out``."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        tets = self._tets
        changed, flowed = _flow_back(
            positions.numpy(),
            self._corners,
            self._constants,
            seconds,
            (before.numpy(), plastic.numpy(), by_plastic.numpy()),
            (self._rest, tets.gradients_by_tet, tets.metric_by_tet),
            self._found,
            self._axes,
            self.by_constants,
            self._by_edges,
        )
        if changed:
            tets.forget_passes(is_written=True)
        if flowed:
            sum_at_vertices(self._by_edges, self._corners, out.numpy())

    def settle(self, by_plastic: Tensor) -> None:
        """Adds what waits to the (10, M) gradient by plastic strains."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        _settle(*self._found, self._rest, self._tets.gradients_by_tet, by_plastic.numpy())

    def finish(self) -> RestProducts:
        """Of all steps, and of what the shape gradients were before all flow."""
        waiting, others = self._found
        waiting += others
        others.fill(0.0)
        return self.products


@compiled(parallel=True)
def _settle(waiting: Any, others: Any, rest: Any, gradients: Any, by_plastic: Any) -> None:
    for e in shared_range(rest.shape[0]):
        _leave(waiting, others, rest, gradients, by_plastic, e)


@compiled()
def _leave(waiting: Any, others: Any, rest: Any, gradients: Any, by_plastic: Any, e: int) -> None:
    """With G = G₀ F_p⁻¹ what is by G, K G⁻ᵀ, is G₀ᵀ K G⁻ᵀ by F_p⁻¹, and K G₀⁻ᵀ by G₀."""
    own, g = column(waiting, e), matrix_in(gradients, e)
    add_to_column(others, e, 1.0, own)
    add_to_column(waiting, e, -1.0, own)
    turned = cofactors(g)
    scale = 1.0 / (g[0] * turned[0] + g[1] * turned[1] + g[2] * turned[2])
    by_inverse = matmul3(transposed(matrix_in(rest, e)), matmul3(own, turned))
    add_to_column(by_plastic, e, scale, by_inverse)


@compiled(parallel=True, allocates=True)
def _flow_back(
    positions: Any,
    corners: Any,
    constants: Any,
    seconds: float,
    strains: Any,
    shapes: Any,
    found: Any,
    axes: Any,
    by_constants: Any,
    out: Any,
) -> Any:
    """Into (9, M) ``out`` the gradient by the edges of tets; counts those whose strain the step has
    changed, and those that flow.

    Args:
        strains: before the step and after it, and the gradient by them.
        shapes: shape gradients before all flow and now, and the metric.
    """
    before, plastic, by_plastic = strains
    rest, gradients, metric = shapes
    waiting, others = found
    count, changed, flowed = corners.shape[1], 0, 0
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, c = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        values, factors, by_values = np.empty(3), np.empty(3), np.empty(3)
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            for row in range(9):
                out[row, e] = 0.0
            is_changed = _is_changed(before, plastic, e)
            if is_changed:
                _leave(waiting, others, rest, gradients, by_plastic, e)
                _take(before, plastic, e, f)
                write_rest(f, rest, e, gradients, metric)
                changed += 1
            yield_stress = constants[1, e] + constants[2, e] * plastic[9, e]
            if yield_stress == math.inf:
                continue
            deformation_gradient(positions, corners, gradients, e, edges, f)
            if not may_flow(f, yield_stress / constants[0, e], c):
                continue
            v = axes[e]
            diagonalize_again(c, v)
            growth = growth_at(c, constants, e, yield_stress, seconds, values, factors)
            if growth > 0.0:
                if not is_changed:
                    _leave(waiting, others, rest, gradients, by_plastic, e)
                by_c = _tet_back(
                    growth, seconds, c, v, values, factors, constants, plastic, by_plastic,
                    by_constants, by_values, e,
                )  # fmt: skip
                # C = FᵀF, and the edges D are in F = D G: X, that by these, and DᵀX.
                turned = matmul3(by_c, transposed(matrix_in(gradients, e)))
                by_edges = scaled(2.0, matmul3(matrix_of(f), turned))
                set_column(out, e, by_edges)
                add_to_column(waiting, e, 1.0, matmul3(transposed(matrix_of(edges)), by_edges))
                flowed += 1
    return changed, flowed


@compiled()
def _is_changed(before: Any, plastic: Any, e: int) -> bool:
    found = False
    for row in range(10):
        found |= before[row, e] != plastic[row, e]
    return found


@compiled()
def _take(before: Any, plastic: Any, e: int, inverse: Any) -> None:
    """Gives a tet the strain before, of which F_p⁻¹ is also written to ``inverse``."""
    for row in range(10):
        plastic[row, e] = before[row, e]
    read(before, e, inverse)


@compiled(allocates=True)
def _tet_back(
    growth: float,
    seconds: float,
    c: Any,
    v: Any,
    strains: Any,
    factors: Any,
    constants: Any,
    plastic: Any,
    by_plastic: Any,
    by_constants: Any,
    by_values: Any,
    e: int,
) -> Any:
    """Takes ``by_plastic`` of a tet that flows back; the gradient by C."""
    axes, old, by_new = matrix_of(v), column(plastic, e), column(by_plastic, e)
    stretch = function_of(axes, factors[0], factors[1], factors[2])
    by_growth, limit, by_old = by_plastic[9, e], constants[4, e], _NOTHING
    if plastic[9, e] + growth > limit:
        limited = _limit_back(matmul3(old, stretch), old, limit, growth, by_growth, by_new)
        by_growth, by_new, by_old = limited[0], limited[2:11], limited[11:20]
        by_constants[4, e] += limited[1]
    set_column(by_plastic, e, matmul3(by_new, stretch))
    add_to_column(by_plastic, e, 1.0, by_old)
    by_stretch = in_axes(matmul3(transposed(old), by_new), axes)
    half = _values_back(
        growth, by_growth, seconds, c, strains, factors, by_stretch, constants, by_constants,
        plastic, by_plastic, e, by_values,
    )  # fmt: skip
    return from_axes(by_stretch, c, factors, -half, by_values, axes)


@compiled()
def _values_back(
    growth: float,
    by_growth: float,
    seconds: float,
    c: Any,
    strains: Any,
    factors: Any,
    by_stretch: Any,
    constants: Any,
    by_constants: Any,
    plastic: Any,
    by_plastic: Any,
    e: int,
    by_values: Any,
) -> float:
    """The gradients by the constants, by α, and by the eigenvalues of C into ``by_values``; s/2."""
    mu, hardening, creep = constants[0, e], constants[2, e], constants[3, e]
    size = math.sqrt(strains[0] ** 2 + strains[1] ** 2 + strains[2] ** 2)
    s, by_s, trace = math.sqrt(1.5) * growth / size, 0.0, 0.0
    by_values[0], by_values[1] = by_stretch[0] * factors[0], by_stretch[3] * factors[1]
    by_values[2] = by_stretch[5] * factors[2]
    for i in range(3):
        by_s, by_values[i] = by_s - by_values[i] * strains[i], -s * by_values[i]
    by_growth += by_s * math.sqrt(1.5) / size
    stiffness, relaxed, by_time = 3.0 * mu + hardening, 1.0, 0.0
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


@compiled(allocates=True)
def _limit_back(
    new: Any, old: Any, limit: float, growth: float, by_growth: float, by_new: Any
) -> Any:
    """Takes the gradients by the growth and F_p⁻¹ after the limit to those before: by the growth,
    by the limit, and by the F_p⁻¹ that it is and that it was."""
    inverse, c, v = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    size = _size(new, inverse, c, v)
    if size <= limit:
        return (by_growth, 0.0, *by_new, *_NOTHING)
    power, axes, by_values = 0.5 * (limit / size - 1.0), matrix_of(v), np.empty(3)
    by_function = in_axes(matmul3(by_new, transposed(new)), axes)
    diagonal = by_function[0], by_function[3], by_function[5]
    powers, by_power = np.empty(3), 0.0
    for i in range(3):
        powers[i] = c[i, i] ** power
        by_power += diagonal[i] * powers[i] * math.log(c[i, i])
    by_limit, by_size = 0.5 * by_power / size, -0.5 * by_power * limit / size**2
    for i in range(3):
        own = diagonal[i] * power * powers[i] + by_size * math.log(c[i, i]) / (6.0 * size)
        by_values[i] = own / c[i, i]
    by_symmetric = from_axes(by_function, c, powers, power, by_values, axes)
    kept = matmul3(function_of(axes, powers[0], powers[1], powers[2]), by_new)
    by_new = add3(kept, scaled(2.0, matmul3(by_symmetric, new)))
    size, by_old = _size(old, inverse, c, v), _NOTHING
    if growth <= limit - size:
        return (by_growth, by_limit, *by_new, *by_old)
    if size < limit:
        by_limit += by_growth
        if size > _LEAST_STRAIN:
            for i in range(3):
                by_values[i] = -by_growth * math.log(c[i, i]) / (3.0 * size * c[i, i])
            own_axes = function_of(matrix_of(v), by_values[0], by_values[1], by_values[2])
            by_old = matmul3(own_axes, old)
    return (0.0, by_limit, *by_new, *by_old)


@compiled()
def _size(m: Any, inverse: Any, c: Any, v: Any) -> float:
    """See ``size_of``."""
    for i in range(3):
        inverse[0, i], inverse[1, i], inverse[2, i] = m[i], m[3 + i], m[6 + i]
    return float(size_of(inverse, c, v))
