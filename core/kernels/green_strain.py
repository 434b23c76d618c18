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


@compiled(parallel=True)
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
    x, y, z = positions[0], positions[1], positions[2]
    u, v, w = velocities[0], velocities[1], velocities[2]
    two = out.dtype.type(2.0)
    for e in shared_range(corners.shape[1]):
        v0, v1, v2, v3 = corners[0, e], corners[1, e], corners[2, e], corners[3, e]
        x1, y1, z1 = x[v1] - x[v0], y[v1] - y[v0], z[v1] - z[v0]
        x2, y2, z2 = x[v2] - x[v0], y[v2] - y[v0], z[v2] - z[v0]
        x3, y3, z3 = x[v3] - x[v0], y[v3] - y[v0], z[v3] - z[v0]
        a1, b1, c1 = u[v1] - u[v0], v[v1] - v[v0], w[v1] - w[v0]
        a2, b2, c2 = u[v2] - u[v0], v[v2] - v[v0], w[v2] - w[v0]
        a3, b3, c3 = u[v3] - u[v0], v[v3] - v[v0], w[v3] - w[v0]
        r11 = two * (x1 * a1 + y1 * b1 + z1 * c1)
        r22 = two * (x2 * a2 + y2 * b2 + z2 * c2)
        r33 = two * (x3 * a3 + y3 * b3 + z3 * c3)
        r12 = (x1 * a2 + y1 * b2 + z1 * c2) + (x2 * a1 + y2 * b1 + z2 * c1)
        r13 = (x1 * a3 + y1 * b3 + z1 * c3) + (x3 * a1 + y3 * b1 + z3 * c1)
        r23 = (x2 * a3 + y2 * b3 + z2 * c3) + (x3 * a2 + y3 * b2 + z3 * c2)
        s11, s12, s13 = constants[0, e], constants[1, e], constants[2, e]
        s22, s23, s33 = constants[3, e], constants[4, e], constants[5, e]
        # R S
        q11, q12, q13 = (
            r11 * s11 + r12 * s12 + r13 * s13,
            r11 * s12 + r12 * s22 + r13 * s23,
            r11 * s13 + r12 * s23 + r13 * s33,
        )
        q21, q22, q23 = (
            r12 * s11 + r22 * s12 + r23 * s13,
            r12 * s12 + r22 * s22 + r23 * s23,
            r12 * s13 + r22 * s23 + r23 * s33,
        )
        q31, q32, q33 = (
            r13 * s11 + r23 * s12 + r33 * s13,
            r13 * s12 + r23 * s22 + r33 * s23,
            r13 * s13 + r23 * s23 + r33 * s33,
        )
        inverse_volume = constants[6, e]
        a, b = inverse_volume * shear[e], inverse_volume * bulk[e] * (q11 + q22 + q33) / two
        t11 = a * (s11 * q11 + s12 * q21 + s13 * q31) + b * s11
        t12 = a * (s11 * q12 + s12 * q22 + s13 * q32) + b * s12
        t13 = a * (s11 * q13 + s12 * q23 + s13 * q33) + b * s13
        t22 = a * (s12 * q12 + s22 * q22 + s23 * q32) + b * s22
        t23 = a * (s12 * q13 + s22 * q23 + s23 * q33) + b * s23
        t33 = a * (s13 * q13 + s23 * q23 + s33 * q33) + b * s33
        out[0, e] = x1 * t11 + x2 * t12 + x3 * t13
        out[1, e] = x1 * t12 + x2 * t22 + x3 * t23
        out[2, e] = x1 * t13 + x2 * t23 + x3 * t33
        out[3, e] = y1 * t11 + y2 * t12 + y3 * t13
        out[4, e] = y1 * t12 + y2 * t22 + y3 * t23
        out[5, e] = y1 * t13 + y2 * t23 + y3 * t33
        out[6, e] = z1 * t11 + z2 * t12 + z3 * t13
        out[7, e] = z1 * t12 + z2 * t22 + z3 * t23
        out[8, e] = z1 * t13 + z2 * t23 + z3 * t33


@compiled(parallel=True)
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
