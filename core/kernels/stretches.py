# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the elastic energy and gradient of models in the principal stretches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .deformation import signed_svd
from .elasticity import sum_at_vertices
from .laws import Constants, principal_stresses, stretch_energy_density
from .matrices import matmul3, matrix_of, of_columns, set_column, tet_edges, transposed
from .vectors import scaled

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000
#: Energies are added up in chunks of this many tets, so that the sum is always the same.
TETS_PER_CHUNK = 128


class StretchKernel:
    """Energy and gradient of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._corners, self._volumes = tets.corners.numpy(), tets.volumes.numpy()
        law = constants.moduli, constants.law, constants.kappa
        self._tets = self._corners, tets.gradients_by_tet, self._volumes, *law
        self._forces = np.empty((9, len(tets)), dtype=self._volumes.dtype)
        self._energies = np.empty(-(-len(tets) // TETS_PER_CHUNK))

    def energy(self, positions: Tensor) -> float:
        """In joules; the sum is the same whatever the number of threads."""
        use_threads(len(self._volumes), TETS_PER_THREAD)
        _energy_sums(positions.numpy(), *self._tets, self._energies)
        return float(self._energies.sum())

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        use_threads(len(self._volumes), TETS_PER_THREAD)
        _edge_forces(positions.numpy(), *self._tets, self._forces)
        sum_at_vertices(self._forces, self._corners, out.numpy())


@compiled(parallel=True)
def _edge_forces(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    law: int,
    kappa: float,
    out: Any,
) -> None:
    """V P times the shape gradients of corners 1 to 3, into (9, M)."""
    for e in shared_range(corners.shape[1]):
        g, volume = matrix_of(gradients[e]), volumes[e]
        u, s, v = signed_svd(matmul3(tet_edges(positions, corners, e), g))
        a, b, c = principal_stresses(law, s[0], s[1], s[2], moduli[0, e], moduli[1, e], kappa)
        stretched = scaled(volume * a, u[0]), scaled(volume * b, u[1]), scaled(volume * c, u[2])
        frame = of_columns(stretched[0], stretched[1], stretched[2])
        stress = matmul3(frame, transposed(of_columns(v[0], v[1], v[2])))
        set_column(out, e, matmul3(stress, transposed(g)))


@compiled(parallel=True)
def _energy_sums(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    law: int,
    kappa: float,
    out: Any,
) -> None:
    """Energies of chunks of tets, in J."""
    for chunk in shared_range(out.shape[0]):
        total = 0.0
        for e in range(chunk * TETS_PER_CHUNK, min(corners.shape[1], (chunk + 1) * TETS_PER_CHUNK)):
            f = matmul3(tet_edges(positions, corners, e), matrix_of(gradients[e]))
            _, s, _ = signed_svd(f)
            mu, lam = moduli[0, e], moduli[1, e]
            total += volumes[e] * stretch_energy_density(law, s[0], s[1], s[2], mu, lam, kappa)
        out[chunk] = total
