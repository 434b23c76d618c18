# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the elastic energy and gradient of models in the principal stretches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .deformation import deformation_gradient, signed_svd
from .elasticity import sum_at_vertices
from .laws import Constants, principal_stresses, stretch_energy_density

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000
#: One thread takes so many tets at a time, and adds up their energies.
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


@compiled(parallel=True, allocates=True)
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
    count = corners.shape[1]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, scratch = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        u, s, v = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            deformation_gradient(positions, corners, gradients, e, edges, f)
            signed_svd(f, u, s, v, scratch)
            mu, lam = moduli[0, e], moduli[1, e]
            stresses = principal_stresses(law, s[0], s[1], s[2], mu, lam, kappa)
            for i in range(3):
                x, y, z = u[i, 0] * stresses[0], u[i, 1] * stresses[1], u[i, 2] * stresses[2]
                for j in range(3):
                    scratch[i, j] = volumes[e] * (x * v[j, 0] + y * v[j, 1] + z * v[j, 2])
            for i in range(3):
                for k in range(3):
                    g = gradients[e, k]
                    out[3 * i + k, e] = (
                        scratch[i, 0] * g[0] + scratch[i, 1] * g[1] + scratch[i, 2] * g[2]
                    )


@compiled(parallel=True, allocates=True)
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
    count = corners.shape[1]
    for chunk in shared_range(out.shape[0]):
        edges, f, scratch = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        u, s, v = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
        total = 0.0
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            deformation_gradient(positions, corners, gradients, e, edges, f)
            signed_svd(f, u, s, v, scratch)
            mu, lam = moduli[0, e], moduli[1, e]
            total += volumes[e] * stretch_energy_density(law, s[0], s[1], s[2], mu, lam, kappa)
        out[chunk] = total
