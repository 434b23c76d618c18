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
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=self._metric.dtype)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        sum_at_vertices(self.edge_forces(positions), self._corners, out.numpy())

    def edge_forces(self, positions: Tensor) -> NDArray[Any]:
        """(9, M) gradient by the edges of tets, in newtons; the next call writes over it."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        own = self._constants
        _edge_forces(
            positions.numpy(),
            self._corners,
            self._metric,
            own.moduli,
            own.law,
            own.low,
            own.high,
            self._forces,
        )
        return self._forces

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        own = self._constants
        sums = np.zeros(-(-self._corners.shape[1] // TETS_PER_SUM))
        _energy_sums(
            positions.numpy(),
            self._corners,
            self._metric,
            own.moduli,
            own.law,
            own.low,
            own.high,
            sums,
        )
        return float(sums.sum())


@compiled(parallel=True)
def _edge_forces(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """The energy's gradient by the three edges of each tet, ``out`` (9, M): see ``Elasticity``."""
    x, y, z = positions[0], positions[1], positions[2]
    sixth = out.dtype.type(1.0 / 6.0)
    for e in shared_range(corners.shape[1]):
        v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        x1, y1, z1 = x[v1] - x[v0], y[v1] - y[v0], z[v1] - z[v0]
        x2, y2, z2 = x[v2] - x[v0], y[v2] - y[v0], z[v2] - z[v0]
        x3, y3, z3 = x[v3] - x[v0], y[v3] - y[v0], z[v3] - z[v0]
        s11, s12, s13 = metric[0, e], metric[1, e], metric[2, e]
        s22, s23, s33 = metric[3, e], metric[4, e], metric[5, e]
        # V D S
        ax1, ax2, ax3 = (
            x1 * s11 + x2 * s12 + x3 * s13,
            x1 * s12 + x2 * s22 + x3 * s23,
            x1 * s13 + x2 * s23 + x3 * s33,
        )
        ay1, ay2, ay3 = (
            y1 * s11 + y2 * s12 + y3 * s13,
            y1 * s12 + y2 * s22 + y3 * s23,
            y1 * s13 + y2 * s23 + y3 * s33,
        )
        az1, az2, az3 = (
            z1 * s11 + z2 * s12 + z3 * s13,
            z1 * s12 + z2 * s22 + z3 * s23,
            z1 * s13 + z2 * s23 + z3 * s33,
        )
        # cof D
        cx1, cy1, cz1 = y2 * z3 - z2 * y3, z2 * x3 - x2 * z3, x2 * y3 - y2 * x3
        cx2, cy2, cz2 = y3 * z1 - z3 * y1, z3 * x1 - x3 * z1, x3 * y1 - y3 * x1
        cx3, cy3, cz3 = y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2
        inverse_volume, mu, lam = metric[6, e], moduli[0, e], moduli[1, e]
        i_c = inverse_volume * (
            x1 * ax1
            + x2 * ax2
            + x3 * ax3
            + y1 * ay1
            + y2 * ay2
            + y3 * ay3
            + z1 * az1
            + z2 * az2
            + z3 * az3
        )
        j = sixth * inverse_volume * (x1 * cx1 + y1 * cy1 + z1 * cz1)
        j = min(max(j, low), high)
        p, q = first_derivatives(law, i_c, j, mu, lam)
        q = sixth * q
        out[0, e], out[1, e], out[2, e] = p * ax1 + q * cx1, p * ax2 + q * cx2, p * ax3 + q * cx3
        out[3, e], out[4, e], out[5, e] = p * ay1 + q * cy1, p * ay2 + q * cy2, p * ay3 + q * cy3
        out[6, e], out[7, e], out[8, e] = p * az1 + q * cz1, p * az2 + q * cz2, p * az3 + q * cz3


@compiled(parallel=True)
def _energy_sums(
    positions: Any, corners: Any, metric: Any, moduli: Any, law: int, low: Any, high: Any, out: Any
) -> None:
    """Energies of chunks of ``TETS_PER_SUM`` tets, in J."""
    x, y, z = positions[0], positions[1], positions[2]
    for chunk in shared_range(out.shape[0]):
        total = 0.0
        for e in range(chunk * TETS_PER_SUM, min(corners.shape[1], (chunk + 1) * TETS_PER_SUM)):
            v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
            x1, y1, z1 = x[v1] - x[v0], y[v1] - y[v0], z[v1] - z[v0]
            x2, y2, z2 = x[v2] - x[v0], y[v2] - y[v0], z[v2] - z[v0]
            x3, y3, z3 = x[v3] - x[v0], y[v3] - y[v0], z[v3] - z[v0]
            s12, s13, s23 = metric[1, e], metric[2, e], metric[4, e]
            stretch = (
                metric[0, e] * (x1 * x1 + y1 * y1 + z1 * z1)
                + metric[3, e] * (x2 * x2 + y2 * y2 + z2 * z2)
                + metric[5, e] * (x3 * x3 + y3 * y3 + z3 * z3)
            )
            shear = (
                s12 * (x1 * x2 + y1 * y2 + z1 * z2)
                + s13 * (x1 * x3 + y1 * y3 + z1 * z3)
                + s23 * (x2 * x3 + y2 * y3 + z2 * z3)
            )
            inverse_volume, mu, lam = metric[6, e], moduli[0, e], moduli[1, e]
            i_c = inverse_volume * (stretch + 2.0 * shear)
            determinant = (
                x1 * (y2 * z3 - z2 * y3) + x2 * (y3 * z1 - z3 * y1) + x3 * (y1 * z2 - z1 * y2)
            )
            j = inverse_volume * determinant / 6.0
            inside = min(max(j, low), high)
            density = strain_energy_density(law, i_c, inside, mu, lam)
            if inside != j:
                _, derivative = first_derivatives(law, i_c, inside, mu, lam)
                density += derivative * (j - inside)
            total += density / inverse_volume
        out[chunk] = total


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
