# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of plastic flow, backwards.

The return map F_p⁻¹ ← F_p⁻¹ A of ``core/potentials/plastic_flow.py`` has A = e^(−s e), where e is
the deviator of ½ ln FᵀF, and the limit scales it back by (N Nᵀ)^t N. Both are functions of a
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


# The least creep time relative to a step; a shorter one is zero.
LEAST_CREEP_RATIO = 1e-3
# The least bar strain with a direction.
LEAST_STRAIN = 1e-12
_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class FlowAdjointKernel:
    """The adjoint of plastic flow in the tets of one elasticity.

    Gradients by the rest shape of a tet are summed until the tet gets another rest shape.

    Args:
        tets: the tets that flow; their rest-shape data are overwritten.
        constants: (5, M), as ``TetFlow`` takes them.
        rest: (M, 3, 3) shape gradients of corners 1 to 3 before all flow, in 1/m.
    """

    def __init__(self, tets: Tets, constants: Tensor, rest: NDArray[Any]) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._constants, self._rest = constants.numpy(), rest
        #: The derivative of the work of steps by the present rest shapes.
        self.products = RestProducts(tets)
        #: The (5, M) gradient by the constants.
        self.grad_constants: NDArray[Any] = np.zeros_like(self._constants)
        #: (2, 9, M) sums of waiting steps, and of all others.
        self._sums = self.products.sums[:9], np.zeros_like(self.products.sums[:9])
        self._grad_edges: NDArray[Any] = np.zeros_like(self._sums[0])
        # The principal axes of the step after, from which those of a step are soon found.
        self._axes = np.broadcast_to(np.eye(3), rest.shape).astype(rest.dtype)

    def back(
        self,
        positions: Tensor,
        seconds: float,
        before: Tensor,
        plastic: Tensor,
        grad_plastic: Tensor,
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
            (before.numpy(), plastic.numpy(), grad_plastic.numpy()),
            (self._rest, tets.gradients_by_tet, tets.metric_by_tet),
            self._sums,
            self._axes,
            self.grad_constants,
            self._grad_edges,
        )
        if changed:
            tets.forget_passes(is_written=True)
        if flowed:
            tets.vertex_sums.add(self._grad_edges, out.numpy())

    def settle(self, grad_plastic: Tensor) -> None:
        """Add the waiting sums to the (10, M) gradient by plastic strains."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        _settle(*self._sums, self._rest, self._tets.gradients_by_tet, grad_plastic.numpy())

    def finish(self) -> RestProducts:
        """Return the products of all steps, including the gradient by the shape gradients before
        all flow.
        """
        waiting, others = self._sums
        waiting += others
        others.fill(0.0)
        return self.products


@compiled(parallel=True)
def _settle(waiting: Any, others: Any, rest: Any, gradients: Any, grad_plastic: Any) -> None:
    for e in shared_range(rest.shape[0]):
        _leave(waiting, others, rest, gradients, grad_plastic, e)


@compiled()
def _leave(waiting: Any, others: Any, rest: Any, gradients: Any, grad_plastic: Any, e: int) -> None:
    """Split the gradient K G⁻ᵀ by G = G₀ F_p⁻¹ into G₀ᵀ K G⁻ᵀ by F_p⁻¹ and K G₀⁻ᵀ by G₀."""
    products, g = column(waiting, e), matrix_in(gradients, e)
    add_to_column(others, e, 1.0, products)
    add_to_column(waiting, e, -1.0, products)
    turned = cofactors(g)
    scale = 1.0 / (g[0] * turned[0] + g[1] * turned[1] + g[2] * turned[2])
    grad_inverse = matmul3(transposed(matrix_in(rest, e)), matmul3(products, turned))
    add_to_column(grad_plastic, e, scale, grad_inverse)


@compiled(parallel=True, allocates=True)
def _flow_back(
    positions: Any,
    corners: Any,
    constants: Any,
    seconds: float,
    strains: Any,
    shapes: Any,
    sums: Any,
    axes: Any,
    grad_constants: Any,
    out: Any,
) -> Any:
    """Into (9, M) ``out`` the gradient by the edges of tets; counts those whose strain the step has
    changed, and those that flow.

    Args:
        strains: before the step and after it, and the gradient by them.
        shapes: shape gradients before all flow and now, and the metric.
    """
    before, plastic, grad_plastic = strains
    rest, gradients, metric = shapes
    waiting, others = sums
    count, changed, flowed = corners.shape[1], 0, 0
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, c = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        values, factors, grad_values = np.empty(3), np.empty(3), np.empty(3)
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            for row in range(9):
                out[row, e] = 0.0
            is_changed = _is_changed(before, plastic, e)
            if is_changed:
                _leave(waiting, others, rest, gradients, grad_plastic, e)
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
                    _leave(waiting, others, rest, gradients, grad_plastic, e)
                grad_c = _tet_back(
                    growth, seconds, c, v, values, factors, constants, plastic, grad_plastic,
                    grad_constants, grad_values, e,
                )  # fmt: skip
                # C = FᵀF, and the edges D are in F = D G: X, that by these, and DᵀX.
                turned = matmul3(grad_c, transposed(matrix_in(gradients, e)))
                grad_edges = scaled(2.0, matmul3(matrix_of(f), turned))
                set_column(out, e, grad_edges)
                add_to_column(waiting, e, 1.0, matmul3(transposed(matrix_of(edges)), grad_edges))
                flowed += 1
    return changed, flowed


@compiled()
def _is_changed(before: Any, plastic: Any, e: int) -> bool:
    is_changed = False
    for row in range(10):
        is_changed |= before[row, e] != plastic[row, e]
    return is_changed


@compiled()
def _take(before: Any, plastic: Any, e: int, inverse: Any) -> None:
    """Set a tet's strain before the step, and write its F_p⁻¹ to ``inverse``."""
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
    grad_plastic: Any,
    grad_constants: Any,
    grad_values: Any,
    e: int,
) -> Any:
    """Takes ``grad_plastic`` of a tet that flows back; the gradient by C."""
    axes, old, grad_new = matrix_of(v), column(plastic, e), column(grad_plastic, e)
    stretch = function_of(axes, factors[0], factors[1], factors[2])
    grad_growth, limit, grad_old = grad_plastic[9, e], constants[4, e], _NOTHING
    if plastic[9, e] + growth > limit:
        limited = _limit_back(matmul3(old, stretch), old, limit, growth, grad_growth, grad_new)
        grad_growth, grad_new, grad_old = limited[0], limited[2:11], limited[11:20]
        grad_constants[4, e] += limited[1]
    set_column(grad_plastic, e, matmul3(grad_new, stretch))
    add_to_column(grad_plastic, e, 1.0, grad_old)
    grad_stretch = in_axes(matmul3(transposed(old), grad_new), axes)
    half = _values_back(
        growth, grad_growth, seconds, c, strains, factors, grad_stretch, constants, grad_constants,
        plastic, grad_plastic, e, grad_values,
    )  # fmt: skip
    return from_axes(grad_stretch, c, factors, -half, grad_values, axes)


@compiled()
def _values_back(
    growth: float,
    grad_growth: float,
    seconds: float,
    c: Any,
    strains: Any,
    factors: Any,
    grad_stretch: Any,
    constants: Any,
    grad_constants: Any,
    plastic: Any,
    grad_plastic: Any,
    e: int,
    grad_values: Any,
) -> float:
    """Add the gradients by the constants, by α, and by the eigenvalues of C; return s/2."""
    mu, hardening, creep = constants[0, e], constants[2, e], constants[3, e]
    size = math.sqrt(strains[0] ** 2 + strains[1] ** 2 + strains[2] ** 2)
    s, grad_s, trace = math.sqrt(1.5) * growth / size, 0.0, 0.0
    grad_values[0], grad_values[1] = grad_stretch[0] * factors[0], grad_stretch[3] * factors[1]
    grad_values[2] = grad_stretch[5] * factors[2]
    for i in range(3):
        grad_s, grad_values[i] = grad_s - grad_values[i] * strains[i], -s * grad_values[i]
    grad_growth += grad_s * math.sqrt(1.5) / size
    stiffness, relaxed, grad_time = 3.0 * mu + hardening, 1.0, 0.0
    if creep > 0.0:
        relaxed = -math.expm1(-seconds / creep)
        if creep > LEAST_CREEP_RATIO * seconds:
            grad_time = -(1.0 - relaxed) * seconds / creep**2
    flexibility = relaxed / stiffness
    excess, grad_stress = growth / flexibility, flexibility * grad_growth
    grad_stiffness = -grad_growth * growth / stiffness
    grad_constants[0, e] += math.sqrt(6.0) * size * grad_stress + 3.0 * grad_stiffness
    grad_constants[1, e] -= grad_stress
    grad_constants[2, e] += grad_stiffness - plastic[9, e] * grad_stress
    grad_constants[3, e] += grad_growth * excess / stiffness * grad_time
    grad_plastic[9, e] -= hardening * grad_stress
    grad_size = math.sqrt(6.0) * mu * grad_stress - grad_s * s / size
    for i in range(3):
        grad_values[i] += grad_size * strains[i] / size
        trace += grad_values[i]
    for i in range(3):
        grad_values[i] = 0.5 * (grad_values[i] - trace / 3.0) / c[i, i]
    return float(0.5 * s)


@compiled(allocates=True)
def _limit_back(
    new: Any, old: Any, limit: float, growth: float, grad_growth: float, grad_new: Any
) -> Any:
    """Return the gradients before the limit, from those by the growth and F_p⁻¹ after it. The
    results are gradients by the growth, by the limit, and by the new and the old F_p⁻¹."""
    inverse, c, v = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    size = _size(new, inverse, c, v)
    if size <= limit:
        return (grad_growth, 0.0, *grad_new, *_NOTHING)
    power, axes, grad_values = 0.5 * (limit / size - 1.0), matrix_of(v), np.empty(3)
    grad_function = in_axes(matmul3(grad_new, transposed(new)), axes)
    diagonal = grad_function[0], grad_function[3], grad_function[5]
    powers, grad_power = np.empty(3), 0.0
    for i in range(3):
        powers[i] = c[i, i] ** power
        grad_power += diagonal[i] * powers[i] * math.log(c[i, i])
    grad_limit, grad_size = 0.5 * grad_power / size, -0.5 * grad_power * limit / size**2
    for i in range(3):
        slope = diagonal[i] * power * powers[i] + grad_size * math.log(c[i, i]) / (6.0 * size)
        grad_values[i] = slope / c[i, i]
    grad_symmetric = from_axes(grad_function, c, powers, power, grad_values, axes)
    grad_direct = matmul3(function_of(axes, powers[0], powers[1], powers[2]), grad_new)
    grad_new = add3(grad_direct, scaled(2.0, matmul3(grad_symmetric, new)))
    size, grad_old = _size(old, inverse, c, v), _NOTHING
    if growth <= limit - size:
        return (grad_growth, grad_limit, *grad_new, *grad_old)
    if size < limit:
        grad_limit += grad_growth
        if size > LEAST_STRAIN:
            for i in range(3):
                grad_values[i] = -grad_growth * math.log(c[i, i]) / (3.0 * size * c[i, i])
            own_axes = function_of(matrix_of(v), grad_values[0], grad_values[1], grad_values[2])
            grad_old = matmul3(own_axes, old)
    return (0.0, grad_limit, *grad_new, *grad_old)


@compiled()
def _size(m: Any, inverse: Any, c: Any, v: Any) -> float:
    """See ``size_of``."""
    for i in range(3):
        inverse[0, i], inverse[1, i], inverse[2, i] = m[i], m[3 + i], m[6 + i]
    return float(size_of(inverse, c, v))
