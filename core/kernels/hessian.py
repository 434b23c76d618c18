# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the elastic Hessian on a CPU, as it is or projected.

As it is, that of a law in I_C and J needs no singular vectors (``invariant_hessian.py``). Formulas
and sources of the others: ``eigensystem.py``, which writes the same for torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .corner_blocks import write_corner_blocks
from .deformation import AXES, diagonalized, signed_svd
from .invariant_hessian import edge_blocks, invariant_derivatives
from .laws import FIRST_STRETCH_LAW, Constants, stretch_second_derivatives
from .matrices import matmul3, matrix, matrix_of, of_columns, tet_edges, transposed
from .symmetric_matrices import full, symmetric, symmetric_in
from .vectors import scaled

if TYPE_CHECKING:
    from ..assembly.tets import Tets

TETS_PER_THREAD = 500


class HessianKernel:
    """Hessians of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._constants, self._tets = constants, tets

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        own, tets = self._constants, self._tets
        at = positions.numpy(), tets.corners.numpy()
        material = own.law, own.kappa, own.low, own.high
        if projected or own.law >= FIRST_STRETCH_LAW:
            floor = 0.0 if projected else -math.inf
            volumes, gradients = tets.volumes.numpy(), tets.gradients_by_tet
            _write_from_stretches(*at, gradients, volumes, own.moduli, material, floor, out.numpy())
            return
        _write_from_invariants(*at, tets.metric_by_tet, own.moduli, material, out.numpy())


@compiled(parallel=True)
def _write_from_invariants(
    positions: Any, corners: Any, metric: Any, moduli: Any, material: Any, out: Any
) -> None:
    for e in shared_range(corners.shape[1]):
        d, s = tet_edges(positions, corners, e), full(symmetric_in(metric, e))
        own = moduli[0, e], moduli[1, e], metric[6, e]
        h11, h12, h13, h22, h23, h33 = edge_blocks(d, s, material, own)
        write_corner_blocks(h11, h12, h13, h22, h23, h33, out[e])


@compiled(parallel=True)
def _write_from_stretches(
    positions: Any,
    corners: Any,
    gradients: Any,
    volumes: Any,
    moduli: Any,
    material: Any,
    floor: float,
    out: Any,
) -> None:
    """Eigenvalues are ``floor`` at least."""
    for e in shared_range(corners.shape[1]):
        g = matrix_of(gradients[e])
        u, sigma, v = signed_svd(matmul3(tet_edges(positions, corners, e), g))
        if material[0] >= FIRST_STRETCH_LAW:
            stretch, flip, twist = _of_stretches(sigma, material, moduli[0, e], moduli[1, e])
        else:
            stretch, flip, twist = _of_invariants(sigma, material, moduli[0, e], moduli[1, e])
        if floor == 0.0:
            stretch = _projected(stretch)
        volume = volumes[e]
        along, across = _pairs(flip, twist, floor)
        frame = of_columns(u[0], u[1], u[2])
        g = matmul3(g, of_columns(v[0], v[1], v[2]))
        # Shape gradients of corners 1 to 3 in the frame of the singular vectors.
        g1, g2, g3 = (g[0], g[1], g[2]), (g[3], g[4], g[5]), (g[6], g[7], g[8])
        w1, w2, w3 = scaled(volume, g1), scaled(volume, g2), scaled(volume, g3)
        write_corner_blocks(
            _block(frame, stretch, along, across, w1, g1),
            _block(frame, stretch, along, across, w1, g2),
            _block(frame, stretch, along, across, w1, g3),
            _block(frame, stretch, along, across, w2, g2),
            _block(frame, stretch, along, across, w2, g3),
            _block(frame, stretch, along, across, w3, g3),
            out[e],
        )


@compiled()
def _of_stretches(s: Any, material: Any, mu: Any, lam: Any) -> Any:
    """The eigensystem of a law in the stretches: ∂²Ψ/∂σ_i∂σ_j, flips and twists, in pascal.

    Args:
        material: number of the law, its kappa, and between which J it holds.
    """
    n = stretch_second_derivatives(material[0], s[0], s[1], s[2], mu, lam, material[1])
    stretch = symmetric(n[0], n[5], n[4], n[1], n[3], n[2])
    return stretch, (n[6], n[7], n[8]), (n[9], n[10], n[11])


@compiled()
def _of_invariants(s: Any, material: Any, mu: Any, lam: Any) -> Any:
    """The same of a law in I_C and J."""
    i_c, j = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], s[0] * s[1] * s[2]
    p, q, by_i, mixed, by_j = invariant_derivatives(i_c, j, material, mu, lam)
    c = s[1] * s[2], s[2] * s[0], s[0] * s[1]
    turned = q * s[0], q * s[1], q * s[2]
    stretch = symmetric(
        p + by_i * s[0] * s[0] + 2.0 * mixed * s[0] * c[0] + by_j * c[0] * c[0],
        by_i * s[0] * s[1] + mixed * (s[0] * c[1] + s[1] * c[0]) + by_j * c[0] * c[1] + turned[2],
        by_i * s[2] * s[0] + mixed * (s[2] * c[0] + s[0] * c[2]) + by_j * c[2] * c[0] + turned[1],
        p + by_i * s[1] * s[1] + 2.0 * mixed * s[1] * c[1] + by_j * c[1] * c[1],
        by_i * s[1] * s[2] + mixed * (s[1] * c[2] + s[2] * c[1]) + by_j * c[1] * c[2] + turned[0],
        p + by_i * s[2] * s[2] + 2.0 * mixed * s[2] * c[2] + by_j * c[2] * c[2],
    )
    flip = p - turned[0], p - turned[1], p - turned[2]
    return stretch, flip, (p + turned[0], p + turned[1], p + turned[2])


@compiled()
def _pairs(flip: Any, twist: Any, floor: float) -> Any:
    """What δ_ij has to do with itself and with δ_ji, by the axis that is left out."""
    f0, f1, f2 = max(flip[0], floor), max(flip[1], floor), max(flip[2], floor)
    t0, t1, t2 = max(twist[0], floor), max(twist[1], floor), max(twist[2], floor)
    along = 0.5 * (f0 + t0), 0.5 * (f1 + t1), 0.5 * (f2 + t2)
    return along, (0.5 * (f0 - t0), 0.5 * (f1 - t1), 0.5 * (f2 - t2))


@compiled()
def _projected(a: Any) -> Any:
    """The nearest positive semi-definite matrix to a symmetric one."""
    minor = a[0] * a[3] - a[1] * a[1]
    determinant = (
        a[0] * (a[3] * a[5] - a[4] * a[4])
        - a[1] * (a[1] * a[5] - a[4] * a[2])
        + a[2] * (a[1] * a[4] - a[3] * a[2])
    )
    if a[0] > 0.0 and minor > 0.0 and determinant > 0.0:
        return a
    values, vectors = diagonalized(a, AXES)
    x, y, z = vectors
    p, q, r = max(values[0], 0.0), max(values[1], 0.0), max(values[2], 0.0)
    return symmetric(
        p * x[0] * x[0] + q * y[0] * y[0] + r * z[0] * z[0],
        p * x[0] * x[1] + q * y[0] * y[1] + r * z[0] * z[1],
        p * x[0] * x[2] + q * y[0] * y[2] + r * z[0] * z[2],
        p * x[1] * x[1] + q * y[1] * y[1] + r * z[1] * z[1],
        p * x[1] * x[2] + q * y[1] * y[2] + r * z[1] * z[2],
        p * x[2] * x[2] + q * y[2] * y[2] + r * z[2] * z[2],
    )


@compiled()
def _block(u: Any, stretch: Any, along: Any, across: Any, a: Any, b: Any) -> Any:
    """Of two corners by their shape gradients, from the frame of the singular vectors."""
    h = matrix(
        stretch[0] * a[0] * b[0] + along[2] * a[1] * b[1] + along[1] * a[2] * b[2],
        stretch[1] * a[0] * b[1] + across[2] * a[1] * b[0],
        stretch[2] * a[0] * b[2] + across[1] * a[2] * b[0],
        stretch[1] * a[1] * b[0] + across[2] * a[0] * b[1],
        stretch[3] * a[1] * b[1] + along[0] * a[2] * b[2] + along[2] * a[0] * b[0],
        stretch[4] * a[1] * b[2] + across[0] * a[2] * b[1],
        stretch[2] * a[2] * b[0] + across[1] * a[0] * b[2],
        stretch[4] * a[2] * b[1] + across[0] * a[1] * b[2],
        stretch[5] * a[2] * b[2] + along[1] * a[0] * b[0] + along[0] * a[1] * b[1],
    )
    return matmul3(u, matmul3(h, transposed(u)))
