# SPDX-License-Identifier: GPL-3.0-or-later
"""How hard the material is strained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ..kernels.torch_matrices import det3, less_mean, matmul3
from ..materials import Linear, Material
from ..potentials import Elasticity
from ..state import State
from ..system import System
from ..tet_energies import fill
from .fields import Field, IsImplicit, by_tets

# Flatter tets count as this flat: a stress by an area that is gone has no end.
MIN_VOLUME_RATIO = 1e-2


def von_mises(system: System, _: IsImplicit) -> Field:
    """√(3/2 s : s) of each tet in Pa, s = σ − tr(σ)/3 I the deviator of the Cauchy stress.

    The stress is the elastic one, of the material itself: a tet that is filled in part carries it
    in that part.

    Source: Bonet and Wood, "Nonlinear Continuum Mechanics for Finite Element Analysis", 2nd
    edition, section 5.5.
    """

    def of_part(part: Elasticity, state: State) -> Tensor:
        stress = cauchy_stress(_solid(part), part.tets.deformation_gradients(state.positions))
        stiffness = part.scale(part.at(state.frame, 0.0))
        return stiffness * (1.5 * less_mean(stress).square().sum((0, 1))).sqrt()

    def field(state: State) -> list[Tensor]:
        return by_tets(system, lambda part: of_part(part, state))

    return field


def cauchy_stress(material: Material, gradients: Tensor) -> Tensor:
    """(3, 3, M) σ = P Fᵀ / J in Pa of (3, 3, M) deformation gradients; the linear model, which
    knows no other shape than that at rest, has σ = P."""
    stress = material.first_piola(gradients.permute(2, 0, 1)).permute(1, 2, 0)
    if isinstance(material, Linear):
        return stress.contiguous()
    ratios = det3(gradients)
    # What is inside out is strained as its mirror image.
    sizes = ratios.abs().clamp(min=MIN_VOLUME_RATIO).copysign(ratios)
    return matmul3(stress, gradients.transpose(0, 1)) / sizes


def _solid(part: Elasticity) -> Material:
    """The material of a part as if all of its tets were full."""
    filled = np.concatenate([fill(mesh) for _, mesh in part.tets.meshes])
    if (filled == 1.0).all():
        return part.material
    share = torch.as_tensor(filled).to(part.tets.volumes)
    return replace(part.material, young=part.material.young / share)
