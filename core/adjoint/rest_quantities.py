# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the rest shapes of bodies, on autograd's tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..kernels.torch_matrices import inverses3
from ..merged_material import fill
from ..potentials import Elasticity
from ..system import System

#: The tensor in a place of a scene, or of the number that stands there.
Value = Callable[[str, Any], Tensor]


class RestQuantities:
    """By the formulas of ``TetMesh``, where a rest shape requires grad; else its numbers.

    Args:
        system: of the scene with numbers alone.
        value: of places of its scene.
    """

    def __init__(self, system: System, value: Value) -> None:
        self._meshes, self._bodies, self._value = system.meshes, system.bodies, value
        #: (n, 3) vertices of each body, in metres.
        self.vertices = [
            value(f"bodies[{index}].mesh.vertices", mesh.vertices)
            for index, mesh in enumerate(system.meshes)
        ]
        self._tets = [self._of_tets(index) for index in range(len(system.meshes))]

    @property
    def positions(self) -> Tensor:
        """(3, N) of all vertices, in metres."""
        return torch.cat(self.vertices).T

    def at_start(self, body: int) -> Tensor:
        """(n, 3) where its vertices rest then, in metres."""
        vertices, own = self.vertices[body], self._bodies[body].rest_shape
        if own is None:
            return vertices
        place = f"bodies[{body}].rest_shape"
        amounts = self._value(f"{place}.amounts", own.amounts.samples)
        moved = self._value(f"{place}.displacements", own.displacements)
        return vertices + torch.tensordot(amounts[0], moved, dims=1)

    def of_elasticity(self, index: int, members: list[int]) -> dict[str, Tensor]:
        """``volumes i`` and ``shape gradients i`` of the i-th elasticity, whose bodies these are;
        none where no rest shape requires grad."""
        if not any(self.vertices[k].requires_grad for k in members):
            return {}
        volumes, gradients = zip(*(self._tets[k] for k in members), strict=True)
        return {
            f"volumes {index}": torch.cat(volumes),
            f"shape gradients {index}": torch.cat(gradients, dim=2),
        }

    def over_time(self, index: int, part: Elasticity, body: int) -> dict[str, Tensor]:
        """``amounts i``, ``displacements i`` and ``modelled i`` of the i-th elasticity, which is of
        one body; none where its rest shape stays."""
        if part.rest_shape is None:
            return {}
        place, own = f"bodies[{body}].rest_shape", self._bodies[body].rest_shape
        assert own is not None
        return {
            f"amounts {index}": self._value(f"{place}.amounts", part.channel.samples[:, 1:]),
            f"displacements {index}": self._value(f"{place}.displacements", own.displacements),
            f"modelled {index}": self.vertices[body],
        }

    def areas(self, body: int) -> Tensor:
        """(n,) around its vertices, in m², as ``CollisionPoints`` has them of tetrahedra."""
        mesh, vertices = self._meshes[body], self.vertices[body]
        surface = torch.as_tensor(mesh.surface.astype(np.int64))
        a, b, c = vertices[surface].unbind(1)
        thirds = torch.linalg.vector_norm(torch.linalg.cross(b - a, c - a), dim=1) / 6.0
        zeros = vertices.new_zeros(len(vertices))
        outside = zeros.index_add(0, surface.ravel(), thirds.repeat_interleave(3))
        quarters = self.material_volumes(body) / 4.0
        corners = torch.as_tensor(mesh.tets.astype(np.int64)).ravel()
        around = zeros.index_add(0, corners, quarters.repeat_interleave(4))
        return torch.where(outside > 0.0, outside, around ** (2.0 / 3.0))

    def diagonal(self, body: int) -> Tensor:
        """Of its bounding box, in metres."""
        vertices = self.vertices[body]
        return torch.linalg.vector_norm(vertices.amax(0) - vertices.amin(0))

    def material_volumes(self, body: int) -> Tensor:
        """(M,) of the material in its tets, in m³."""
        volumes, _ = self._tets[body]
        return volumes * volumes.new_tensor(fill(self._meshes[body]))

    def _of_tets(self, body: int) -> tuple[Tensor, Tensor]:
        """(M,) volumes, and (3, 3, M) gradients of the shape functions of corners 1 to 3."""
        mesh, vertices = self._meshes[body], self.vertices[body]
        if not vertices.requires_grad:
            gradients = mesh.shape_gradients[:, 1:].transpose(1, 2, 0)
            return vertices.new_tensor(mesh.rest_volumes), vertices.new_tensor(gradients)
        return of_tets(vertices, torch.as_tensor(mesh.tets.astype(np.int64)))


def of_tets(vertices: Tensor, tets: Tensor) -> tuple[Tensor, Tensor]:
    """(M,) volumes in m³, and (3, 3, M) gradients of the shape functions of corners 1 to 3, of
    (M, 4) tets whose (n, 3) vertices rest there."""
    # The coordinates first: passes over long rows are quick, and so is autograd's way back.
    first, *others = vertices.T.index_select(1, tets.T.reshape(-1)).view(3, 4, -1).unbind(1)
    edges = torch.stack([other - first for other in others], dim=1)
    gradients, determinants = inverses3(edges)
    return determinants / 6.0, gradients


def at_time(
    index: int, part: Elasticity, given: dict[str, Tensor], frame: int, fraction: float
) -> tuple[Tensor, Tensor]:
    """What ``of_tets`` gives for the i-th elasticity, whose rest shape changes, a fraction of the
    way from a frame to the next."""
    ((_, mesh),) = part.tets.meshes
    amounts = part.channel.with_samples(given[f"amounts {index}"]).at(frame, fraction)
    moved = torch.tensordot(amounts, given[f"displacements {index}"], dims=1)
    tets = torch.as_tensor(mesh.tets.astype(np.int64))
    return of_tets(given[f"modelled {index}"] + moved, tets)
