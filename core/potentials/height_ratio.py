# SPDX-License-Identifier: GPL-3.0-or-later
"""How flat tets are: η = √3 J / |cof F|, their volume over the root mean square of their areas in
all directions, both beside those at rest.

It is 1 at rest and has the sign of J. Where one principal stretch is much smaller than the others
it is √3 times that stretch, however far the tet has spread to the sides.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.tets import Tets
from ..compiled import is_compiled
from ..kernels.tet_heights import LEAST_SQUARE, ROOT_3, height_ratios_on_cpu

Values = NDArray[np.float64]

# ε_ijk, the signs of permutations.
_EPSILON = np.zeros((3, 3, 3))
_EPSILON[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
_EPSILON[[0, 2, 1], [2, 1, 0], [1, 0, 2]] = -1.0


def height_ratios(tets: Tets, positions: Tensor) -> Tensor:
    """(M,) η of each tet at (3, N) positions."""
    if is_compiled() and not positions.is_cuda:
        return height_ratios_on_cpu(positions, tets.corners, tets.gradients_by_tet)
    return height_derivatives_of(tets.deformation_gradients(positions))[0]


def height_derivatives_of(f: Tensor) -> tuple[Tensor, Tensor]:
    """(M,) η of (3, 3, M) deformation gradients, and (3, 3, M) its derivatives; on autograd's tape
    where F is."""
    cofactor = 0.5 * _mixed_cofactor(f, f)
    square = cofactor.square().sum((0, 1)) + LEAST_SQUARE
    scale, j = ROOT_3 / square.sqrt(), (f[0] * cofactor[0]).sum(0)
    return scale * j, scale * (cofactor - j / square * _mixed_cofactor(f, cofactor))


def _mixed_cofactor(f: Tensor, g: Tensor) -> Tensor:
    """(3, 3, M) derivative of cof F in a direction G; of G = F twice the cofactor."""
    rows = []
    for j, k in ((1, 2), (2, 0), (0, 1)):
        rows.append(torch.linalg.cross(f[j], g[k], dim=0) + torch.linalg.cross(g[j], f[k], dim=0))
    return torch.stack(rows)


class HeightRatios:
    """Those of tets, and how they change.

    Args:
        f: (A, 3, 3) deformation gradients.
    """

    def __init__(self, f: Values) -> None:
        # Of J; times F it is twice the cofactor, times the cofactor half the derivative of the
        # square: J is a cubic, and its second derivative is linear in F.
        self._hessians = _hessians_of_j(f)
        self._cofactors = 0.5 * _times(self._hessians, f.reshape(-1, 9))
        self._inner = _times(self._hessians, self._cofactors)
        self._j = (self._cofactors * f.reshape(-1, 9)).sum(axis=1) / 3.0
        self._squares = (self._cofactors**2).sum(axis=1) + LEAST_SQUARE

    @property
    def values(self) -> Values:
        """(A,) η."""
        return np.asarray(ROOT_3 * self._j / np.sqrt(self._squares))

    @cached_property
    def gradients(self) -> Values:
        """(A, 3, 3) derivatives in F."""
        inner = (self._j / self._squares)[:, None] * self._inner
        scale = ROOT_3 / np.sqrt(self._squares)[:, None]
        return np.asarray(scale * (self._cofactors - inner)).reshape(-1, 3, 3)

    @property
    def hessians(self) -> Values:
        """(A, 9, 9) second derivatives in the entries of F, row by row."""
        cofactors, inner, squares = self._cofactors, self._inner, self._squares[:, None, None]
        ratios = self._j[:, None, None] / squares
        mixed = cofactors[:, :, None] * inner[:, None]
        of_square = self._hessians @ self._hessians + _hessians_of_j(cofactors.reshape(-1, 3, 3))
        own = 3.0 * inner[:, :, None] * inner[:, None] / squares - of_square
        sums = self._hessians - (mixed + mixed.swapaxes(1, 2)) / squares + ratios * own
        return np.asarray(ROOT_3 / np.sqrt(squares) * sums)


def _hessians_of_j(f: Values) -> Values:
    """(A, 9, 9) second derivatives of det F in the entries of F, row by row."""
    products = np.einsum("imn,jpq,amp->aijnq", _EPSILON, _EPSILON, f)
    return np.asarray(products.reshape(-1, 9, 9))


def _times(matrices: Values, vectors: Values) -> Values:
    """(A, 9) products of (A, 9, 9) and (A, 9)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])
