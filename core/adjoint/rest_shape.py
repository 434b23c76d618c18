# SPDX-License-Identifier: GPL-3.0-or-later
"""How the forces of a body at given positions change with its rest shape."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..kernels.torch_matrices import matmul3, trace3
from ..merged_material import fill
from ..system import System
from .tape_tets import pulled_back


class RestShapeChange:
    """(3, N) dX, a change of the rest positions, to that of elastic forces and weight.

    With the shape gradients N of the rest shape and A = Σ dX_a ⊗ ∇N_a the forces Σ V P ∇N change by
    V (tr A P − P Aᵀ − (∂P/∂F : F A)) ∇N, and masses by tr A.

    Source: Govindjee and Mihalic, "Computational methods for inverse finite elastostatics",
    Computer Methods in Applied Mechanics and Engineering 136, 1996, has the problem that it is the
    tangent of, written in the deformed shape.

    Args:
        system: of the rest shape.
        positions: (3, N) where vertices are.
    """

    def __init__(self, system: System, positions: Tensor) -> None:
        self._system = system
        self._parts = []
        densities = [
            torch.as_tensor(np.broadcast_to(body.density * fill(mesh), len(mesh.tets)).copy())
            for body, mesh in zip(system.bodies, system.meshes, strict=True)
        ]
        for part in system.solved_elasticities:
            members = [system.vertex_offsets.index(first) for first, _ in part.tets.meshes]
            f = part.tets.deformation_gradients(positions).requires_grad_()
            with torch.enable_grad():
                stress = part.material.first_piola(f.permute(2, 0, 1)).permute(1, 2, 0)
            corners = part.tets.corners.long().reshape(-1)
            density = torch.cat([densities[k] for k in members])
            self._parts.append((part, f, stress, corners, density))

    def __call__(self, change: Tensor) -> Tensor:
        out = torch.zeros_like(change)
        gravity = self._system.gravity.acceleration
        for part, f, taped, corners, density in self._parts:
            tets = part.tets
            strain = tets.deformation_gradients(change)
            trace = trace3(strain)
            stretched = matmul3(f.detach(), strain)
            # The second derivative of the energy density is symmetric.
            (turned,) = torch.autograd.grad(taped, f, stretched, retain_graph=True)
            stress = taped.detach()
            total = trace * stress - matmul3(stress, strain.transpose(0, 1)) - turned
            out += part.parameters * pulled_back(tets, corners, total, change)
            quarters = density * tets.volumes * trace / 4.0
            masses = quarters.new_zeros(change.shape[1]).index_add(0, corners, quarters.repeat(4))
            out -= gravity[:, None] * masses
        return out
