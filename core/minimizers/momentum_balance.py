# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that touch nothing but each other keep their momentum, linear and angular."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..geometry.groups import free_groups
from ..geometry.rigid_motion import rigid_velocity, skew
from ..potentials import Pressure, TargetVolume
from ..system import System
from .incremental_potential import IncrementalPotential


class MomentumBalance:
    """Takes from groups of bodies the net force and the net moment that a search has left over.

    A search ends within a tolerance, and its residual pushes and turns bodies without a cause. If
    only inertia resists the rigid motion of a group, the missing step has a closed form: Δ = −Σ
    ∂E/∂x / Σ w, with w = ∂²E/∂x² of inertia, and the rotation vector −(Σ w (r² − r rᵀ))⁻¹ Σ r ×
    ∂E/∂x, r from the centre.

    Args:
        objective: of the search.
    """

    def __init__(self, objective: IncrementalPotential) -> None:
        self._objective, system = objective, objective.system
        self._slices = system.body_slices()
        self._is_free = np.array([bool(system.free[where].all()) for where in self._slices])
        # Other resistance to the motion of whole bodies is not considered. Gas does not.
        resists = [one for one in system.forces if not isinstance(one, Pressure | TargetVolume)]
        couples = system.scene.attachments or system.scene.stitches or resists
        self._is_possible = not couples and bool(self._is_free.any())

    def __call__(self, positions: Tensor) -> Tensor:
        """Return (3, N) positions in metres, with those groups moved that do not collide."""
        objective, contact = self._objective, self._objective.contact
        if not self._is_possible:
            return positions
        groups = self._free_groups(positions)
        if not groups:
            return positions
        gradient = objective.gradient(positions)
        if not bool(torch.isfinite(gradient).all()):
            return positions
        divisions = [groups]
        if len(groups) > 1:
            # Groups that would collide on the way keep their common momentum.
            divisions.append([np.concatenate(groups)])
        # Collision detection cannot tell a group that turns from one whose surfaces meet, where
        # they are very close: such a group is shifted alone.
        for each, turns in product(divisions, (True, False)):
            moved = self._moved(positions, gradient, each, turns)
            if self._is_path_free(positions, moved):
                if contact is not None:
                    contact.report_move(positions, moved)
                return moved
        return positions

    def _moved(
        self, positions: Tensor, gradient: Tensor, groups: list[NDArray[np.intp]], turns: bool
    ) -> Tensor:
        """(3, N) positions with each group moved as a whole to where it is in balance.

        Args:
            gradient: (3, N) of the energy, in newtons.
            turns: whether groups are also turned, or shifted alone.
        """
        weights = self._objective.inertia.weight * torch.ones_like(self._objective.system.mass)
        moved = positions.clone()
        for group in groups:
            parts = [torch.arange(self._slices[k].start, self._slices[k].stop) for k in group]
            which = torch.cat(parts).to(positions.device)
            group_data = positions[:, which], gradient[:, which], weights[which]
            moved[:, which] = _balanced(*group_data, turns)
        return moved

    def _is_path_free(self, positions: Tensor, moved: Tensor) -> bool:
        """Whether nothing is between two (3, N) places."""
        contact = self._objective.contact
        if not self._objective.system.is_above_ground(moved):
            return False
        return contact is None or contact.collision_free_step_size(positions, moved) == 1.0

    def _free_groups(self, positions: Tensor) -> list[NDArray[np.intp]]:
        """Bodies that touch each other, directly or not, and nothing else."""
        system, contact = self._objective.system, self._objective.contact
        pairs = np.empty((0, 2), dtype=np.intp)
        if contact is not None:
            pairs = contact.objects_that_push(positions)
        is_held = ~self._is_free | _is_on_ground(system, self._slices, positions)
        return free_groups(pairs, is_held)


def _is_on_ground(system: System, slices: list[slice], positions: Tensor) -> NDArray[np.bool_]:
    """(B,) whether the ground pushes bodies."""
    barrier = system.ground_barrier
    if barrier is None:
        return np.zeros(len(slices), dtype=bool)
    forces = torch.zeros_like(positions)
    barrier.add_gradient(positions, forces)
    return np.array([bool(forces[:, where].any()) for where in slices])


def _balanced(positions: Tensor, gradient: Tensor, weights: Tensor, turns: bool) -> Tensor:
    """(3, n) positions of a group, moved as a whole to where its net force and moment vanish.

    Args:
        gradient: (3, n) of the energy, in newtons.
        weights: (n,) of inertia, in N/m.
        turns: whether it may turn; else the moment stays.
    """
    missing = rigid_velocity(weights, positions, -gradient / weights)
    centre, shift = missing.centre.T, missing.linear.T
    if not turns:
        return positions + shift
    rotation = torch.linalg.matrix_exp(skew(missing.angular))[0]
    return centre + shift + rotation @ (positions - centre)
