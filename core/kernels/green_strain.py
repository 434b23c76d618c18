# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of the Green strains of tets and the forces of stresses against them.

Formulas: ``TorchGreenStrain``, which writes the same for torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from ..math3 import vectors
from ..math3.matrices import (
    add3,
    add_to_column,
    between,
    column_of,
    full,
    matmul3,
    matrix_of,
    scaled,
    set_column,
    squared,
    symmetric,
    symmetric_in,
    tet_edges,
    transposed,
    weighted_sum,
    with_diagonal,
)
from . import elasticity
from .elasticity import products, write_corner_blocks

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 1000


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
        self._forces.fill(0.0)
        self.add_viscous_edge_forces(positions, velocities, shear, bulk, self._forces)
        self._tets.vertex_sums.add(self._forces, out.numpy())

    def add_viscous_edge_forces(
        self,
        positions: Tensor,
        velocities: Tensor,
        shear: Tensor,
        bulk: Tensor,
        out: NDArray[Any],
    ) -> None:
        """Adds viscous forces on the edges of tets to (9, M), in newtons."""
        use_threads(len(self._tets), elasticity.TETS_PER_THREAD)
        _add_viscous_edge_forces(
            positions.numpy(),
            velocities.numpy(),
            shear.numpy(),
            bulk.numpy(),
            self._corners,
            self._rows,
            out,
        )

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
        self._tets.vertex_sums.add(self._forces, out.numpy())

    def hessian_blocks(
        self, positions: Tensor, stress: Tensor, shear: Tensor, bulk: Tensor, out: Tensor
    ) -> None:
        use_threads(len(self._tets), TETS_PER_THREAD)
        _write_blocks(
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
    for e in shared_range(corners.shape[1]):
        f = matmul3(tet_edges(positions, corners, e), matrix_of(gradients[e]))
        xx, xy, xz, yy, yz, zz = squared(f)
        out[0, e], out[1, e], out[2, e] = 0.5 * (xx - 1.0), 0.5 * (yy - 1.0), 0.5 * (zz - 1.0)
        out[3, e], out[4, e], out[5, e] = 0.5 * yz, 0.5 * xz, 0.5 * xy


@compiled(parallel=True)
def _add_viscous_edge_forces(
    positions: Any, velocities: Any, shear: Any, bulk: Any, corners: Any, constants: Any, out: Any
) -> None:
    """Adds V F (2a dE/dt + b tr(dE/dt) I) times the shape gradients of corners 1 to 3 to (9, M).

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
        forces = matmul3(d, full(weighted_sum(a, between(s, r), b, s)))
        add_to_column(out, e, out.dtype.type(1.0), forces)


@compiled(parallel=True)
def _edge_forces(
    positions: Any, stress: Any, corners: Any, gradients: Any, volumes: Any, out: Any
) -> None:
    """V F S times the shape gradients of corners 1 to 3, into (9, M)."""
    for e in shared_range(corners.shape[1]):
        g = matrix_of(gradients[e])
        f = matmul3(tet_edges(positions, corners, e), g)
        pulled = matmul3(full(_tensor_in(stress, e)), transposed(g))
        set_column(out, e, scaled(volumes[e], matmul3(f, pulled)))


@compiled(inline=True)
def _tensor_in(rows: Any, e: int) -> Any:
    """A symmetric tensor of six rows xx, yy, zz, yz, zx, xy."""
    return symmetric(rows[0, e], rows[5, e], rows[4, e], rows[1, e], rows[3, e], rows[2, e])


@compiled(parallel=True)
def _write_blocks(
    positions: Any,
    stress: Any,
    shear: Any,
    bulk: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    out: Any,
) -> None:
    """With f_a = F g_a that of corners a and b, 1 to 3, is V times

    a (f_b f_aᵀ + g_a · g_b F Fᵀ) + b f_a f_bᵀ + g_a · S g_b I.
    """
    for e in shared_range(corners.shape[1]):
        g, volume = matrix_of(gradients[e]), volumes[e]
        f = matmul3(tet_edges(positions, corners, e), g)
        along, left = matmul3(f, transposed(g)), full(squared(transposed(f)))
        a, b = volume * shear[e], volume * bulk[e]
        near = scaled(a, matmul3(g, transposed(g)))
        geometric = matmul3(g, matmul3(full(_tensor_in(stress, e)), transposed(g)))
        f1, f2, f3 = column_of(along, 0), column_of(along, 1), column_of(along, 2)
        write_corner_blocks(
            _block(f1, f1, a, b, near[0], left, volume * geometric[0]),
            _block(f1, f2, a, b, near[1], left, volume * geometric[1]),
            _block(f1, f3, a, b, near[2], left, volume * geometric[2]),
            _block(f2, f2, a, b, near[4], left, volume * geometric[4]),
            _block(f2, f3, a, b, near[5], left, volume * geometric[5]),
            _block(f3, f3, a, b, near[8], left, volume * geometric[8]),
            out[e],
        )


@compiled()
def _block(u: Any, v: Any, a: Any, b: Any, near: Any, left: Any, geometric: Any) -> Any:
    """a v uᵀ + b u vᵀ + near F Fᵀ + geometric I."""
    both = add3(products(vectors.scaled(a, v), u, vectors.scaled(b, u), v), scaled(near, left))
    return with_diagonal(both, geometric)
