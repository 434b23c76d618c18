# SPDX-License-Identifier: GPL-3.0-or-later
"""The elastic energy and gradient of models in the principal stretches, as torch passes."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..kernels.torch_matrices import matmul3, signed_svd
from ..materials import StretchMaterial


class TorchStretches:
    """Energy and gradient of the tets of one material, on any device.

    Args:
        material: with parameters that are numbers or (M,) tensors.
    """

    def __init__(self, material: StretchMaterial, tets: Tets) -> None:
        self._material, self._tets = material, tets

    def energy(self, positions: Tensor) -> Tensor:
        """In joules, a tensor of no dimension."""
        _, sigma, _ = self._svd(positions)
        return torch.dot(self._material.energy(sigma), self._tets.volumes)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the (3, N) gradient in newtons to ``out``."""
        u, sigma, v = self._svd(positions)
        principal_stresses = self._tets.volumes * torch.stack(self._material.derivatives(sigma))
        stress = matmul3(u * principal_stresses, v.transpose(0, 1))
        forces = matmul3(stress, self._tets.shape_gradients[1:].transpose(0, 1))
        self._tets.add_edge_forces(forces, out)

    def _svd(self, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return signed_svd(self._tets.deformation_gradients(positions))
