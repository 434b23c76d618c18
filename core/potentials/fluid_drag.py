# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fluid at rest takes from the speed of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..geometry.tet_mesh import TetMesh
from .potential import Potential, TimeStep
from .submerged_tets import SubmergedTets

if TYPE_CHECKING:
    from ..scene.fluid import Fluid

# The mean area that a convex body shows, over its surface (Cauchy, 1841).
SHOWN_AREA_RATIO = 0.25


class FluidDrag(Potential):
    """The force −w (a v + b |v| v) on a vertex, w the share of it that is submerged.

    With b = ½ ρ c A / 4, A the vertex's part of the surface, a rigid convex body that moves
    straight has the drag ½ ρ c A v² of the area that it shows in the mean.

    Over a step of τ seconds it is the gradient of Σ w τ (½ a |v|² + ⅓ b |v|³) with v = (x − x̂) / τ
    and w as the step begins: convex, so that no drag turns a velocity round.

    Args:
        tets: of the bodies.
        linear: (N,) a in kg/s.
        quadratic: (N,) b in kg/m.
    """

    is_dissipative = True

    def __init__(self, tets: SubmergedTets, linear: Tensor, quadratic: Tensor) -> None:
        #: Of the bodies.
        self.tets = tets
        #: (N,) a and b.
        self.linear, self.quadratic = linear, quadratic
        self._seconds, self._origin = 1.0, linear.new_zeros(3, len(linear))
        self._wet = torch.zeros_like(linear)

    @classmethod
    def of(
        cls, tets: SubmergedTets, fluid: Fluid, meshes: Sequence[TetMesh], mass: Tensor
    ) -> FluidDrag:
        """On (N,) masses in kg of the vertices of all meshes."""
        areas = SHOWN_AREA_RATIO * np.concatenate([mesh.surface_areas for mesh in meshes])
        quadratic = torch.as_tensor(0.5 * fluid.density * fluid.drag * areas).to(mass)
        return cls(tets, fluid.damping * mass, quadratic)

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        speed = torch.linalg.vector_norm(velocities, dim=0)
        wet = self._submerged(positions)
        out += wet * (self.linear + self.quadratic * speed) * velocities

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds, self._origin = step.seconds, step.coasting_origin
        self._wet = self._submerged(step.start)
        if step.is_static:
            # What takes for ever meets no resistance.
            self._wet = torch.zeros_like(self._wet)

    def energy(self, positions: Tensor) -> Tensor:
        speed = torch.linalg.vector_norm(self._velocities(positions), dim=0)
        density = (0.5 * self.linear + self.quadratic * speed / 3.0) * speed.square()
        return self._seconds * (self._wet * density).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        velocities = self._velocities(positions)
        speed = torch.linalg.vector_norm(velocities, dim=0)
        out += self._wet * (self.linear + self.quadratic * speed) * velocities

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        vertices = matrix.pattern.vertices
        velocities = self._velocities(positions)[:, vertices]
        wet, linear, quadratic = (
            values[vertices] for values in (self._wet, self.linear, self.quadratic)
        )
        speed = torch.linalg.vector_norm(velocities, dim=0)
        directions = velocities / speed.clamp(min=torch.finfo(speed.dtype).tiny)
        turned = (wet * quadratic * speed / self._seconds) * directions[:, None] * directions[None]
        matrix.add_diagonal(wet * (linear + quadratic * speed) / self._seconds)
        matrix.add_diagonal_blocks(vertices, turned.reshape(9, -1).T)

    def _velocities(self, positions: Tensor) -> Tensor:
        return (positions - self._origin) / self._seconds

    def _submerged(self, positions: Tensor) -> Tensor:
        return self.tets.submerged_volumes(positions) / self.tets.vertex_volumes
