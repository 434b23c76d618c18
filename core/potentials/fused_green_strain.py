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
from .compiled_deformation import deform
from .fused_elasticity import sum_at_vertices
from .tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 3000
#: One thread takes so many tets at a time.
PORTION = 128


class FusedGreenStrain:
    """For CPUs; the methods are those of ``GreenStrainPasses``."""

    def __init__(self, tets: Tets) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._volumes = tets.volumes.numpy()
        self._forces = np.empty((9, len(tets)), dtype=self._volumes.dtype)

    def strain(self, positions: Tensor) -> Tensor:
        x = positions.numpy()
        strain = self._rate(x, x)
        # FᵀF is what the rate is where positions are their own velocity.
        strain *= 0.5
        strain[:3] -= 0.5
        return strain

    def rate(self, positions: Tensor, velocities: Tensor) -> Tensor:
        return self._rate(positions.numpy(), velocities.numpy())

    def _rate(self, positions: Any, velocities: Any) -> Tensor:
        rate = torch.empty((6, len(self._tets)), dtype=self._tets.volumes.dtype)
        use_threads(len(self._tets), TETS_PER_THREAD)
        _rates(positions, velocities, self._corners, self._tets.gradients_by_tet, rate.numpy())
        return rate

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
def _rates(positions: Any, velocities: Any, corners: Any, gradients: Any, out: Any) -> None:
    count = corners.shape[1]
    for portion in shared_range((count + PORTION - 1) // PORTION):
        edges, f, change = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        for e in range(portion * PORTION, min(count, (portion + 1) * PORTION)):
            deform(positions, corners, gradients, e, edges, f)
            deform(velocities, corners, gradients, e, edges, change)
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                along, across = 0.0, 0.0
                for row in range(3):
                    along += f[row, i] * change[row, i]
                    across += f[row, j] * change[row, k] + change[row, j] * f[row, k]
                out[i, e], out[3 + i, e] = along, 0.5 * across


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
