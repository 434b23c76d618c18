# SPDX-License-Identifier: GPL-3.0-or-later
"""The energies of tets: one elasticity for each material model, with merged parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .assembly.tensor_channel import TensorChannel
from .geometry.tet_mesh import TetMesh
from .materials import Linear, Material
from .materials.material import PARAMETERS
from .potentials import Elasticity, LinearElasticity, Viscosity
from .potentials.posed_elasticity import PosedElasticity
from .scene.channel import Channel
from .scene.rest_shape import RestShape
from .scene.soft_body import SoftBody


def merged_material(
    parts: list[tuple[Material, TetMesh]], tensor: Callable[[NDArray[np.float64]], Tensor]
) -> Material:
    """Merge materials of one model; parameters that differ become tensors, a number a tet.

    Args:
        parts: of each body its material and its tetrahedra.
        tensor: makes one of an array.
    """
    materials = [_filled(material, mesh) for material, mesh in parts]
    merged: dict[str, float | Tensor] = {}
    for name in PARAMETERS:
        values = [np.asarray(getattr(material, name), dtype=float) for material in materials]
        if all(value.ndim == 0 and value == values[0] for value in values):
            merged[name] = float(values[0])
        else:
            each = [
                np.broadcast_to(value, len(mesh.tets))
                for value, (_, mesh) in zip(values, parts, strict=True)
            ]
            merged[name] = tensor(np.concatenate(each))
    return replace(materials[0], **merged)


def fill(mesh: TetMesh) -> NDArray[np.float64]:
    """(M,) fraction of each tet that is material."""
    return np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill


def _filled(material: Material, mesh: TetMesh) -> Material:
    """The material, as much softer in each tet as that is empty."""
    if mesh.fill is None:
        return material
    return replace(material, young=np.asarray(material.young) * mesh.fill)


class TetEnergies:
    """The energies of tetrahedra, merged by model.

    Args:
        bodies, meshes: they go together.
        offsets: index of the first vertex of each among all.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self, bodies: list[SoftBody], meshes: list[TetMesh], offsets: list[int], template: Tensor
    ) -> None:
        self._bodies, self._meshes, self._offsets = bodies, meshes, offsets
        self._template = template
        models: dict[Any, list[int]] = {}
        for index, body in enumerate(bodies):
            # Stiffness over time is a factor on the whole elasticity.
            settings = (body.stiffness, body.rest_shape, body.pose)
            model_index = None if all(each is None for each in settings) else index
            models.setdefault((body.material.model(), model_index), []).append(index)
        #: The bodies of each elasticity.
        self.bodies = list(models.values())
        self.elasticities = [self._elasticity(indices) for indices in self.bodies]
        #: The viscosities of each elasticity.
        self.viscosities = [
            self._viscosities(elasticity, indices)
            if any(bodies[index].is_viscous for index in indices)
            else []
            for elasticity, indices in zip(self.elasticities, self.bodies, strict=True)
        ]

    def _elasticity(self, indices: list[int]) -> Elasticity:
        parts = [(self._bodies[i].material, self._meshes[i]) for i in indices]
        material = merged_material(parts, self._tensor)
        meshes = [(self._offsets[i], self._meshes[i]) for i in indices]
        pose = self._bodies[indices[0]].pose
        if pose is not None:
            # The pose of an elasticity, which then has a single body.
            rows = pose.mapped(lambda samples: samples.swapaxes(1, 2))
            channel = TensorChannel.of(rows, self._template)
            return PosedElasticity(material, *meshes[0], self._template, channel)
        kind = LinearElasticity if isinstance(material, Linear) else Elasticity
        rest_shape = self._bodies[indices[0]].rest_shape
        if rest_shape is None:
            return kind(material, meshes, self._template, self._stiffness(indices))
        keyed = self._reshaped(self._bodies[indices[0]], rest_shape)
        return kind(material, meshes, self._template, keyed, rest_shape)

    def _reshaped(self, body: SoftBody, rest_shape: RestShape) -> TensorChannel:
        """Return the factors on Young's modulus and the amounts of displacements."""
        factor = Channel(np.ones(1)) if body.stiffness is None else body.stiffness
        both = Channel.side_by_side([factor.mapped(lambda k: k[:, None]), rest_shape.amounts])
        return TensorChannel.of(both, self._template)

    def _viscosities(self, elasticity: Elasticity, indices: list[int]) -> list[Viscosity]:
        """Return the viscosities of the tets of one model, zero where their body has none."""
        tets, material = elasticity.tets, elasticity.material
        if isinstance(elasticity, PosedElasticity):
            elasticity.write_always()
        rates = self._tensor(self._tet_values("stiffness_damping", indices))
        filled = np.concatenate([fill(self._meshes[i]) for i in indices])
        shears = self._tensor(filled * self._tet_values("viscosity", indices))
        stiffness = self._stiffness(indices)
        if stiffness is None:
            return [Viscosity(tets, rates * material.mu + shears, rates * material.lam)]
        return [
            Viscosity(tets, rates * material.mu, rates * material.lam, stiffness),
            Viscosity(tets, shears, torch.zeros_like(shears)),
        ]

    def _stiffness(self, indices: list[int]) -> TensorChannel | None:
        """Return the animated stiffness of an elasticity, which then has one body; None for a
        constant one.
        """
        stiffness = self._bodies[indices[0]].stiffness
        return None if stiffness is None else TensorChannel.of(stiffness, self._template)

    def _tet_values(self, name: str, indices: list[int]) -> NDArray[np.float64]:
        """A setting of bodies, one value a tet."""
        values = ((getattr(self._bodies[i], name), len(self._meshes[i].tets)) for i in indices)
        return np.concatenate([np.broadcast_to(value, count) for value, count in values])

    def _tensor(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values)).to(self._template)
