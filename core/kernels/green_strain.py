# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the Green strains of tets and the forces of stresses against them.

Formulas: ``torch_green_strain``, which writes the same for torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from . import elasticity
from .deformation import deformation_gradient
from .elasticity import sum_at_vertices
from .matrices import matmul3, set_column, tet_edges
from .symmetric_matrices import between, full, symmetric, symmetric_in, weighted_sum

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000
#: One thread takes so many tets at a time.
TETS_PER_CHUNK = 128


class GreenStrainKernel:
    """For CPUs; the methods are those of ``TorchGreenStrain``."""

    def __init__(self, tets: Tets) -> None:
        self._tets, self._corners = tets, tets.corners.numpy()
        self._volumes = tets.volumes.numpy()
        self._forces: NDArray[Any] = np.empty((9, len(tets)), dtype=self._volumes.dtype)
        self._rows = tets.metric_by_tet

    def strain(self, positions: Tensor) -> Tensor:
        strain = torch.empty((6, len(self._tets)), dtype=self._tets.volumes.dtype)
        use_threads(len(self._tets), TETS_PER_THREAD)
        _strains(positions.numpy(), self._corners, self._tets.gradients_by_tet, strain.numpy())
        return strain

    def add_viscous_forces(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        forces = self.edge_forces(positions, velocities, shear, bulk)
        sum_at_vertices(forces, self._corners, out.numpy())

    def edge_forces(
        self, positions: Tensor, velocities: Tensor, shear: Tensor, bulk: Tensor
    ) -> NDArray[Any]:
        """(9, M) viscous forces on the edges of tets, in newtons; the next call writes over it."""
        use_threads(len(self._tets), elasticity.TETS_PER_THREAD)
        _viscous_edge_forces(
            positions.numpy(),
            velocities.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._rows,
            self._forces,
        )
        return self._forces

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


@compiled(parallel=True, allocates=True)
def _strains(positions: Any, corners: Any, gradients: Any, out: Any) -> None:
    count = corners.shape[1]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f = np.empty((3, 3)), np.empty((3, 3))
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            deformation_gradient(positions, corners, gradients, e, edges, f)
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
    positions: Any, velocities: Any, shear: Any, bulk: Any, corners: Any, constants: Any, out: Any
) -> None:
    """V F (2a dE/dt + b tr(dE/dt) I) times the shape gradients of corners 1 to 3, into (9, M).

    With D the edges, R = DᵀḊ + ḊᵀD and S the products of the shape gradients times V, as in
    ``Elasticity``, that is D (a S R S + b/2 tr(R S) S) / V.
    """
    two = out.dtype.type(2.0)
    for e in shared_range(corners.shape[1]):
        d = tet_edges(positions, corners, e)
        x1, x2, x3, y1, y2, y3, z1, z2, z3 = d
        a1, a2, a3, b1, b2, b3, c1, c2, c3 = tet_edges(velocities, corners, e)
        r11 = two * (x1 * a1 + y1 * b1 + z1 * c1)
        r22 = two * (x2 * a2 + y2 * b2 + z2 * c2)
        r33 = two * (x3 * a3 + y3 * b3 + z3 * c3)
        r12 = (x1 * a2 + y1 * b2 + z1 * c2) + (x2 * a1 + y2 * b1 + z2 * c1)
        r13 = (x1 * a3 + y1 * b3 + z1 * c3) + (x3 * a1 + y3 * b1 + z3 * c1)
        r23 = (x2 * a3 + y2 * b3 + z2 * c3) + (x3 * a2 + y3 * b2 + z3 * c2)
        r, s = symmetric(r11, r12, r13, r22, r23, r33), symmetric_in(constants, e)
        q, inverse_volume = matmul3(full(r), full(s)), constants[6, e]
        a, b = inverse_volume * shear[e], inverse_volume * bulk[e] * (q[0] + q[4] + q[8]) / two
        set_column(out, e, matmul3(d, full(weighted_sum(a, between(s, r), b, s))))


@compiled(parallel=True, allocates=True)
def _edge_forces(
    positions: Any, stress: Any, corners: Any, gradients: Any, volumes: Any, out: Any
) -> None:
    """V F S times the shape gradients of corners 1 to 3, into (9, M)."""
    count = corners.shape[1]
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, pulled = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            deformation_gradient(positions, corners, gradients, e, edges, f)
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


@compiled(parallel=True, allocates=True)
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
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        edges, f, left = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
        g, along, pulled = np.empty((4, 3)), np.empty((4, 3)), np.empty(3)
        for e in range(chunk * TETS_PER_CHUNK, min(count, (chunk + 1) * TETS_PER_CHUNK)):
            deformation_gradient(positions, corners, gradients, e, edges, f)
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
                    geometric = g[a, 0] * pulled[0] + g[a, 1] * pulled[1] + g[a, 2] * pulled[2]
                    near = g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2]
                    for i in range(3):
                        for j in range(3):
                            value = shear[e] * (along[b, i] * along[a, j] + near * left[i, j])
                            value += bulk[e] * along[a, i] * along[b, j]
                            if i == j:
                                value += geometric
                            out[e, pair, 3 * i + j] = volumes[e] * value
                    pair += 1
