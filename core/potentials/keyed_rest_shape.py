# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest shape of tets, where that changes over time."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.tets import Tets
from ..materials import Material
from ..scene.rest_shape import RestShape


class KeyedRestShape:
    """
    Args:
        tets: of one body; what is constant of them at rest is written to.
        rest_shape: of its vertices.
    """

    def __init__(self, tets: Tets, rest_shape: RestShape) -> None:
        ((first, mesh),) = tets.meshes
        template = tets.template
        self._tets, self._slice = tets, slice(first, first + len(mesh.vertices))
        self._modelled = torch.as_tensor(mesh.vertices.T).to(template)
        displacements = rest_shape.displacements.transpose(0, 2, 1).copy()
        self._displacements = torch.as_tensor(displacements).to(template)
        #: (3, N) of all vertices of the scene, zero of others, in metres.
        self.positions = template.new_zeros(3, len(template))
        #: How often it has changed.
        self.changes = 0

    def set_amounts(self, amounts: Tensor) -> None:
        """Gives the tets the rest shape of (K,) amounts. On CUDA this is recorded."""
        moved = torch.tensordot(amounts, self._displacements, dims=1)
        torch.add(self._modelled, moved, out=self.positions[:, self._slice])
        self._tets.set_rest_positions(self.positions)
        self.changes += 1

    def put_into(self, positions: Tensor) -> None:
        """Writes where its vertices rest now into (3, N) positions."""
        positions[:, self._slice] = self.positions[:, self._slice]

    def fastest(self, material: Material) -> float:
        """The largest (λ + 2μ) V |∇|² of a tet as it is now over its modelled volume, in 1/s² times
        its density: how fast its fastest vibration is, squared, since its mass stays."""
        gradients = self._tets.shape_gradients.square().sum((0, 1))
        ((_, mesh),) = self._tets.meshes
        modelled = torch.as_tensor(mesh.rest_volumes).to(self._tets.volumes)
        modulus = material.lam + 2.0 * material.mu
        return float((modulus * gradients * self._tets.volumes / modelled).max())
