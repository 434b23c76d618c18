# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the projected elastic Hessian on a CPU.

Formulas and sources: ``eigensystem.py``, which writes the same for torch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..compiled import as_index, compiled, shared_range, use_threads
from .deformation import deformation_gradient, diagonalize, matmul3, signed_svd
from .laws import (
    FIRST_STRETCH_LAW,
    Constants,
    first_derivatives,
    second_derivatives,
    stretch_second_derivatives,
)

if TYPE_CHECKING:
    from ..assembly.tets import Tets

TETS_PER_THREAD = 500
#: One thread takes so many tets at a time.
TETS_PER_CHUNK = 128


class HessianKernel:
    """Projected Hessians of the tets of one material.

    Args:
        constants: of the tets.
    """

    def __init__(self, constants: Constants, tets: Tets) -> None:
        self._constants, self._tets = constants, tets

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        use_threads(len(self._tets), TETS_PER_THREAD)
        own, tets = self._constants, self._tets
        of_tets = (
            positions.numpy(),
            tets.corners.numpy(),
            tets.gradients_by_tet,
            tets.volumes.numpy(),
            own.moduli,
        )
        material = own.law, own.kappa, own.low, own.high
        _blocks(of_tets, material, projected, out.numpy())


@compiled(parallel=True, allocates=True)
def _blocks(tets: Any, material: Any, projected: bool, out: Any) -> None:
    count = len(out)
    for chunk in shared_range((count + TETS_PER_CHUNK - 1) // TETS_PER_CHUNK):
        scratch = np.empty((7, 3, 3)), np.empty((3, 3))
        first = as_index(chunk) * TETS_PER_CHUNK
        last = min(count, first + TETS_PER_CHUNK)
        _write_blocks(first, last, scratch, tets, material, projected, out)


@compiled()
def _write_blocks(
    first: int, last: int, scratch: Any, tets: Any, material: Any, projected: bool, out: Any
) -> None:
    """Of some tets, one after the other."""
    positions, corners, gradients, volumes, moduli = tets
    floor = 0.0 if projected else -math.inf
    matrices, vectors = scratch
    s, shear, cross = vectors[0], vectors[1], vectors[2]
    edges, f, u, v = matrices[0], matrices[1], matrices[2], matrices[3]
    stretch, g, spare = matrices[4], matrices[5], matrices[6]
    for e in range(first, last):
        deformation_gradient(positions, corners, gradients, e, edges, f)
        signed_svd(f, u, s, v, spare)
        own = (moduli[0, e], moduli[1, e], volumes[e])
        if material[0] >= FIRST_STRETCH_LAW:
            _of_stretches(s, material, own, floor, stretch, shear, cross)
        else:
            _of_invariants(s, material, own, floor, stretch, shear, cross)
        if projected:
            _project(stretch, f, spare)
        matmul3(gradients[e], v, g)
        _scatter_to_corner_blocks(u, g, stretch, shear, cross, spare, f, out[e])


@compiled()
def _of_stretches(
    s: Any, material: Any, own: Any, floor: float, stretch: Any, shear: Any, cross: Any
) -> None:
    """The eigensystem of a law in the stretches ``s``, times the volume.

    ∂²Ψ/∂σ_i∂σ_j goes into ``stretch``; half the sum and half the difference of each pair of shear
    eigenvalues, at least ``floor``, into ``shear`` and ``cross``.

    Args:
        material: number of the law, its kappa, and between which J it holds.
        own: μ, λ and volume of the tet.
    """
    law, kappa, _, _ = material
    mu, lam, volume = own
    numbers = stretch_second_derivatives(law, s[0], s[1], s[2], mu, lam, kappa)
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        stretch[k, k] = volume * numbers[k]
        stretch[a, b], stretch[b, a] = volume * numbers[3 + k], volume * numbers[3 + k]
        flip, twist = volume * max(numbers[6 + k], floor), volume * max(numbers[9 + k], floor)
        shear[k], cross[k] = 0.5 * (flip + twist), 0.5 * (flip - twist)


@compiled()
def _of_invariants(
    s: Any, material: Any, own: Any, floor: float, stretch: Any, shear: Any, cross: Any
) -> None:
    """The same of a law in I_C and J."""
    law, _, low, high = material
    mu, lam, volume = own
    i_c = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
    j = s[0] * s[1] * s[2]
    inside = min(max(j, low), high)
    along_f, along_cofactor = first_derivatives(law, i_c, inside, mu, lam)
    by_i, mixed, by_j = second_derivatives(law, i_c, inside, mu, lam)
    if inside != j:
        mixed, by_j = 0.0 * mixed, 0.0 * by_j
    for k in range(3):
        a, b = (k + 1) % 3, (k + 2) % 3
        cofactor, cofactor_a, cofactor_b = s[a] * s[b], s[b] * s[k], s[k] * s[a]
        stretch[k, k] = volume * (
            along_f
            + by_i * s[k] * s[k]
            + 2.0 * mixed * s[k] * cofactor
            + by_j * cofactor * cofactor
        )
        off_diagonal = volume * (
            by_i * s[a] * s[b]
            + mixed * (s[a] * cofactor_b + s[b] * cofactor_a)
            + by_j * cofactor_a * cofactor_b
            + along_cofactor * s[k]
        )
        stretch[a, b], stretch[b, a] = off_diagonal, off_diagonal
        symmetric = volume * max(along_f - along_cofactor * s[k], floor)
        antisymmetric = volume * max(along_f + along_cofactor * s[k], floor)
        shear[k] = 0.5 * (symmetric + antisymmetric)
        cross[k] = 0.5 * (symmetric - antisymmetric)


@compiled()
def _project(a: Any, scratch: Any, vectors: Any) -> None:
    """The nearest positive semi-definite matrix to the symmetric ``a``, in its place."""
    minor = a[0, 0] * a[1, 1] - a[0, 1] * a[0, 1]
    determinant = (
        a[0, 0] * (a[1, 1] * a[2, 2] - a[1, 2] * a[1, 2])
        - a[0, 1] * (a[0, 1] * a[2, 2] - a[1, 2] * a[0, 2])
        + a[0, 2] * (a[0, 1] * a[1, 2] - a[1, 1] * a[0, 2])
    )
    if a[0, 0] > 0.0 and minor > 0.0 and determinant > 0.0:
        return
    for i in range(3):
        for j in range(3):
            scratch[i, j] = a[i, j]
    diagonalize(scratch, vectors)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += max(scratch[k, k], 0.0) * vectors[i, k] * vectors[j, k]
            a[i, j] = total


@compiled()
def _scatter_to_corner_blocks(
    u: Any, g: Any, stretch: Any, shear: Any, cross: Any, h: Any, half: Any, out: Any
) -> None:
    """From the frame of the singular vectors to blocks of corner pairs.

    ``g`` holds the shape gradients of corners 1 to 3 in that frame; the gradients of all four add
    up to zero, which gives the blocks of corner 0.
    """
    for pair in range(4):
        for entry in range(9):
            out[pair, entry] = 0.0
    pair = 4
    for a in range(3):
        for b in range(a, 3):
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                h[i, i] = (
                    stretch[i, i] * g[a, i] * g[b, i]
                    + shear[k] * g[a, j] * g[b, j]
                    + shear[j] * g[a, k] * g[b, k]
                )
                ij, ji = g[a, i] * g[b, j], g[a, j] * g[b, i]
                h[i, j] = stretch[i, j] * ij + cross[k] * ji
                h[j, i] = stretch[i, j] * ji + cross[k] * ij
            matmul3(u, h, half)
            for i in range(3):
                for j in range(3):
                    value = half[i, 0] * u[j, 0] + half[i, 1] * u[j, 1] + half[i, 2] * u[j, 2]
                    out[pair, 3 * i + j] = value
                    out[1 + b, 3 * i + j] -= value
                    if a != b:
                        out[1 + a, 3 * j + i] -= value
            pair += 1
    for i in range(3):
        for j in range(3):
            out[0, 3 * i + j] = -(out[1, 3 * j + i] + out[2, 3 * j + i] + out[3, 3 * j + i])
