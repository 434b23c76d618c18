# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the elastic energy and gradient on a CPU, each one loop over tets.

Torch's operations on whole arrays are bound by memory: fused, a tet's intermediate values never
leave the registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .laws import Constants, first_derivatives, strain_energy_density
from .matrices import add3, cofactors, determinant, matmul3, scaled, set_column, tet_edges
from .symmetric_matrices import contracted, full, squared, symmetric_in

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000
#: Energies are added up in chunks of this many tets, so that the sum is always the same.
TETS_PER_SUM = 1024


class ElasticityKernel:
    """Energy and gradient of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._constants, self._corners = constants, tets.corners.numpy()
        self._metric = tets.metric_by_tet
        #: Number of the law, and the range of J in which it holds.
        self.law = constants.law, constants.low, constants.high
        #: (2, M) Lamé's μ and λ in pascal.
        self.moduli = constants.moduli
        self._tets = self._corners, self._metric, constants.moduli, *self.law
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=self._metric.dtype)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        sum_at_vertices(self.edge_forces(positions), self._corners, out.numpy())

    def edge_forces(self, positions: Tensor) -> NDArray[Any]:
        """(9, M) gradient by the edges of tets, in newtons; the next call writes over it."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        _edge_forces(positions.numpy(), *self._tets, self._forces)
        return self._forces

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        sums = np.zeros(-(-self._corners.shape[1] // TETS_PER_SUM))
        _energy_sums(positions.numpy(), *self._tets, sums)
        return float(sums.sum())


@compiled(parallel=True)
def _edge_forces(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """The energy's gradient by the three edges of each tet, ``out`` (9, M): see ``Elasticity``."""
    sixth = out.dtype.type(1.0 / 6.0)
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
        mu, lam = moduli[0, e], moduli[1, e]
        set_column(out, e, tet_forces(d, s, metric[6, e], law, low, high, mu, lam, sixth))


@compiled(inline=True)
def tet_forces(
    d: Any,
    metric: Any,
    inverse_volume: Any,
    law: int,
    low: Any,
    high: Any,
    mu: Any,
    lam: Any,
    sixth: Any,
) -> Any:
    """The energy's gradient by the three edges of a tet, nine numbers.

    Args:
        d: edges, as ``tet_edges`` has them.
        metric: V S of six numbers, with the metric S of the rest shape.
        low, high: the range of J in which the law holds.
        mu, lam: Lamé's, in pascal.
        sixth: 1/6 in the precision of the others.
    """
    # V D S and cof D
    a, c = matmul3(d, full(metric)), cofactors(d)
    i_c = inverse_volume * (
        d[0] * a[0]
        + d[1] * a[1]
        + d[2] * a[2]
        + d[3] * a[3]
        + d[4] * a[4]
        + d[5] * a[5]
        + d[6] * a[6]
        + d[7] * a[7]
        + d[8] * a[8]
    )
    j = sixth * inverse_volume * determinant(d, c)
    p, q = first_derivatives(law, i_c, min(max(j, low), high), mu, lam)
    return add3(scaled(p, a), scaled(sixth * q, c))


@compiled(parallel=True)
def _energy_sums(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """Energies of chunks of ``TETS_PER_SUM`` tets, in J."""
    for chunk in shared_range(out.shape[0]):
        total = 0.0
        for e in range(chunk * TETS_PER_SUM, min(corners.shape[1], (chunk + 1) * TETS_PER_SUM)):
            d, s = tet_edges(positions, corners, e), symmetric_in(metric, e)
            total += tet_energy(d, s, metric[6, e], law, low, high, moduli[0, e], moduli[1, e])
        out[chunk] = total


@compiled(inline=True)
def tet_energy(
    d: Any, metric: Any, inverse_volume: Any, law: int, low: Any, high: Any, mu: Any, lam: Any
) -> Any:
    """In joules; arguments as ``tet_forces`` has them."""
    c = cofactors(d)
    i_c = inverse_volume * contracted(squared(d), metric)
    j = inverse_volume * (d[0] * c[0] + d[1] * c[1] + d[2] * c[2]) / 6.0
    inside = min(max(j, low), high)
    density = strain_energy_density(law, i_c, inside, mu, lam)
    if inside != j:
        _, derivative = first_derivatives(law, i_c, inside, mu, lam)
        density += derivative * (j - inside)
    return density / inverse_volume


@compiled()
def sum_at_vertices(forces: Any, corners: Any, out: Any) -> None:
    """Adds edge forces (9, M) to vertices (3, N): in one order, so that the sum is the same."""
    for e in range(corners.shape[1]):
        for i in range(3):
            first, second, third = forces[3 * i, e], forces[3 * i + 1, e], forces[3 * i + 2, e]
            out[i, corners[1, e]] += first
            out[i, corners[2, e]] += second
            out[i, corners[3, e]] += third
            out[i, corners[0, e]] -= first + second + third
