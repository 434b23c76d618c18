# SPDX-License-Identifier: GPL-3.0-or-later
"""To how many joules an energy is known: growth below that tells nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..state import Energies
from ..system import System

# Of the errors that are added up below, each one unit of rounding.
MARGIN_FACTOR = 64.0


class EnergyRounding:
    """What rounding makes of the energies of a system.

    A coordinate x is known to δ = ε x, ε the unit of rounding, and so the deformation gradient to
    δ |∇|, |∇| the root of the sum of the squared gradients of a tet's shape functions. The energy
    of a tet at rest is then known to 2μV (ε + δ |∇|), because terms of about 2μV cancel, and each
    step moves vertices by δ, which adds up to (λ + 2μ) V δ² |∇|².

    Args:
        system: whose energies are added up.
    """

    def __init__(self, system: System) -> None:
        self._eps = torch.finfo(system.dtype).eps
        self._weight = system.max_gravity * float(system.mass.sum())
        self._cancelled = self._strained = self._stiffness = 0.0
        for part in system.elasticities:
            tets, material = part.tets, part.material
            squares = tets.shape_gradients.double().square().sum((0, 1))
            volumes = part.scale(part.stiffest) * tets.volumes
            shear = 2.0 * (material.mu * volumes).double()
            bulk = (material.lam * volumes).double()
            self._cancelled += float(shear.sum())
            self._strained += float((shear * squares.sqrt()).sum())
            self._stiffness += float(((shear + bulk) * squares).sum())

    def joules(self, energies: Energies, positions: Tensor, substeps: int) -> float:
        """By which a frame of ``substeps`` that ends at (3, N) ``positions`` may seem to gain."""
        farthest = float(positions.abs().max())
        coordinate = self._eps * farthest
        terms = energies.kinetic + abs(energies.elastic) + energies.ground + abs(energies.forces)
        known = self._eps * (terms + self._cancelled) + coordinate * (self._weight + self._strained)
        moved = substeps * self._stiffness * coordinate * coordinate
        total = MARGIN_FACTOR * (known + moved)
        return total if math.isfinite(total) else 0.0
