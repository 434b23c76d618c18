# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that touch nothing but each other keep their momentum to rounding."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..geometry.components import components
from ..system import System
from .incremental_potential import IncrementalPotential


class MomentumBalance:
    """Takes from groups of bodies the net force that a search has left over.

    A search ends within a tolerance, and what it leaves over pushes bodies as nothing does. Where
    only inertia resists that a group moves as a whole, the step that is missing is known in closed
    form: Δ = −Σ ∂E/∂x / Σ ∂²E/∂x² of inertia.

    Args:
        objective: of the search.
    """

    def __init__(self, objective: IncrementalPotential) -> None:
        self._objective, system = objective, objective.system
        self._slices = system.body_slices()
        self._is_free = np.array([bool(system.free[where].all()) for where in self._slices])
        # What else holds bodies together or in place is not looked at.
        couples = system.scene.attachments or system.scene.stitches
        self._is_possible = not couples and bool(self._is_free.any())

    def __call__(self, positions: Tensor) -> Tensor:
        """(3, N) positions in metres, with the groups moved whose way is free."""
        objective, contact = self._objective, self._objective.contact
        if contact is None or not self._is_possible:
            return positions
        groups = self._free_groups(positions)
        if not groups:
            return positions
        gradient = objective.gradient(positions)
        weights = objective.inertia.weight * torch.ones_like(objective.system.mass)
        moved = positions.clone()
        for group in groups:
            parts = [self._slices[body] for body in group]
            force = sum((gradient[:, where].sum(dim=1) for where in parts), positions.new_zeros(3))
            weight = sum((weights[where].sum() for where in parts), positions.new_zeros(()))
            for where in parts:
                moved[:, where] -= (force / weight)[:, None]
        height = objective.system.minimum_ground_distance(moved)
        is_above_ground = height is None or height > 0.0
        if not is_above_ground or contact.collision_free_step_size(positions, moved) < 1.0:
            return positions
        contact.report_move(positions, moved)
        return moved

    def _free_groups(self, positions: Tensor) -> list[NDArray[np.intp]]:
        """Bodies that touch each other, directly or not, and nothing else."""
        objective, system = self._objective, self._objective.system
        assert objective.contact is not None
        count = len(self._slices)
        pairs = objective.contact.objects_that_push(positions)
        is_held = ~self._is_free | _is_on_ground(system, self._slices, positions)
        outside = (pairs >= count).any(axis=1)
        is_held[pairs[outside].min(axis=1)] = True
        group_of = components(count, pairs[~outside])
        held = np.unique(group_of[is_held])
        numbers = np.setdiff1d(np.unique(group_of), held)
        return [np.flatnonzero(group_of == number) for number in numbers]


def _is_on_ground(system: System, slices: list[slice], positions: Tensor) -> NDArray[np.bool_]:
    """(B,) whether the ground pushes bodies."""
    barrier = system.ground_barrier
    if barrier is None:
        return np.zeros(len(slices), dtype=bool)
    forces = torch.zeros_like(positions)
    barrier.add_gradient(positions, forces)
    return np.array([bool(forces[:, where].any()) for where in slices])
