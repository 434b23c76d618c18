# SPDX-License-Identifier: GPL-3.0-or-later
"""Green strains of tets and the forces of stresses against them, as compiled loops.

Formulas: ``green_strain_passes``, which writes the same for torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .compiled_deformation import deform, multiply
from .fused_elasticity import sum_at_vertices
from .tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000
#: One thread takes so many tets at a time.
PORTION = 128


class FusedGreenStrain:
    """For CPUs; the methods are those of ``GreenStrainPasses``."""

    def __init__(self, tets: Tets) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._volumes = tets.volumes.numpy()
        self._forces = np.empty((9, len(tets)), dtype=self._volumes.dtype)

    def strain(self, positions: Tensor) -> Tensor:
        strain = torch.empty((6, len(self._tets)), dtype=self._tets.volumes.dtype)
        use_threads(len(self._tets), TETS_PER_THREAD)
        _strains(positions.numpy(), self._corners, self._tets.gradients_by_tet, strain.numpy())
        return strain

    def add_viscous_forces(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        use_threads(len(self._tets), TETS_PER_THREAD)
        _viscous_edge_forces(
            positions.numpy(),
            velocities.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._tets.gradients_by_tet,
            self._volumes,
            self._forces,
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())

    def add_forces(self, positions: Tensor, stress: Tensor, out: Tensor) -> None:
        use_threads(len(self._tets), TETS_PER_THREAD)
        _edge_forces(
            positions.numpy(),
            stress.numpy(),
            self._corners,
            self._tets.gradients_by_tet,
            self._volumes,
            self._forces,
        )
        sum_at_vertices(self._forces, self._corners, out.numpy())

    def hessian_blocks(
        self, positions: Tensor, stress: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        use_threads(len(self._tets), TETS_PER_THREAD)
        _blocks(
            positions.numpy(),
            stress.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._tets.gradients_by_tet,
            self._volumes,
            out.numpy(),
        )


@compiled(parallel=True)
def _strains(positions: Any, corners: Any, gradients: Any, out: Any) -> None:
    count = corners.shape[1]
    for portion in shared_range((count + PORTION - 1) // PORTION):
        edges, f = np.empty((3, 3)), np.empty((3, 3))
        for e in range(portion * PORTION, min(count, (portion + 1) * PORTION)):
            deform(positions, corners, gradients, e, edges, f)
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                out[i, e] = 0.5 * (_dot(f, i, f, i) - 1.0)
                out[3 + i, e] = 0.5 * _dot(f, j, f, k)


@compiled()
def _dot(a: Any, i: int, b: Any, j: int) -> Any:
    """Of column ``i`` of one matrix and column ``j`` of another."""
    return a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]


@compiled(parallel=True)
def _viscous_edge_forces(
    positions: Any,
    velocities: Any,
    shear: Any,
    bulk: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    out: Any,
) -> None:
    """V F (2a dE/dt + b tr(dE/dt) I) times the shape gradients of corners 1 to 3, into (9, M)."""
    count = corners.shape[1]
    for portion in shared_range((count + PORTION - 1) // PORTION):
        edges, f, change = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        stress, first_piola = np.empty((3, 3)), np.empty((3, 3))
        for e in range(portion * PORTION, min(count, (portion + 1) * PORTION)):
            deform(positions, corners, gradients, e, edges, f)
            deform(velocities, corners, gradients, e, edges, change)
            trace = _dot(f, 0, change, 0) + _dot(f, 1, change, 1) + _dot(f, 2, change, 2)
            for i in range(3):
                for j in range(i, 3):
                    rate = shear[e] * (_dot(f, i, change, j) + _dot(change, i, f, j))
                    stress[i, j], stress[j, i] = rate, rate
                stress[i, i] += bulk[e] * trace
            multiply(f, stress, first_piola)
            for i in range(3):
                for k in range(3):
                    g = gradients[e, k]
                    out[3 * i + k, e] = volumes[e] * (
                        first_piola[i, 0] * g[0]
                        + first_piola[i, 1] * g[1]
                        + first_piola[i, 2] * g[2]
                    )


@compiled(parallel=True)
def _edge_forces(
    positions: Any, stress: Any, corners: Any, gradients: Any, volumes: Any, out: Any
) -> None:
    """V F S times the shape gradients of corners 1 to 3, into (9, M)."""
    count = corners.shape[1]
    for portion in shared_range((count + PORTION - 1) // PORTION):
        edges, f, pulled = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
        for e in range(portion * PORTION, min(count, (portion + 1) * PORTION)):
            deform(positions, corners, gradients, e, edges, f)
            for k in range(3):
                _apply(stress, e, gradients[e, k], pulled)
                for i in range(3):
                    force = f[i, 0] * pulled[0] + f[i, 1] * pulled[1] + f[i, 2] * pulled[2]
                    out[3 * i + k, e] = volumes[e] * force


@compiled()
def _apply(symmetric: Any, e: int, vector: Any, out: Any) -> None:
    """The symmetric tensor of tet ``e`` times a vector."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] = (
            symmetric[i, e] * vector[i]
            + symmetric[3 + k, e] * vector[j]
            + symmetric[3 + j, e] * vector[k]
        )


@compiled(parallel=True)
def _blocks(
    positions: Any,
    stress: Any,
    shear: Any,
    bulk: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    out: Any,
) -> None:
    count = corners.shape[1]
    for portion in shared_range((count + PORTION - 1) // PORTION):
        edges, f, left = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        g, along, pulled = np.empty((4, 3)), np.empty((4, 3)), np.empty(3)
        for e in range(portion * PORTION, min(count, (portion + 1) * PORTION)):
            deform(positions, corners, gradients, e, edges, f)
            for i in range(3):
                g[0, i] = 0.0
                for k in range(3):
                    g[1 + k, i] = gradients[e, k, i]
                    g[0, i] -= gradients[e, k, i]
                    left[i, k] = f[i, 0] * f[k, 0] + f[i, 1] * f[k, 1] + f[i, 2] * f[k, 2]
            for a in range(4):
                for i in range(3):
                    along[a, i] = f[i, 0] * g[a, 0] + f[i, 1] * g[a, 1] + f[i, 2] * g[a, 2]
            pair = 0
            # In the order of ``CORNER_PAIRS``.
            for a in range(4):
                for b in range(a, 4):
                    _apply(stress, e, g[b], pulled)
                    turning = g[a, 0] * pulled[0] + g[a, 1] * pulled[1] + g[a, 2] * pulled[2]
                    near = g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2]
                    for i in range(3):
                        for j in range(3):
                            value = shear[e] * (along[b, i] * along[a, j] + near * left[i, j])
                            value += bulk[e] * along[a, i] * along[b, j]
                            if i == j:
                                value += turning
                            out[e, pair, 3 * i + j] = volumes[e] * value
                    pair += 1
