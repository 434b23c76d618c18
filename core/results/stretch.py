# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the material is pulled."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.torch_matrices import det3, less_mean, matmul3, trace3
from ..potentials import Elasticity
from ..state import State
from ..system import System
from .fields import Field, IsImplicit, by_tets


def largest_stretch(system: System, _: IsImplicit) -> Field:
    """The largest singular value of F of each tet: 1 at rest, 2 where it is twice as long."""

    def of_part(part: Elasticity, positions: Tensor) -> Tensor:
        gradients = part.tets.deformation_gradients(positions)
        return largest_eigenvalue(matmul3(gradients.transpose(0, 1), gradients)).sqrt()

    def field(state: State) -> list[Tensor]:
        return by_tets(system, lambda part: of_part(part, state.positions))

    return field


def largest_eigenvalue(matrices: Tensor) -> Tensor:
    """(M,) of (3, 3, M) symmetric positive semi-definite ones.

    Source: Smith, "Eigenvalues of a symmetric 3 × 3 matrix", Communications of the ACM 4(4), 1961.
    """
    deviator = less_mean(matrices)
    radius = (deviator.square().sum((0, 1)) / 6.0).sqrt()
    # Where all three are alike there is no angle, and none is needed.
    scaled = deviator / radius.clamp(min=torch.finfo(radius.dtype).tiny ** 0.25)
    angle = (0.5 * det3(scaled)).clamp(-1.0, 1.0).acos() / 3.0
    return trace3(matrices) / 3.0 + 2.0 * radius * angle.cos()
