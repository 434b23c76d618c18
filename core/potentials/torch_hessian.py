# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic Hessian as torch passes over all tets: for CUDA, and where numba is missing."""

from __future__ import annotations

from torch import Tensor

from ..assembly.block_matrix import CORNER_PAIRS
from ..assembly.tets import Tets
from ..kernels.eigensystem import Eigensystem, eigensystem
from ..materials import Material


class TorchHessian:
    """Hessians of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
    """

    def __init__(self, material: Material, tets: Tets) -> None:
        self._material, self._tets = material, tets

    def blocks(self, positions: Tensor, out: Tensor, projected: bool = True) -> None:
        """Writes the (M, 10, 9) blocks of ``CORNER_PAIRS``, row by row, in N/m."""
        hessian = eigensystem(self._material, self._tets.deformation_gradients(positions))
        if projected:
            hessian = hessian.projected()
        write_blocks(hessian, self._tets.volumes, self._tets.shape_gradients, out)


def write_blocks(hessian: Eigensystem, volumes: Tensor, gradients: Tensor, out: Tensor) -> None:
    """Writes the (M, 10, 9) blocks of tets with (M,) volumes and (4, 3, M) shape gradients."""
    weighted = volumes * gradients
    for pair, (a, b) in enumerate(CORNER_PAIRS):
        out[:, pair] = hessian.contract(weighted[a], gradients[b]).flatten(0, 1).T
