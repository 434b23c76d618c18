# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the plastic flow of tets: the return map, tet by tet.

Formulas and sources: ``core/potentials/plastic_flow.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .deformation import deformation_gradient, diagonalize, matmul3

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000
#: The number of tets that a thread takes at a time.
TETS_PER_CHUNK = 128
# The square of a stretch below which a tet is flat, and has no logarithm worth flowing by.
MIN_SQUARED_STRETCH = 1e-8


class FlowKernel:
    """For CPUs; the methods are those of ``TorchFlow``.

    Args:
        tets: the tets that flow; their rest-shape data are overwritten.
        constants: (5, M), as ``TetFlow`` takes them.
    """

    def __init__(self, tets: Tets, constants: Tensor) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._constants = constants.numpy()
        self._rest, self._rest_metric = tets.gradients_by_tet.copy(), tets.metric_by_tet.copy()
        self._flowing = np.zeros(-(-len(tets) // TETS_PER_CHUNK), dtype=np.int64)

    def set_rest_shapes(self, plastic: Tensor) -> None:
        use_threads(len(self._tets), TETS_PER_THREAD)
        tets = self._tets
        tets.gradients_by_tet[:] = self._rest
        tets.metric_by_tet[:] = self._rest_metric
        _write_rest_shapes(plastic.numpy(), self._rest, tets.gradients_by_tet, tets.metric_by_tet)
        tets.forget_passes(is_written=bool((plastic[9] > 0.0).any()))

    def flow(self, positions: Tensor, seconds: float, plastic: Tensor) -> bool:
        use_threads(len(self._tets), TETS_PER_THREAD)
        tets = self._tets
        _flow(
            positions.numpy(),
            self._corners,
            self._constants,
            seconds,
            self._rest,
            plastic.numpy(),
            tets.gradients_by_tet,
            tets.metric_by_tet,
            self._flowing,
        )
        if not self._flowing.any():
            return False
        tets.forget_passes(is_written=True)
        return True


@compiled(parallel=True, allocates=True)
def _write_rest_shapes(plastic: Any, rest: Any, gradients: Any, metric: Any) -> None:
    count = rest.shape[0]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        inverse = np.empty((3, 3))
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            # The others keep the bits of their rest shape.
            if plastic[9, e] > 0.0:
                read(plastic, e, inverse)
                write_rest(inverse, rest, e, gradients, metric)


@compiled(parallel=True, allocates=True)
def _flow(
    positions: Any,
    corners: Any,
    constants: Any,
    seconds: float,
    rest: Any,
    plastic: Any,
    gradients: Any,
    metric: Any,
    flowing: Any,
) -> None:
    """Lets tets flow for some seconds at where they are; counts in each chunk those that do."""
    count = corners.shape[1]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, c = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        inverse, v = np.empty((3, 3)), np.empty((3, 3))
        strains, factors = np.empty(3), np.empty(3)
        flowing_count = 0
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            yield_stress = constants[1, e] + constants[2, e] * plastic[9, e]
            if yield_stress == math.inf:
                continue
            deformation_gradient(positions, corners, gradients, e, edges, f)
            if not may_flow(f, yield_stress / constants[0, e], c):
                continue
            diagonalize(c, v)
            growth = growth_at(c, constants, e, yield_stress, seconds, strains, factors)
            if growth > 0.0:
                read(plastic, e, inverse)
                _stretch(inverse, v, factors, f, edges)
                # The strain has not grown by more than the flow.
                if plastic[9, e] + growth > constants[4, e]:
                    growth = _limit(f, inverse, constants[4, e], growth, c, v, edges)
                plastic[9, e] += growth
                _write(f, plastic, e)
                # As a state has it, rounded.
                read(plastic, e, f)
                write_rest(f, rest, e, gradients, metric)
                flowing_count += 1
        flowing[chunk] = flowing_count


@compiled()
def may_flow(f: Any, yield_strain: Any, c: Any) -> bool:
    """Whether a tet with the deformation gradient F has to be looked at closer; C = FᵀF."""
    for i in range(3):
        for j in range(3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
    return not (_is_surely_elastic(c, yield_strain) or determinant(f) <= 0.0)


@compiled()
def _is_surely_elastic(c: Any, yield_strain: Any) -> bool:
    """Whether C is below the yield surface by a bound without its eigenvalues.

    The eigenvalues are within √⅔ |dev C| of their mean, and their logarithms differ by at most
    their difference over the smallest one.
    """
    mean = (c[0, 0] + c[1, 1] + c[2, 2]) / 3.0
    squares = 2.0 * (c[0, 1] * c[0, 1] + c[0, 2] * c[0, 2] + c[1, 2] * c[1, 2])
    for i in range(3):
        squares += (c[i, i] - mean) * (c[i, i] - mean)
    size = math.sqrt(squares)
    return bool(size * math.sqrt(1.5) <= yield_strain * (mean - math.sqrt(2.0 / 3.0) * size))


@compiled()
def growth_at(
    c: Any,
    constants: Any,
    e: int,
    yield_stress: Any,
    seconds: float,
    strains: Any,
    factors: Any,
) -> float:
    """The growth of the equivalent plastic strain at C with eigenvalues on its diagonal; write the
    deviator of ½ ln C to ``strains``, and the factors of the flow on the principal stretches of
    F_p⁻¹ to ``factors``."""
    if min(c[0, 0], c[1, 1], c[2, 2]) < MIN_SQUARED_STRETCH:
        return 0.0
    for i in range(3):
        strains[i] = 0.5 * math.log(c[i, i])
    mean = (strains[0] + strains[1] + strains[2]) / 3.0
    squares = 0.0
    for i in range(3):
        strains[i] -= mean
        squares += strains[i] * strains[i]
    mu, hardening, creep_time = constants[0, e], constants[2, e], constants[3, e]
    stress = 2.0 * mu * math.sqrt(1.5 * squares)
    if stress <= yield_stress:
        return 0.0
    relaxed = 1.0 if creep_time == 0.0 else -math.expm1(-seconds / creep_time)
    growth = relaxed * (stress - yield_stress) / (3.0 * mu + hardening)
    for i in range(3):
        factors[i] = math.exp(-3.0 * mu * growth / stress * strains[i])
    return float(growth)


@compiled()
def _stretch(inverse: Any, v: Any, factors: Any, out: Any, scratch: Any) -> None:
    """F_p⁻¹ V diag(factors) Vᵀ into ``out``, its determinant 1."""
    scaled(v, factors, scratch)
    matmul3(inverse, scratch, out)
    scale = determinant(out) ** (-1.0 / 3.0)
    for i in range(3):
        for j in range(3):
            out[i, j] *= scale


@compiled(allocates=True)
def _limit(new: Any, old: Any, limit: Any, growth: float, c: Any, v: Any, scratch: Any) -> float:
    """Takes a new F_p⁻¹ back to the limit; the growth of the equivalent plastic strain that
    is left."""
    size = size_of(new, c, v)
    if size <= limit:
        return growth
    factors = np.empty(3)
    for i in range(3):
        factors[i] = c[i, i] ** (0.5 * (limit / size - 1.0))
    scaled(v, factors, scratch)
    matmul3(scratch, new, v)
    for i in range(3):
        for j in range(3):
            new[i, j] = v[i, j]
    return float(max(0.0, min(growth, limit - size_of(old, c, v))))


@compiled()
def size_of(inverse: Any, c: Any, v: Any) -> float:
    """√⅔ |ln U_p|, which is the strain of a bar; F_p⁻¹ F_p⁻ᵀ = U_p⁻² in principal axes into ``c``,
    those into ``v``."""
    for i in range(3):
        for j in range(3):
            c[i, j] = (
                inverse[i, 0] * inverse[j, 0]
                + inverse[i, 1] * inverse[j, 1]
                + inverse[i, 2] * inverse[j, 2]
            )
    diagonalize(c, v)
    squares = 0.0
    for i in range(3):
        squares += math.log(c[i, i]) ** 2
    return math.sqrt(squares / 6.0)


@compiled()
def scaled(v: Any, factors: Any, out: Any) -> None:
    """V diag(factors) Vᵀ."""
    for i in range(3):
        for j in range(3):
            out[i, j] = (
                v[i, 0] * factors[0] * v[j, 0]
                + v[i, 1] * factors[1] * v[j, 1]
                + v[i, 2] * factors[2] * v[j, 2]
            )


@compiled()
def determinant(a: Any) -> Any:
    return (
        a[0, 0] * (a[1, 1] * a[2, 2] - a[2, 1] * a[1, 2])
        + a[1, 0] * (a[2, 1] * a[0, 2] - a[0, 1] * a[2, 2])
        + a[2, 0] * (a[0, 1] * a[1, 2] - a[1, 1] * a[0, 2])
    )


@compiled()
def read(plastic: Any, e: int, inverse: Any) -> None:
    for i in range(3):
        for j in range(3):
            inverse[i, j] = plastic[3 * i + j, e]


@compiled()
def _write(inverse: Any, plastic: Any, e: int) -> None:
    for i in range(3):
        for j in range(3):
            plastic[3 * i + j, e] = inverse[i, j]


@compiled()
def write_rest(inverse: Any, rest: Any, e: int, gradients: Any, metric: Any) -> None:
    """Shape gradients of the tet at the rest shape F_p, and the products of these."""
    matmul3(rest[e], inverse, gradients[e])
    row = 0
    for i in range(3):
        for j in range(i, 3):
            product = 0.0
            for k in range(3):
                product += gradients[e, i, k] * gradients[e, j, k]
            metric[row, e] = product / metric[6, e]
            row += 1
